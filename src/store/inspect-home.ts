import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** What can be told about a state folder without touching it. */
export interface HomeReport {
  readonly exists: boolean;
  readonly writable: boolean;
  /** Only its owner can look into it; always true where permissions are not bits. */
  readonly isPrivate: boolean;
  readonly freeBytes: number;
}

/** Looks at a state folder; of one that is not there yet, at the nearest folder above that is. */
export function inspectHome(home: string): HomeReport {
  const stats = statSync(home, { throwIfNoEntry: false });
  const place = stats === undefined ? existingAbove(home) : home;
  const { bavail, bsize } = statfsSync(place);
  return {
    exists: stats !== undefined,
    writable: canWrite(place),
    isPrivate: stats === undefined || process.platform === 'win32' || (stats.mode & 0o077) === 0,
    freeBytes: bavail * bsize,
  };
}

function existingAbove(path: string): string {
  let place = dirname(path);
  while (statSync(place, { throwIfNoEntry: false }) === undefined && dirname(place) !== place)
    place = dirname(place);
  return place;
}

function canWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    // Whatever the reason, we cannot work there.
    return false;
  }
}
