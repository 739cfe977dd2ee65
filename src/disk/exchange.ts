import { type BigIntStats, fstatSync, linkSync, lstatSync, unlinkSync } from 'node:fs';
import { errnoOf, isMissing, isTaken } from '../model/errno.ts';
import { at, type Place } from '../model/path.ts';
import { type Expected, holds } from './compare.ts';
import type { DiskContext } from './context.ts';
import { fingerprintOf } from './hash.ts';
import type { NativeFiles } from './native.ts';
import { readAllSync } from './read.ts';
import { retain, retainBytes } from './retain.ts';
import type { TempFile } from './temp-file.ts';

/** More strangers than this in a row on one name is no longer a race but a fight; everyone's bytes are kept anyway. */
const MAX_SWAPS = 16;

/** What a publishing step needs: the target, the new file, and the old one held open. */
export interface Publication {
  readonly place: Place;
  readonly temp: TempFile;
  readonly old: { readonly fd: number; readonly stats: BigIntStats };
  readonly expected: Expected;
  readonly intended: Uint8Array;
}

export type Published =
  /** `displaced`: where the old file is now. */
  | { readonly ok: true; readonly displaced: string }
  /** Someone else was faster; their file has the name, and what else was displaced is kept. */
  | { readonly ok: false; readonly retained: readonly string[] };

/**
 * Publishes by exchanging the two names in one step, so that the target never is absent. What came out is verified
 * before anything else happens; a stranger's file is put back at once. Every inode that ever had the target's name is
 * kept unless it is provably ours and untouched, because someone may have written into it while it had the name.
 */
export function publishByExchange(
  context: DiskContext,
  native: NativeFiles,
  publication: Publication,
): Published {
  const { place, temp, old, expected } = publication;
  context.trace?.('exchange');
  try {
    native.swapSync(temp.path, at(place));
  } catch (error) {
    if (!isMissing(error)) throw error;
    // Deleted by someone else: that is a change, and there is nothing to give back.
    unlinkSync(temp.path);
    return { ok: false, retained: [] };
  }
  try {
    // The cheap look first: a stranger is put back within microseconds, before anyone builds on what we published.
    const out = lstatSync(temp.path, { bigint: true });
    const looksOld =
      out.ino === old.stats.ino && out.size === old.stats.size && out.mtimeNs === old.stats.mtimeNs;
    if (looksOld) {
      context.trace?.('verify');
      if (holds(old.fd, expected)) return { ok: true, displaced: retain(context, temp.path) };
    }
  } catch (error) {
    giveBack(context, native, publication);
    throw error;
  }
  return { ok: false, retained: giveBack(context, native, publication) };
}

/** Puts what came out back under its name; whatever is displaced on the way is kept. */
function giveBack(context: DiskContext, native: NativeFiles, publication: Publication): string[] {
  const { place, temp } = publication;
  for (let swaps = 0; swaps < MAX_SWAPS; swaps += 1) {
    if (!swapOrLink(native, temp.path, at(place))) break;
    const out = lstatSync(temp.path, { bigint: true, throwIfNoEntry: false });
    if (out === undefined) break;
    if (out.ino === temp.ino) return keepOurs(context, publication);
    // A newer file had taken the name from ours, and now an older one has taken it from that: once more.
  }
  const retained = keepOurs(context, publication);
  if (lstatSync(temp.path, { throwIfNoEntry: false }) !== undefined)
    retained.push(retain(context, temp.path));
  return retained;
}

/** False when the name was free and the file could simply be linked to it. */
function swapOrLink(native: NativeFiles, from: string, to: string): boolean {
  try {
    native.swapSync(from, to);
    return true;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  try {
    linkSync(from, to);
    unlinkSync(from);
    return false;
  } catch (error) {
    if (!isTaken(error) && errnoOf(error) !== 'ENOENT') throw error;
    return true;
  }
}

/** Our own new file, which had the target's name for a moment: deleted only if nobody wrote into it. */
function keepOurs(context: DiskContext, publication: Publication): string[] {
  const { temp, intended } = publication;
  const now = lstatSync(temp.path, { bigint: true, throwIfNoEntry: false });
  const named = now?.ino === temp.ino;
  if (holds(temp.fd, { fingerprint: fingerprintOf(intended), bytes: intended })) {
    if (named) unlinkSync(temp.path);
    return [];
  }
  if (named) return [retain(context, temp.path)];
  const { size } = fstatSync(temp.fd, { bigint: true });
  return [retainBytes(context, readAllSync(temp.fd, Number(size)))];
}
