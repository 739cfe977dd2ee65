import { renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, isMissing } from '../model/errno.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { at, type Place } from '../model/path.ts';
import { holdsAt } from './compare.ts';
import type { DiskContext } from './context.ts';
import { syncFolder } from './folders.ts';
import { retainOrDrop } from './publication.ts';
import { release } from './release.ts';
import { retain } from './retain.ts';

export interface PutBack {
  /** Where the file is that has to go back. */
  readonly displaced: string;
  /** What we put in its place just now; undefined: nothing. */
  readonly ours: Fingerprint | undefined;
}

/**
 * Gives a displaced file its place again, because a later step failed. The file itself goes back, so that a full disk does
 * not matter. `taken`: someone has changed what we put there, and keeps it. `unavailable`: the file cannot go back as it
 * is, and its bytes have to be written anew.
 */
export function putBackFile(
  context: DiskContext,
  place: Place,
  { displaced, ours }: PutBack,
): 'back' | 'taken' | 'unavailable' {
  // What is among the images already may be another process's image by now.
  if (dirname(displaced) !== context.retained) return 'unavailable';
  try {
    if (ours !== undefined) return exchangeBack(context, place, { displaced, ours });
    if (!release(displaced, place)) return 'taken';
    syncFolder(context, place.dir);
    return 'back';
  } catch (error) {
    if (isMissing(error) || errnoOf(error) === 'EXDEV') return 'unavailable';
    throw error;
  }
}

function exchangeBack(
  context: DiskContext,
  place: Place,
  { displaced, ours }: { readonly displaced: string; readonly ours: Fingerprint },
): 'back' | 'taken' | 'unavailable' {
  const { native } = context;
  if (native === undefined) return 'unavailable';
  const name = context.litter.tempName(dirname(place.path.absolute));
  const temp = `${place.dir.prefix}/${name}`;
  renameSync(displaced, temp);
  try {
    native.swapSync(temp, at(place));
  } catch (error) {
    if (!isMissing(error)) throw error;
    // Deleted by someone else, who keeps what they did.
    retain(context, temp);
    return 'taken';
  }
  if (holdsAt({ dir: place.dir, name }, ours)) {
    retainOrDrop(context, temp);
    syncFolder(context, place.dir);
    return 'back';
  }
  native.swapSync(temp, at(place));
  retain(context, temp);
  return 'taken';
}
