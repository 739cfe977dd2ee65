import { closeSync, fstatSync, lstatSync } from 'node:fs';
import { isMissing } from '../model/errno.ts';
import { at } from '../model/path.ts';
import type { DiskContext } from './context.ts';
import { moveIfFree } from './free-name.ts';
import type { NativeFiles } from './native.ts';
import { keepOurs, type Publication } from './publication.ts';
import { openRegular, readAllSync } from './read.ts';
import { retain, retainBytes } from './retain.ts';

/** More strangers than this in a row on one name is no longer a race but a fight; everyone's bytes are kept anyway. */
const MAX_SWAPS = 16;
/** Larger files go back without a copy: reading them would leave ours under the name for too long. */
const COPY_BYTES = 64 << 20;

/**
 * Puts the file that came out of an exchange back under its name. If a newer one has taken the name from ours
 * meanwhile, that one is put back instead, and so on until nobody interferes; what stays displaced is kept.
 * Returns everything kept that holds bytes which are not under the name.
 */
export function giveBack(context: DiskContext, native: NativeFiles, publication: Publication): string[] {
  const { temp } = publication;
  const kept: string[] = [];
  let placed = temp.stats.ino;
  for (let swaps = 0; swaps < MAX_SWAPS; swaps += 1) {
    const stranger = inodeAt(temp.path);
    if (stranger === undefined) break;
    const returned = returnStranger(context, native, publication);
    kept.push(...returned.kept);
    if (returned.how === 'retry') continue;
    // What came out is what we had put there: nobody interfered, and the stranger now in place is the newest.
    if (returned.how === 'free' || inodeAt(temp.path) === placed) break;
    placed = stranger;
  }
  kept.push(...keepOurs(context, publication));
  if (inodeAt(temp.path) !== undefined) kept.push(retain(context, temp.path));
  return kept;
}

function inodeAt(path: string): bigint | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

interface Returned {
  /** `free`: the name was free, nothing came out. `retry`: the name was free and is no longer. */
  readonly how: 'swapped' | 'free' | 'retry';
  readonly kept: readonly string[];
}

/**
 * Puts one file back. A copy of its bytes is kept and reported although they are under the name again: a program may
 * have read our file while it was there, and will write over bytes that it never saw.
 */
function returnStranger(context: DiskContext, native: NativeFiles, publication: Publication): Returned {
  const { place, temp } = publication;
  const stranger = openRegular({ ...place, name: temp.name });
  if ('problem' in stranger) return { how: swapOrMove(native, temp.path, at(place)), kept: [] };
  try {
    const before = bytesOf(stranger.fd);
    const how = swapOrMove(native, temp.path, at(place));
    const after = bytesOf(stranger.fd);
    if (before === undefined || after === undefined) return { how, kept: [] };
    const copy = retainBytes(context, before);
    // Its writer was at work: what it had finished just now may be written over before we look again.
    return { how, kept: before.equals(after) ? [copy] : [copy, retainBytes(context, after)] };
  } finally {
    closeSync(stranger.fd);
  }
}

function bytesOf(fd: number): Buffer | undefined {
  const { size } = fstatSync(fd);
  return size > COPY_BYTES ? undefined : readAllSync(fd, size);
}

function swapOrMove(native: NativeFiles, from: string, to: string): Returned['how'] {
  try {
    native.swapSync(from, to);
    return 'swapped';
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return moveIfFree(from, to) ? 'free' : 'retry';
}
