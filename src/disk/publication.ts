import {
  type BigIntStats,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  renameSync,
  unlinkSync,
} from 'node:fs';
import { isMissing } from '../model/errno.ts';
import { at, type Place } from '../model/path.ts';
import { type Expected, holds } from './compare.ts';
import type { DiskContext } from './context.ts';
import { moveIfFree } from './free-name.ts';
import { fingerprintOf } from './hash.ts';
import { readAllSync } from './read.ts';
import { retain, retainBytes } from './retain.ts';
import { modeOf } from './stats.ts';
import type { TempFile } from './temp-file.ts';

/** What a publishing step needs: the target, the new file, and the old one held open. */
export interface Publication {
  readonly place: Place;
  readonly temp: TempFile;
  readonly old: { readonly fd: number; readonly stats: BigIntStats };
  readonly expected: Expected;
  readonly intended: Uint8Array;
  /** What is replaced is our own. */
  readonly ours?: true;
}

export type Published =
  /** `displaced`: where the old file is now. */
  | { readonly ok: true; readonly displaced: string }
  /** Someone else was faster; their file has the name, and what else was displaced is kept. */
  | { readonly ok: false; readonly retained: readonly string[] };

/** Our new file as it was published. */
export type New = Pick<Publication, 'place' | 'temp' | 'intended'>;

/** A file that its owner may not read has left its name: from now on it is an image, which must be readable. */
export function letOwnerRead({ place, old }: Pick<Publication, 'place' | 'old'>): void {
  const mode = modeOf(old.stats);
  if (place.opensOwn === true && (mode & constants.S_IRUSR) === 0)
    fchmodSync(old.fd, mode | constants.S_IRUSR);
}

/** Takes our published file back from its name, after a failure. A file someone put there meanwhile stays. */
export function withdraw(context: DiskContext, publication: New): void {
  const { place, temp } = publication;
  try {
    renameSync(at(place), temp.path);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  if (lstatSync(temp.path, { bigint: true }).ino === temp.stats.ino) keepOurs(context, publication);
  else if (!moveIfFree(temp.path, at(place))) retain(context, temp.path);
}

/**
 * Puts our own file aside after it had the target's name. It is never deleted: someone who opened it under that name
 * may still write into it. Returned, and thereby reported, only if someone already has.
 */
export function keepOurs(context: DiskContext, publication: New): string[] {
  const { temp, intended } = publication;
  const named = lstatSync(temp.path, { bigint: true, throwIfNoEntry: false })?.ino === temp.stats.ino;
  const touched = !holds(temp.fd, { fingerprint: fingerprintOf(intended), bytes: intended });
  if (named) {
    const kept = touched ? retain(context, temp.path) : retainOrDrop(context, temp.path);
    return touched ? [kept] : [];
  }
  if (!touched) return [];
  const { size } = fstatSync(temp.fd, { bigint: true });
  return [retainBytes(context, readAllSync(temp.fd, Number(size)))];
}

/**
 * Removes our own file after a failure, if nobody has written into it while it had the target's name. Else it stays where it
 * is, and the next start moves it into our folder.
 */
export function discardOurs(context: DiskContext, { temp, intended }: New): void {
  if (lstatSync(temp.path, { bigint: true, throwIfNoEntry: false })?.ino !== temp.stats.ino) return;
  if (holds(temp.fd, { fingerprint: fingerprintOf(intended), bytes: intended })) unlinkSync(temp.path);
  else context.litter.doubt();
}

/** Keeps a file of our own that nobody has written into; without room for it, it is given up rather than left in their folder. */
export function retainOrDrop(context: DiskContext, path: string): string {
  try {
    return retain(context, path);
  } catch {
    unlinkSync(path);
    return '';
  }
}
