import { renameSync } from 'node:fs';
import { isMissing } from '../../model/errno.ts';

/** What belongs to a database, the file itself last: whoever is interrupted finds it still damaged, and begins again. */
const PARTS = ['-wal', '-shm', '.head', ''] as const;

/** Gives a damaged database and its side files other names, and returns that of the database. */
export function setAside(file: string, nowMs: number): string {
  const time = new Date(nowMs).toISOString().replace(/[-:]/g, '').replace(/\.\d+/, '');
  const aside = `${file}.damaged-${time}`;
  for (const part of PARTS) {
    try {
      renameSync(`${file}${part}`, `${aside}${part}`);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return aside;
}
