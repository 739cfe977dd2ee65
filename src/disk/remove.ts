import { closeSync, lstatSync, unlinkSync } from 'node:fs';
import { basename } from 'node:path';
import type { Place } from '../model/path.ts';
import { type Expected, holds } from './content.ts';
import { changeFailed, type DiskContext } from './context.ts';
import { syncFolder } from './file-system.ts';
import { inspect, linkTarget } from './list.ts';
import { claimName, putBack } from './names.ts';
import { isReadOnly, modeOf, openRegular } from './read.ts';
import { type Conflict, conflict, unreadable } from './replace.ts';
import { displace } from './shelf.ts';

interface Removed {
  readonly ok: true;
  /** The file's current path outside the workspace; undefined for a link, whose target is in the journal. */
  readonly displaced?: string;
  readonly mode: number;
}

/**
 * Removes a file if it holds the expected bytes, by moving it out of the workspace. A file that
 * this process has just written (`ours`) is deleted if there is no room to keep it.
 */
export async function remove(
  context: DiskContext,
  place: Place,
  expected: Expected & { readonly ours?: true | undefined },
): Promise<Removed | Conflict> {
  const old = openRegular(place);
  if ('problem' in old) return unreadable(old);
  try {
    if (isReadOnly(old.stats) && expected.evenReadOnly !== true) return conflict('read-only');
    context.trace?.('compare');
    if (!holds(old.fd, expected)) return conflict('changed');
    return await claimAway(context, place, {
      fd: old.fd,
      ino: old.stats.ino,
      mode: modeOf(old.stats),
      expected,
    });
  } catch (error) {
    throw changeFailed(context, error, place.path);
  } finally {
    closeSync(old.fd);
  }
}

async function claimAway(
  context: DiskContext,
  place: Place,
  old: { fd: number; ino: bigint; mode: number; expected: Expected & { readonly ours?: true | undefined } },
): Promise<Removed | Conflict> {
  const claim = claimName(context, place);
  if (claim === undefined) return conflict('missing');
  let displaced: string;
  try {
    context.trace?.('verify');
    if (lstatSync(claim, { bigint: true }).ino !== old.ino || !holds(old.fd, old.expected)) {
      return conflict('changed', { retained: putBack(context, claim, place) });
    }
    context.trace?.('folder-sync');
    // Sync before the file leaves the folder: if syncing fails, the name can be restored.
    await syncFolder(context, place.dir);
    const { expected } = old;
    displaced = displace(context, claim, { expected, ours: expected.ours });
  } catch (error) {
    if (lstatSync(claim, { throwIfNoEntry: false }) !== undefined) putBack(context, claim, place);
    throw error;
  }
  await settle(context, place);
  return { ok: true, displaced, mode: old.mode };
}

/**
 * Makes the removal of the temporary name durable. If the name reappeared after a power cut, the
 * next start of Lookfirst would restore the removed file.
 */
async function settle(context: DiskContext, place: Place): Promise<void> {
  try {
    await syncFolder(context, place.dir);
  } catch {
    // Ignore the error: the file is already removed and kept. An error here would report a
    // completed change as failed.
  }
}

/** Removes a symbolic link, never its target, if it still points to `target`. */
export async function removeLink(
  context: DiskContext,
  place: Place,
  target: string,
): Promise<Removed | Conflict> {
  try {
    if (inspect(place.dir, place.name) === undefined) return conflict('missing');
    if (linkTarget(place) !== target) return conflict('changed');
    const claim = claimName(context, place);
    if (claim === undefined) return conflict('missing');
    // Another file may have got this name since the check, so verify the entry that was renamed.
    if (linkTarget({ dir: place.dir, name: basename(claim) }) !== target)
      return conflict('changed', { retained: putBack(context, claim, place) });
    unlinkSync(claim);
    await settle(context, place);
    return { ok: true, mode: 0o777 };
  } catch (error) {
    throw changeFailed(context, error, place.path);
  }
}
