import { accessSync, constants, readdirSync, type Stats, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** What can be told about a state folder without touching it. */
export interface HomeReport {
  readonly exists: boolean;
  readonly writable: boolean;
  /** Only its owner can look into it; always true where permissions are not bits. */
  readonly isPrivate: boolean;
  readonly freeBytes: number;
  /** Names of databases that were damaged and set aside. */
  readonly setAside: readonly string[];
}

/** Looks at a state folder; of one that is not there yet, or cannot be looked at, at the nearest folder above that is. */
export function inspectHome(home: string): HomeReport {
  const stats = statsOf(home);
  const place = stats === undefined ? existingAbove(home) : home;
  const { bavail, bsize } = statfsSync(place);
  return {
    exists: stats !== undefined,
    writable: statsOf(place)?.isDirectory() === true && canWrite(place),
    isPrivate: stats === undefined || process.platform === 'win32' || (stats.mode & 0o077) === 0,
    freeBytes: bavail * bsize,
    setAside: stats === undefined ? [] : damagedIn(home),
  };
}

function damagedIn(home: string): readonly string[] {
  try {
    return readdirSync(home).filter((name) => /^lookfirst\.db\.damaged-\w+$/.test(name));
  } catch {
    // Another check says why it cannot be read.
    return [];
  }
}

function existingAbove(path: string): string {
  let place = dirname(path);
  while (statsOf(place) === undefined && dirname(place) !== place) place = dirname(place);
  return place;
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // A file, or a closed folder, on the way to it.
    return undefined;
  }
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
