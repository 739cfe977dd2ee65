import { lstatSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { unlessErrno } from '../model/fault.ts';
import { isWithin } from '../model/path.ts';
import type { OutsidePaths } from '../model/session.ts';
import { entriesOf } from './own-files.ts';

/** A file or link outside the workspace. */
export interface OutsideFile {
  /** Absolute, without links. */
  readonly path: string;
  readonly size: number;
}

/** Matches folders in which programs keep what they can make again. */
const CACHES =
  /(^|\/)(\.?cache|caches|\.[\w-]+_cache|node_modules|__pycache__|\.npm|\.pnpm-store|\.yarn|\.gradle|\.m2|\.trash)(\/|$)/i;
/** Matches paths that belong to the system, and that no file system keeps. */
const DEVICES = /^\/(?:proc|sys|run|dev(?!\/shm\/))(?:\/|$)/;

/**
 * The files and links at a path, without temporary ones, caches and empty files. With `whole`, also
 * those in a folder. `many`: there are too many to list.
 */
export function lastingFiles(
  given: string,
  { whole }: { readonly whole: boolean },
): readonly OutsideFile[] | 'many' {
  const paths = pathsAt(given, whole ? 'whole' : 'alone');
  return paths === undefined ? 'many' : paths.flatMap(fileAt);
}

/**
 * The paths to keep before a line runs, each folder before its contents. Some may not exist yet. Leaves
 * out folders with too many files.
 */
export function entriesToKeep({ destroyed, named }: OutsidePaths): readonly string[] {
  const all = [...destroyed, ...named.map((path) => ({ path, whole: true }))];
  return all.flatMap(({ path, whole }) => pathsAt(path, whole ? 'whole' : 'alone') ?? []);
}

function pathsAt(given: string, extent: 'whole' | 'alone'): readonly string[] | undefined {
  const path = withRealFolder(given);
  if (isPassing(path)) return [];
  const isFolder = unlessErrno(() => lstatSync(path, { throwIfNoEntry: false }))?.isDirectory() === true;
  if (!isFolder) return [path];
  const inside = extent === 'whole' ? entriesOf({ folder: path, entries: 'all' }) : [];
  return inside?.filter((each) => !isPassing(each));
}

export function isThere(path: string): boolean {
  return unlessErrno(() => lstatSync(path, { throwIfNoEntry: false })) !== undefined;
}

/** The path with its folder's links resolved. A link at its end stays. */
export function withRealFolder(path: string): string {
  const folder = unlessErrno(() => realpathSync.native(dirname(path)));
  return folder === undefined ? path : join(folder, basename(path));
}

function fileAt(path: string): readonly OutsideFile[] {
  const stats = unlessErrno(() => lstatSync(path, { throwIfNoEntry: false }));
  if (stats === undefined || !(stats.isFile() || stats.isSymbolicLink()) || stats.size === 0) return [];
  return [{ path, size: stats.size }];
}

/** True for a path in a temporary folder or a cache, and for a device. */
function isPassing(path: string): boolean {
  const temporary = [tmpdir(), '/tmp', '/var/tmp', '/private/var/folders'].map(
    (folder) => unlessErrno(() => realpathSync.native(folder)) ?? folder,
  );
  return DEVICES.test(path) || CACHES.test(path) || temporary.some((folder) => isWithin(path, folder));
}
