import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { WholeTree } from '../model/entry.ts';
import { unlessErrno } from '../model/fault.ts';
import { isWithin } from '../model/path.ts';
import type { OutsidePaths } from '../model/session.ts';

/** A tree with more entries is not kept. */
const MAX_ENTRIES = 5_000;

/** Matches names in a git folder that hold objects, samples, or notes that git makes again. */
const NOT_OWN = /^(objects|hooks|lfs|annex|gc\.(log|pid)|FETCH_HEAD|fsmonitor--daemon.*|.*\.lock)$/;

/**
 * Every file, link and folder of a tree, each folder before its contents. Undefined if there are
 * too many.
 */
export function entriesOf({ folder, entries }: WholeTree): readonly string[] | undefined {
  const found: string[] = [];
  const visit = (at: string): boolean => {
    for (const entry of unlessErrno(() => readdirSync(at, { withFileTypes: true })) ?? []) {
      if (entries === 'own' && NOT_OWN.test(entry.name)) continue;
      if (found.length >= MAX_ENTRIES) return false;
      found.push(join(at, entry.name));
      if (entry.isDirectory() && !visit(join(at, entry.name))) return false;
    }
    return true;
  };
  if (!existsSync(folder)) return found;
  return visit(folder) ? [folder, ...found] : undefined;
}

/** The entry at a path, without following a link. Undefined for anything but files, links and folders. */
export function entryAt(
  path: string,
): { readonly kind: 'file' | 'folder'; readonly size: number } | undefined {
  const stats = unlessErrno(() => lstatSync(path, { throwIfNoEntry: false }));
  if (stats?.isDirectory() === true) return { kind: 'folder', size: 0 };
  return stats?.isFile() === true || stats?.isSymbolicLink() === true
    ? { kind: 'file', size: stats.size }
    : undefined;
}

/** The folder with its links followed; the path itself if there is nothing. */
export function realFolder(path: string): string {
  return unlessErrno(() => realpathSync.native(path)) ?? path;
}

/** The file to which a link leads; undefined for anything else. */
export function linkedTo(path: string): string | undefined {
  const isLink = unlessErrno(() => lstatSync(path, { throwIfNoEntry: false }))?.isSymbolicLink() === true;
  return isLink ? unlessErrno(() => realpathSync.native(path)) : undefined;
}

/** The path with its folder's links resolved. A link at its end stays. */
function withRealFolder(path: string): string {
  return join(realFolder(dirname(path)), basename(path));
}

/** At most this many files of a folder are listed. */
const MAX_LISTED = 10_000;

/**
 * The paths of files below a folder, and of the repositories inside it, which are not entered.
 * `skips`: folders and files to leave out.
 */
export function pathsBelow(folder: string, skips: (path: string) => boolean): readonly string[] {
  const found: string[] = [];
  const folders = [folder];
  for (let at = folders.pop(); at !== undefined && found.length < MAX_LISTED; at = folders.pop())
    for (const entry of unlessErrno(() => readdirSync(at ?? '', { withFileTypes: true })) ?? []) {
      const path = join(at, entry.name);
      if (entry.name === '.git' || skips(path)) continue;
      if (entry.isDirectory() && !existsSync(join(path, '.git'))) folders.push(path);
      else found.push(path);
    }
  return found;
}

/** Matches folders in which programs keep what they can make again. */
const CACHES =
  /(^|\/)(\.?cache|caches|\.[\w-]+_cache|node_modules|__pycache__|\.npm|\.pnpm-store|\.yarn|\.gradle|\.m2|\.trash)(\/|$)/i;
/** Matches paths that belong to the system, and that no file system keeps. */
const DEVICES = /^\/(?:proc|sys|run|dev(?!\/shm\/))(?:\/|$)/;

/**
 * The paths to keep before a line runs, each folder before its contents. Some may not exist yet. Leaves
 * out folders with too many files.
 */
export function entriesToKeep({ destroyed, named }: OutsidePaths): readonly string[] {
  const all = [...destroyed, ...named.map((path) => ({ path, whole: true }))];
  return all.flatMap(({ path, whole }) => pathsAt({ path, whole }) ?? []);
}

type SweptPath = OutsidePaths['destroyed'][number];

/** A path, or with `whole` everything in the folder there. Undefined if that is too much. */
function pathsAt({ path: given, whole }: SweptPath): readonly string[] | undefined {
  const path = withRealFolder(given);
  const isPassing = passingTest();
  if (isPassing(path)) return [];
  if (entryAt(path)?.kind !== 'folder') return [path];
  const inside = whole ? entriesOf({ folder: path, entries: 'all' }) : [];
  return inside?.filter((each) => !isPassing(each));
}

/** The test that is true for a path in a temporary folder or a cache, and for a device. */
export function passingTest(): (path: string) => boolean {
  const temporary = [tmpdir(), '/tmp', '/var/tmp', '/private/var/folders'].map(realFolder);
  return (path) =>
    DEVICES.test(path) || CACHES.test(path) || temporary.some((folder) => isWithin(path, folder));
}

/** True if there is anything at a path. */
export function isThere(path: string): boolean {
  return existsSync(path) || entryAt(path) !== undefined;
}
