import { closeSync, fsyncSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { isMissing } from '../../model/errno.ts';

/** Brings a file's bytes, or a folder's list of names, safely to the disk. */
export function sync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** The same without holding up other work; false if nothing has this name. */
export async function syncIfThere(path: string): Promise<boolean> {
  try {
    const handle = await open(path, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Files that are open at once while they are synced: a change of many files must not use up the descriptors. */
const SYNCED_AT_ONCE = 8;

/** Like `syncIfThere`, for many paths. */
export async function syncAll(paths: readonly string[]): Promise<void> {
  for (let start = 0; start < paths.length; start += SYNCED_AT_ONCE)
    await Promise.all(paths.slice(start, start + SYNCED_AT_ONCE).map(syncIfThere));
}
