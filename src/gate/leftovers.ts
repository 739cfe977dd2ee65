import { fingerprintOfRetained, listRetained, type RetainedFile } from '../disk/retained.ts';
import { imagesOfPending } from '../journal/image-use.ts';
import type { World } from './world.ts';

/**
 * Displaced files, older than `olderThanMs`, that no journal entry refers to: a process was killed, or other programs
 * collided. Files of a change that is still pending are left out, since its before-image may be among them.
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
