import type { PendingChange } from '../model/entry.ts';
import type { World } from './world.ts';

/**
 * Time that other sessions wait for a host (the program that runs an agent) to write a change that
 * it has announced. A host that asks its user first may write later than that.
 */
export const HOST_WRITES_MS = 2000;

/** Time between two checks whether a host has written. */
export const HOST_POLL_MS = 20;

/**
 * True if another session's host has announced a change so recently that it may be about to write.
 * Without waiting, each of two hosts could overwrite what the other has just written.
 */
export function isHostWriting(
  world: World,
  { entry, host }: PendingChange,
  session: string | undefined,
): boolean {
  if (host?.hold !== 'none' || host.command !== undefined || entry.session === session) return false;
  return world.now() - entry.atMs < HOST_WRITES_MS;
}
