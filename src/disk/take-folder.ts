import { lstatSync, mkdirSync, renameSync } from 'node:fs';
import { basename } from 'node:path';
import { errnoOf } from '../model/errno.ts';
import { at, type PinnedDirectory, type Place } from '../model/path.ts';
import { claimName } from './claim.ts';
import type { DiskContext } from './context.ts';
import { changeFailed } from './failure.ts';
import { syncFolder } from './folders.ts';
import { moveFolderIfFree } from './free-name.ts';
import { type Conflict, conflict } from './replace.ts';
import { retainFolder } from './retain.ts';

/**
 * Moves a folder and its contents out of the workspace into our own folder, in one rename.
 * `isAsExpected` checks the folder after it was taken; if false, the folder gets its name back.
 * Both must be on one file system.
 */
export function takeFolder(
  context: DiskContext,
  place: Place,
  isAsExpected: (dir: PinnedDirectory) => boolean,
): { readonly ok: true; readonly kept: string } | Conflict {
  try {
    const claim = claimName(context, place);
    if (claim === undefined) return conflict('missing');
    try {
      if (!isFolderAsExpected(place, claim, isAsExpected)) {
        moveFolderIfFree(claim, at(place));
        return conflict('changed');
      }
      context.trace?.('folder-sync');
      syncFolder(context, place.dir);
      return { ok: true, kept: retainFolder(context, claim) };
    } catch (error) {
      if (lstatSync(claim, { throwIfNoEntry: false }) !== undefined) moveFolderIfFree(claim, at(place));
      throw error;
    }
  } catch (error) {
    throw changeFailed(context, error, place.path);
  }
}

function isFolderAsExpected(
  place: Place,
  claim: string,
  isAsExpected: (dir: PinnedDirectory) => boolean,
): boolean {
  if (!lstatSync(claim).isDirectory()) return false;
  const dir = place.dir.enter(basename(claim));
  try {
    return isAsExpected(dir);
  } finally {
    dir.close();
  }
}

/** Moves a taken folder back to its place; false if its name is taken. */
export function returnFolder(context: DiskContext, kept: string, place: Place): boolean {
  if (!moveFolderIfFree(kept, at(place))) return false;
  syncFolder(context, place.dir);
  return true;
}

/** Whether one rename can move a folder into ours, which requires the same file system. */
export function isTakeable(context: DiskContext, { dir, name }: Pick<Place, 'dir' | 'name'>): boolean {
  mkdirSync(context.retained, { recursive: true, mode: 0o700 });
  return lstatSync(`${dir.prefix}/${name}`).dev === lstatSync(context.retained).dev;
}

/** Renames a finished temporary folder to its final name; false if that is taken. */
export function publishFolder(context: DiskContext, place: Place, temp: string): boolean {
  context.trace?.('publish');
  if (!moveFolderIfFree(`${place.dir.prefix}/${temp}`, at(place))) return false;
  context.trace?.('folder-sync');
  try {
    syncFolder(context, place.dir);
    return true;
  } catch (error) {
    if (errnoOf(error) !== undefined) renameSync(at(place), `${place.dir.prefix}/${temp}`);
    throw error;
  }
}
