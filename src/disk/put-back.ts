import { constants, copyFileSync, renameSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, isMissing, isTaken } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { at, type Place } from '../model/path.ts';
import { holdsAt } from './content.ts';
import type { DiskContext } from './context.ts';
import { syncFolder } from './file-system.ts';
import { moveIfFree } from './free-name.ts';
import { retain, retainOrDrop } from './publication.ts';
import { NO_EXCHANGE } from './replace.ts';
import { tempName } from './temp-names.ts';

interface PutBack {
  /** The current path, outside the workspace, of the file that was replaced or removed. */
  readonly displaced: string;
  /**
   * The fingerprint of the file that now has the old file's name; undefined if the old file was
   * removed.
   */
  readonly ours: Fingerprint | undefined;
}

/**
 * Moves a replaced or removed file back to its place after a later step failed. On one file system,
 * this is a rename, so a full disk does not matter. `back`: the file has its name again. `taken`:
 * meanwhile, another process has changed or deleted our new file, or has created a file with the
 * name; its change stays. `unavailable`: the file cannot be moved back, and the caller must write
 * its bytes to a new file.
 */
export async function putBackFile(
  context: DiskContext,
  place: Place,
  { displaced, ours }: PutBack,
): Promise<'back' | 'taken' | 'unavailable'> {
  // If the old file is not in `retained`, it is in the store of old contents, where another process
  // may already use it. Leave it there.
  if (dirname(displaced) !== context.retained) return 'unavailable';
  try {
    if (ours !== undefined) return await exchangeBack(context, place, { displaced, ours });
    if (!returnRetained(displaced, place)) return 'taken';
    await syncFolder(context, place.dir);
    return 'back';
  } catch (error) {
    if (isMissing(error) || errnoOf(error) === 'EXDEV') return 'unavailable';
    throw error;
  }
}

async function exchangeBack(
  context: DiskContext,
  place: Place,
  { displaced, ours }: { readonly displaced: string; readonly ours: Fingerprint },
): Promise<'back' | 'taken' | 'unavailable'> {
  const { native } = context;
  if (native === undefined) return 'unavailable';
  const name = tempName(context, place.path, 'back');
  const temp = `${place.dir.prefix}/${name}`;
  renameSync(displaced, temp);
  try {
    native.swapSync(temp, at(place));
  } catch (error) {
    // Move the old file out of the workspace again. If another process has deleted our file, the
    // name stays free.
    renameSync(temp, displaced);
    if (isMissing(error)) return 'taken';
    if (NO_EXCHANGE.has(errnoOf(error) ?? '')) return 'unavailable';
    throw error;
  }
  if (holdsAt({ ...place, name }, ours)) {
    retainOrDrop(context, temp);
    await syncFolder(context, place.dir);
    return 'back';
  }
  native.swapSync(temp, at(place));
  retain(context, temp);
  return 'taken';
}

/** Moves a file from outside the workspace back to its name; false if the name is taken. */
export function returnRetained(file: string, place: Place): boolean {
  try {
    return moveIfFree(file, at(place));
  } catch (error) {
    if (errnoOf(error) !== 'EXDEV') throw error;
  }
  try {
    copyFileSync(file, at(place), constants.COPYFILE_EXCL);
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
  unlinkSync(file);
  return true;
}
