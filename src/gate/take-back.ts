import { clearTemps } from '../disk/clear-temps.ts';
import { putBackFile } from '../disk/put-back.ts';
import { ABSENT, inverse } from '../model/delta.ts';
import type { Place, ResolvedPath } from '../model/path.ts';
import type { Displaced } from './announce.ts';
import { type AppliedDelta, applyDelta } from './apply-delta.ts';
import { removeWhole, returnWhole, type WholeFolder } from './apply-folder.ts';
import { atPath, isBelowNoFolder } from './found.ts';
import type { ChangePlan, PlannedDelta } from './plan.ts';
import type { World } from './world.ts';

/** What is applied in one piece: a delta, or a folder with all deltas in it. */
export interface Unit {
  readonly plan: ChangePlan;
  readonly delta: PlannedDelta;
  readonly whole?: WholeFolder | undefined;
}

export interface DoneUnit {
  readonly unit: Unit;
  readonly applied: AppliedDelta;
}

/** Takes back what was applied. Returns false if another program has changed it since. */
export async function isReverted(world: World, { unit, applied }: DoneUnit): Promise<boolean> {
  try {
    const { whole } = unit;
    const { taken } = applied;
    if (whole === undefined) return await isDeltaReverted(world, unit.delta, applied);
    if (taken !== undefined) return await returnWhole(world, whole, taken.kept);
    const [root, ...inside] = [whole.root, ...whole.inside].map((delta) => backOf(world, delta));
    return root !== undefined && (await removeWhole(world, { course: 'out', root, inside })).ok;
  } catch {
    // Ignore the error: the next process that locks the file compares it and completes the record.
    return false;
  }
}

/** The planned delta that takes a delta back. */
function backOf({ workspace }: World, delta: PlannedDelta): PlannedDelta {
  const { path: there, was, located } = delta;
  const back = inverse(delta);
  const path = delta.movedFrom === undefined ? there : workspace.named(back.key, back.relative);
  return {
    ...back,
    path,
    mode: 'asBefore',
    ...(was && { bytes: () => was.bytes }),
    ...(located?.exists === true && { located }),
  };
}

async function isDeltaReverted(world: World, delta: PlannedDelta, applied: AppliedDelta): Promise<boolean> {
  const { displaced, stayed, idle, made } = applied;
  const isBack = stayed || idle || (await isPutBack(world, delta, displaced));
  for (const { key, relative, after } of made.toReversed()) {
    const path = world.workspace.named(key, relative);
    await applyDelta(world, { key, relative, path, before: after, after: ABSENT, mode: 'asBefore' });
  }
  return isBack;
}

/**
 * Moves the replaced or removed file back. If that is impossible, restores the previous state from
 * the stored contents.
 */
async function isPutBack(
  world: World,
  delta: PlannedDelta,
  displaced: Displaced | undefined,
): Promise<boolean> {
  const { after, path } = delta;
  if (displaced !== undefined && (after.kind === 'absent' || after.kind === 'file')) {
    const ours = after.kind === 'file' ? after.fingerprint : undefined;
    const put = (place: Place): ReturnType<typeof putBackFile> =>
      putBackFile(world.disk, { ...place, opensOwn: true }, { displaced: displaced.file, ours });
    const back = await atPath(world, path, put);
    if (back === 'back') return true;
    if (back !== 'unavailable') return false;
  }
  return (await applyDelta(world, backOf(world, delta), { ours: true })).ok;
}

/**
 * Removes the temporary files that a delta may have left. Returns false if that is not possible now:
 * the record of the change must then stay pending, because it is the list of these files.
 */
export function areTempsCleared(
  world: World,
  { path, movedFrom }: Pick<PlannedDelta, 'path' | 'movedFrom'>,
): boolean {
  const source = movedFrom && world.workspace.named(movedFrom.key, movedFrom.relative);
  return isClearAt(world, path) && (source === undefined || isClearAt(world, source));
}

function isClearAt(world: World, { absolute, key }: ResolvedPath): boolean {
  const outcome = world.workspace.locate(absolute, 'undo', 'parents');
  if (!outcome.ok) return isBelowNoFolder(world, key);
  const { located } = outcome;
  const { place } = located;
  try {
    // Without its folder, nothing can be beside the path.
    const isGone = place.path.key !== key || (!located.exists && located.missing.length > 1);
    return isGone || clearTemps(world.disk, place) === 'clear';
  } finally {
    place.dir.close();
  }
}
