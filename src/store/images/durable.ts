import { closeSync, fsyncSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { isMissing } from '../../model/errno.ts';

/** Syncs a file's bytes, or a folder's list of names, to the disk. */
export function sync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Like `sync`, without blocking other work. Returns false if the path does not exist. */
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

/** Number of files open at the same time for syncing: a change of many files must not use up the descriptors. */
const SYNCED_AT_ONCE = 8;

/** Like `syncIfThere`, for many paths. */
export async function syncAll(paths: readonly string[]): Promise<void> {
  for (let start = 0; start < paths.length; start += SYNCED_AT_ONCE)
    await Promise.all(paths.slice(start, start + SYNCED_AT_ONCE).map(syncIfThere));
}
