import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isMissing, isTaken } from '../model/errno.ts';

/**
 * Makes a private folder (0700) and its parents. Node's recursive `mkdir` never returns on a file system that reports
 * every new name as missing, such as /proc.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (isTaken(error) && statSync(path).isDirectory()) return;
    const above = dirname(path);
    if (!isMissing(error) || above === path) throw error;
    makeFolder(above);
    makeOne(path);
  }
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have made the folder first.
    if (!isTaken(error) || !statSync(path).isDirectory()) throw error;
  }
}
