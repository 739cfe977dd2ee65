import type { Content } from '../disk/content.ts';
import { stageNew } from '../disk/create.ts';
import { stageReplacement } from '../disk/replace.ts';
import { dropStaged, type Staged } from '../disk/temp-file.ts';
import { sameContent } from '../model/entry.ts';
import { keptContent } from './announce.ts';
import { locateAgain, newMode } from './apply-delta.ts';
import type { PlannedDelta } from './plan.ts';
import type { World } from './world.ts';

/**
 * Makes a temporary file next to the target, with the new bytes. Undefined if none is needed, or if
 * the target or its folder does not have its expected state yet.
 */
export async function stage(world: World, delta: PlannedDelta): Promise<Staged | undefined> {
  const { key, before, after, movedFrom } = delta;
  if (after.kind !== 'file' || movedFrom !== undefined || sameContent(before, after)) return undefined;
  const held = delta.located;
  const outcome = held === undefined ? locateAgain(world, delta) : { ok: true as const, located: held };
  if (!outcome.ok) return undefined;
  const { located } = outcome;
  try {
    if (located.place.path.key !== key) return undefined;
    const { bytes } = delta;
    const { fingerprint } = after;
    const content = async (): Promise<Content> =>
      bytes === undefined ? keptContent(world, fingerprint) : { bytes: bytes(), fingerprint };
    const file = delta.file === undefined ? undefined : { path: delta.file, mode: after.mode };
    if (located.exists) {
      if (before.kind !== 'file') return undefined;
      return await stageReplacement(world.disk, located.place, { content, file, ...newMode(delta) });
    }
    if (before.kind !== 'absent' || located.missing.length > 1) return undefined;
    const mode = delta.mode === 'default' ? {} : { mode: after.mode };
    return await stageNew(world.disk, located.place, { content, file, ...mode });
  } finally {
    if (held === undefined) located.place.dir.close();
  }
}

/**
 * Removes a temporary file that was not renamed to its final name.
 */
export function unstage(world: World, delta: PlannedDelta, staged: Staged): void {
  const outcome =
    delta.located === undefined ? locateAgain(world, delta) : { ok: true as const, located: delta.located };
  if (!outcome.ok) return;
  const { place } = outcome.located;
  try {
    dropStaged(place, staged);
  } finally {
    if (delta.located === undefined) place.dir.close();
  }
}
