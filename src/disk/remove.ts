import { closeSync, lstatSync, unlinkSync } from 'node:fs';
import { basename } from 'node:path';
import type { Place } from '../model/path.ts';
import { claimName, putBack, takeOurs } from './claim.ts';
import { type Expected, holds } from './compare.ts';
import type { DiskContext } from './context.ts';
import { changeFailed } from './failure.ts';
import { syncFolder } from './folders.ts';
import { inspect, linkTarget } from './list.ts';
import { retainOrDrop } from './publication.ts';
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

/**
 * Removes a file if it holds the expected bytes; it is moved into our own folder, not destroyed. Bytes that are `ours`, put
 * there just now, are given up if there is no room to keep them.
 */
export function remove(
  context: DiskContext,
  place: Place,
  expected: Expected & { readonly ours?: true },
): Removed | Conflict {
  const old = openRegular(place);
  if ('problem' in old) return unreadable(old);
  try {
    if (isReadOnly(old.stats) && expected.evenReadOnly !== true) return conflict('read-only');
    context.trace?.('compare');
    if (!holds(old.fd, expected)) return conflict('changed');
    return claimAway(context, place, { fd: old.fd, ino: old.stats.ino, mode: modeOf(old.stats), expected });
  } catch (error) {
    throw changeFailed(context, error, place.path);
  } finally {
    closeSync(old.fd);
  }
}

function claimAway(
  context: DiskContext,
  place: Place,
  old: { fd: number; ino: bigint; mode: number; expected: Expected & { readonly ours?: true } },
): Removed | Conflict {
  // Our own bytes need no line in the log, which a full disk might not take: nobody misses them.
  const claim = old.expected.ours ? takeOurs(context, place) : claimName(context, place);
  if (claim === undefined) return conflict('missing');
  let displaced: string;
  try {
    context.trace?.('verify');
    if (lstatSync(claim, { bigint: true }).ino !== old.ino || !holds(old.fd, old.expected)) {
      return conflict('changed', { retained: putBack(context, claim, place) });
    }
    context.trace?.('folder-sync');
    // Before the file leaves the folder: should it fail, the name is given back.
    syncFolder(context, place.dir);
    displaced = old.expected.ours ? retainOrDrop(context, claim) : retain(context, claim);
  } catch (error) {
    if (lstatSync(claim, { throwIfNoEntry: false }) !== undefined) putBack(context, claim, place);
    throw error;
  }
  settle(context, place);
  return { ok: true, displaced, mode: old.mode };
}

/** Makes it durable that the temporary name is gone: after a power cut it would bring the file back. */
function settle(context: DiskContext, place: Place): void {
  try {
    syncFolder(context, place.dir);
  } catch {
    // The file is removed and kept. Failing now would report a change that happened as one that did not.
  }
}

/** Removes a symbolic link, never what it points to, if it still points where it did. */
export function removeLink(context: DiskContext, place: Place, target: string): Removed | Conflict {
  try {
    if (inspect(place.dir, place.name) === undefined) return conflict('missing');
    if (linkTarget(place) !== target) return conflict('changed');
    const claim = claimName(context, place);
    if (claim === undefined) return conflict('missing');
    // Another file may have come under the name since we looked: what was taken away decides.
    if (linkTarget({ dir: place.dir, name: basename(claim) }) !== target)
      return conflict('changed', { retained: putBack(context, claim, place) });
    unlinkSync(claim);
    settle(context, place);
    return { ok: true, mode: 0o777 };
  } catch (error) {
    throw changeFailed(context, error, place.path);
  }
}
