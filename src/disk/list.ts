import { type BigIntStats, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { isMissing } from '../model/errno.ts';
import { at, type FileKind, type PinnedDirectory, type Place } from '../model/path.ts';
import { kindOf } from './stats.ts';

export interface DirectoryEntry {
  readonly name: string;
  readonly kind: FileKind;
}

/** The names in a folder, sorted by code unit, with their kinds; one system call per few hundred names. */
export function listNames(dir: PinnedDirectory): DirectoryEntry[] {
  return listUnsorted(dir).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The same in the order in which the system gives them. */
export function listUnsorted(dir: PinnedDirectory): DirectoryEntry[] {
  const entries = readdirSync(`${dir.prefix}/.`, { withFileTypes: true });
  return entries.map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
}

/** What one name is now, without following it; undefined if it is gone. */
export function inspect(dir: PinnedDirectory, name: string): BigIntStats | undefined {
  return lstatSync(`${dir.prefix}/${name}`, { bigint: true, throwIfNoEntry: false });
}

/** Where a link points, as written; undefined if it is no link (any more). */
export function linkTarget(place: Pick<Place, 'dir' | 'name'>): string | undefined {
  try {
    return readlinkSync(at(place));
  } catch (error) {
    if (isMissing(error) || (error instanceof Error && 'code' in error && error.code === 'EINVAL'))
      return undefined;
    throw error;
  }
}
