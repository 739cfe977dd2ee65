import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Fault, unlessErrno, unlessMissing } from '../../model/fault.ts';
import { isDamage, openDatabase, type SqliteDatabase, type SqliteLoader } from './driver.ts';
import type { Users } from './users.ts';

/**
 * The files of a database, in the order of renaming. The main file is last: if the renaming is
 * interrupted, the next opening finds it damaged and starts over.
 */
const PARTS = ['-wal', '-shm', '.head', ''] as const;

interface OpenedDatabase {
  readonly db: SqliteDatabase;
  /** The new name of the damaged database that this one replaced. */
  readonly aside?: string;
}

interface SoundOptions {
  readonly users: Users;
  readonly damaged: 'fail' | 'set-aside';
}

/** Opens a database. Replaces a damaged one if the options allow it and no other connection uses it. */
export async function openSound(
  file: string,
  load: SqliteLoader,
  { users, damaged }: SoundOptions,
): Promise<OpenedDatabase> {
  try {
    return { db: openWhole(file, load) };
  } catch (error) {
    if (damaged === 'fail' || !isDamage(error)) throw error;
    const replaced = await users.alone(() => replaceDamaged(file, load));
    return replaced ?? { db: openReplaced(file, load) };
  }
}

/** Opens a database that another process uses. That process may have replaced the damaged one a moment ago. */
function openReplaced(file: string, load: SqliteLoader): SqliteDatabase {
  try {
    return openWhole(file, load);
  } catch (error) {
    if (!isDamage(error)) throw error;
    throw new Fault(
      'STORE_FAILED',
      `the state database ${file} failed: it is damaged and cannot be set aside while another process uses it; ` +
        'end all other Lookfirst processes, then restart Lookfirst',
      { cause: error, path: file, reason: 'damaged' },
    );
  }
}

/**
 * Opens a database. Opening reads only the beginning of the file. So if SQLite found damage while
 * the database was in use, checks the whole file.
 */
function openWhole(file: string, load: SqliteLoader): SqliteDatabase {
  const db = openDatabase(load, file);
  if (!existsSync(markOf(file))) return db;
  try {
    const found = db.prepare('pragma integrity_check(1)').get() as { readonly integrity_check: string };
    if (found.integrity_check !== 'ok') throw new Error(`malformed: ${found.integrity_check}`);
    dropMark(file);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Notes that SQLite has found damage in a database, so that the next opening checks the whole file. */
export function noteDamage(file: string): void {
  unlessErrno(() => writeFileSync(markOf(file), '', { mode: 0o600 }));
}

function dropMark(file: string): void {
  unlessErrno(() => rmSync(markOf(file), { force: true }));
}

function markOf(file: string): string {
  return `${file}.suspect`;
}

/** Replaces a damaged database. Checks it again first, because another process may have replaced it a moment ago. */
function replaceDamaged(file: string, load: SqliteLoader): OpenedDatabase {
  try {
    return { db: openWhole(file, load) };
  } catch (error) {
    if (!isDamage(error)) throw error;
    const aside = setAside(file, Date.now());
    dropMark(file);
    return { db: openDatabase(load, file), aside };
  }
}

/** Renames a damaged database and its side files, and returns the database's new name. */
function setAside(file: string, nowMs: number): string {
  const time = new Date(nowMs).toISOString().replace(/[-:]/g, '').replace(/\.\d+/, '');
  const aside = `${file}.damaged-${time}`;
  for (const part of PARTS) {
    unlessMissing(() => renameSync(`${file}${part}`, `${aside}${part}`));
  }
  return aside;
}

/** The warning that a damaged database was set aside. */
export function damageWarning(aside: string): string {
  return (
    `the state database was damaged. It was moved to ${aside} and a new one was begun: ` +
    'every file counts as unread, and earlier changes can no longer be undone'
  );
}

/** The warning that the journal is shorter than the file beside the database says. */
export function lossWarning(file: string, { kept, written }: { kept: number; written: number }): string {
  if (kept === 0)
    return (
      `the state database ${file} was deleted, and a new one was begun: its ${written} journal entries are lost, ` +
      'every file counts as unread, and earlier changes can no longer be undone'
    );
  return (
    `the state database ${file} has lost the journal entries ${kept + 1} to ${written}: ` +
    'an older copy took its place, or the computer lost power'
  );
}

/** The fault for an announced change whose record in the database cannot be parsed. */
export function damagedPending(file: string, change: string): Fault {
  return new Fault(
    'STORE_FAILED',
    `the state database ${file} failed: its record of the unfinished change ${change} is damaged; ` +
      `end all Lookfirst processes, then move ${file}* to another folder ` +
      '(every file then counts as unread, and earlier changes can no longer be undone)',
    { path: file, reason: 'damaged' },
  );
}
