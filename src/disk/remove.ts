import { closeSync, lstatSync, readlinkSync, renameSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { isMissing } from '../model/errno.ts';
import { at, type Place } from '../model/path.ts';
import { putBack } from './claim.ts';
import { type Expected, holds } from './compare.ts';
import type { DiskContext } from './context.ts';
import { changeFailed } from './failure.ts';
import { syncFolder } from './folders.ts';
import { openRegular } from './read.ts';
import { type Conflict, conflict, unreadable } from './replace.ts';
import { retain } from './retain.ts';
import { isReadOnly, modeOf } from './stats.ts';

export interface Removed {
  readonly ok: true;
  /** Where the file is now, outside the workspace; undefined for links, whose target the journal holds. */
  readonly displaced?: string;
  readonly mode: number;
}

/** Removes a file if it holds the expected bytes; it is moved into our own folder, not destroyed. */
export function remove(context: DiskContext, place: Place, expected: Expected): Removed | Conflict {
  const old = openRegular(place);
  if ('problem' in old) return unreadable(old);
  try {
    if (isReadOnly(old.stats)) return conflict('read-only');
    context.trace?.('compare');
    if (!holds(old.fd, expected)) return conflict('changed');
    return claimAway(context, place, { fd: old.fd, ino: old.stats.ino, mode: modeOf(old.stats), expected });
  } catch (error) {
    throw changeFailed(error, place.path);
  } finally {
    closeSync(old.fd);
  }
}

function claimAway(
  context: DiskContext,
  place: Place,
  old: { fd: number; ino: bigint; mode: number; expected: Expected },
): Removed | Conflict {
  const dir = dirname(place.path.absolute);
  const name = context.litter.tempName(dir);
  const claim = `${place.dir.prefix}/${name}`;
  context.litter.claiming(dir, name, place.name);
  context.trace?.('claim');
  try {
    renameSync(at(place), claim);
  } catch (error) {
    if (isMissing(error)) return conflict('missing');
    throw error;
  }
  try {
    context.trace?.('verify');
    if (lstatSync(claim, { bigint: true }).ino !== old.ino || !holds(old.fd, old.expected)) {
      return conflict('changed', { retained: putBack(context, claim, at(place)) });
    }
    const displaced = retain(context, claim);
    context.trace?.('folder-sync');
    syncFolder(context, place.dir);
    return { ok: true, displaced, mode: old.mode };
  } catch (error) {
    if (lstatSync(claim, { throwIfNoEntry: false }) !== undefined) putBack(context, claim, at(place));
    throw error;
  }
}

/** Removes a symbolic link, never what it points to, if it still points where it did. */
export function removeLink(context: DiskContext, place: Place, target: string): Removed | Conflict {
  try {
    if (readlinkSync(at(place)) !== target) return conflict('changed');
    unlinkSync(at(place));
    syncFolder(context, place.dir);
    return { ok: true, mode: 0o777 };
  } catch (error) {
    if (isMissing(error)) return conflict('missing');
    throw changeFailed(error, place.path);
  }
}
