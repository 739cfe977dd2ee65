import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Brings a file's bytes, or a folder's list of names, safely to the disk. */
export function sync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
