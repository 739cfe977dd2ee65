import { fingerprintOfRetained, listRetained, type RetainedFile } from '../disk/retained.ts';
import { imagesOfPending } from '../journal/image-use.ts';
import type { World } from './world.ts';

/**
 * Displaced files that no entry ever took over, because a process was killed or strangers collided, older than so long.
 * Not those of a change that has yet to be settled: its before-image may be among them.
 */
export async function oldLeftovers(
  world: World,
  { olderThanMs, nowMs }: { readonly olderThanMs: number; readonly nowMs: number },
): Promise<readonly RetainedFile[]> {
  const old = listRetained(world.disk).filter((file) => file.sinceMs < nowMs - olderThanMs);
  if (old.length === 0) return old;
  const needed = imagesOfPending(await world.store.pending());
  if (needed.size === 0) return old;
  return old.filter((file) => !needed.has(fingerprintOfRetained(file)?.sha256 ?? ''));
}
