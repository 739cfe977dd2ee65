import {
  type BigIntStats,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  statfsSync,
} from 'node:fs';
import { isMissing, unlessErrno } from '../model/fault.ts';
import { at, type FileKind, type PinnedDirectory, type Place } from '../model/path.ts';
import { kindOf } from './read.ts';

export interface DirectoryEntry {
  readonly name: string;
  readonly kind: FileKind;
}

/** The names in a folder with their kinds, sorted by code unit. Costs one system call per few hundred names. */
export function listNames(dir: PinnedDirectory): DirectoryEntry[] {
  const names = listUnsorted(dir);
  return isSorted(names) ? names : names.sort(byName);
}

/**
 * True if the names are sorted by code unit. Node sorts them by their bytes, which is the same
 * order unless a name has characters above U+FFFF.
 */
function isSorted(names: readonly DirectoryEntry[]): boolean {
  let last = '';
  for (const { name } of names) {
    if (name < last) return false;
    last = name;
  }
  return true;
}

/** Compares two entries by name, in the order that `listNames` uses. */
export function byName(a: DirectoryEntry, b: DirectoryEntry): number {
  return a.name < b.name ? -1 : 1;
}

/** Like `listNames`, in the order in which Node returns the names. */
export function listUnsorted(dir: PinnedDirectory): DirectoryEntry[] {
  const entries = readdirSync(`${dir.prefix}/.`, { withFileTypes: true });
  return entries.map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
}

/** The stats of one name, without following links; undefined if it does not exist. */
export function inspect(dir: PinnedDirectory, name: string): BigIntStats | undefined {
  return lstatSync(`${dir.prefix}/${name}`, { bigint: true, throwIfNoEntry: false });
}

/**
 * The entry's size, and the time of its last change in whole milliseconds. Listings use this
 * instead of `inspect`, whose big integers take 1.5 times as long.
 */
export function sizeAndTime(
  dir: PinnedDirectory,
  name: string,
): { readonly sizeBytes: number; readonly mtimeMs: number } | undefined {
  const stats = lstatSync(`${dir.prefix}/${name}`, { throwIfNoEntry: false });
  return stats && { sizeBytes: stats.size, mtimeMs: Math.floor(stats.mtimeMs) };
}

/**
 * A link's target, as written. Undefined if the place is not a link, or if the target is not UTF-8:
 * decoded, it would become another target, and the link could not be restored.
 */
export function linkTarget(place: Pick<Place, 'dir' | 'name'>): string | undefined {
  const path = at(place);
  try {
    const target = readlinkSync(path);
    const isText = !target.includes('\ufffd') || readlinkSync(path, 'buffer').equals(Buffer.from(target));
    return isText ? target : undefined;
  } catch (error) {
    if (isMissing(error) || (error instanceof Error && 'code' in error && error.code === 'EINVAL'))
      return undefined;
    throw error;
  }
}

const OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Opens a file or folder without following a link, and reads from it; undefined if it cannot be
 * opened.
 */
export function readOpened<T>(place: Pick<Place, 'dir' | 'name'>, read: (fd: number) => T): T | undefined {
  const fd = unlessErrno(() => openSync(at(place), OPEN));
  if (fd === undefined) return undefined;
  try {
    return read(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * File systems on which each subfolder adds one to the link count of its folder: ext2 to ext4, XFS
 * and tmpfs.
 */
const COUNTING: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x01021994]);

/**
 * Returns a function that tells, without listing names, whether a folder below `root` may have
 * subfolders. Listing a folder of many files would be slow.
 */
export function subfolderTest(root: PinnedDirectory): (dir: PinnedDirectory, name: string) => boolean {
  const device = COUNTING.has(statfsSync(`${root.prefix}/.`).type) ? inspect(root, '.')?.dev : undefined;
  if (device === undefined) return () => true;
  return (dir, name) => {
    const stats = inspect(dir, name);
    return stats === undefined || stats.dev !== device || stats.nlink !== 2n;
  };
}
