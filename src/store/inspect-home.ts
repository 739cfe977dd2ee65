import { accessSync, constants, readdirSync, type Stats, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Facts about a state folder that can be read without changing it. */
export interface HomeReport {
  readonly exists: boolean;
  readonly writable: boolean;
  /** True if only its owner can read it. Always true on systems without permission bits. */
  readonly isPrivate: boolean;
  readonly freeBytes: number;
  /** Names of databases that were damaged and set aside. */
  readonly setAside: readonly string[];
}

/** Inspects a state folder. If it does not exist or cannot be read, inspects the nearest readable parent. */
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
    // Another check reports why it cannot be read.
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
    // A file, or an unreadable folder, is part of the path.
    return undefined;
  }
}

function canWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    // Whatever the reason, the folder is not usable.
    return false;
  }
}
