import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isMissing, isTaken } from '../model/errno.ts';

/**
 * Makes a folder of our own (0700) and those above it. Node's recursive `mkdir` never returns where a file system says of every
 * new name that it is missing, as /proc does.
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
    // Another process may have been faster.
    if (!isTaken(error) || !statSync(path).isDirectory()) throw error;
  }
}
