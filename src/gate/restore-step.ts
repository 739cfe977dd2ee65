import { putBackFile } from '../disk/put-back.ts';
import type { Staged } from '../disk/temp-file.ts';
import type { UndoStep } from '../journal/undo-steps.ts';
import { movedSightings } from '../ledger/moved-sightings.ts';
import { NOTHING } from '../model/coverage.ts';
import type { Effect, Side } from '../model/entry.ts';
import type { Place, ResolvedPath } from '../model/path.ts';
import { NO_FLAGS, type Sighting } from '../model/sighting.ts';
import type { Action } from '../model/verdict.ts';
import { atPath } from './at-path.ts';
import { keepImages } from './keep-images.ts';
import { restore, stage, unstage } from './restore.ts';
import { ABSENT } from './sides.ts';
import type { Displaced, Step } from './step.ts';
import type { World } from './world.ts';

export interface RestoreContext {
  readonly path: ResolvedPath;
  /** What the session had seen of the file or folder as it comes back. */
  readonly known?: Sighting | undefined;
  /** What the session has seen of a folder that moves back, and of everything in it, at its present place. */
  readonly moving?: readonly Sighting[];
  /** Reads the bytes that are to come. Default: from the images. */
  readonly bytes?: () => Promise<Uint8Array>;
  /** A file of our own that holds these bytes, for folders that come whole; see `NewNode`. */
  readonly file?: string | undefined;
  /** What the step is part of, for messages. Default: an undo. */
  readonly action?: Action;
  /** What the session knows afterwards, where that is not what it had seen before. */
  readonly shown?: readonly Sighting[];
}

/** Brings one thing back to what it was. It looks for its place when it runs: an earlier step may have to make it. */
export function restoreStep(world: World, step: UndoStep, context: RestoreContext): Step {
  const { path, bytes } = context;
  let staged: Staged | undefined;
  let displaced: readonly Displaced[] = [];
  return {
    action: context.action ?? 'undo',
    path,
    effects: effectsOf(step),
    stage: async () => {
      staged = await stage(world, step, { bytes });
    },
    unstage: () => {
      if (staged !== undefined) unstage(world, step, staged);
    },
    run: async () => {
      const outcome = await restore(world, step, { bytes, staged });
      if (!outcome.ok) return outcome;
      staged = undefined;
      displaced = outcome.displaced;
      const result = {
        path: step.relative,
        changed: outcome.stayed !== true,
        created: step.expect.kind === 'absent' && step.restore.kind === 'file',
        sizeBytes: step.restore.kind === 'file' ? step.restore.fingerprint.size : 0,
        notices: [],
      };
      const sightings = sightingsOf(world, step, context);
      const tombstones = goneWith(step, context);
      const { stayed, idle, made } = outcome;
      const effects = stayed || idle ? [] : [...made, ...effectsOf(step)];
      const done = { ok: true, effects, result, sightings, displaced } as const;
      return stayed ? { ...done, stayed: step.key, tombstones: [] } : { ...done, tombstones };
    },
    revert: () => takeBack(world, step, displaced[0]),
    close: () => {},
  };
}

/** Gives a displaced file its place again, or makes everything else as it was. */
async function takeBack(world: World, step: UndoStep, displaced: Displaced | undefined): Promise<boolean> {
  const { restore: after } = step;
  if (displaced !== undefined && (after.kind === 'absent' || after.kind === 'file')) {
    const ours = after.kind === 'file' ? after.fingerprint : undefined;
    const put = (place: Place): ReturnType<typeof putBackFile> =>
      putBackFile(world.disk, place, { displaced: displaced.file, ours });
    const back = await atPath(world, world.workspace.named(step.key, step.relative), put);
    if (back === 'back') return true;
    if (back !== 'unavailable') return false;
  }
  if (displaced !== undefined && !(await world.images.has(displaced.sha256)))
    await keepImages(world, [displaced]);
  return (await restore(world, reversed(step), { ours: true })).ok;
}

function reversed({ key, relative, expect, restore: after, from }: UndoStep): UndoStep {
  if (from === undefined) return { key, relative, expect: after, restore: expect };
  return { ...from, expect: ABSENT, restore: after, from: { key, relative } };
}

export function effectsOf(step: UndoStep): Effect[] {
  const { key, relative, expect, restore: after, from } = step;
  const before: Side = expect.kind === 'file' ? { ...expect, kept: true } : expect;
  if (from === undefined) return [{ key, relative, before, after }];
  return [
    { key: from.key, relative: from.relative, before: after, after: ABSENT, movedTo: key },
    { key, relative, before: ABSENT, after },
  ];
}

function goneWith({ key, restore: after }: UndoStep, { moving = [] }: RestoreContext): readonly string[] {
  return after.kind === 'absent' ? [key] : moving.map((seen) => seen.key);
}

/** A session that had not seen the bytes only knows that they are there: an edit may follow, an overwrite may not. */
export function sightingsOf(
  world: World,
  step: UndoStep,
  { known, moving = [], shown }: RestoreContext,
): Sighting[] {
  if (shown !== undefined) return [...shown];
  const { key, restore: after, from } = step;
  if (from !== undefined) return movedSightings(moving, { from: from.key, to: key });
  if (known !== undefined) return [{ ...known, stamp: undefined, racy: true }];
  if (after.kind !== 'file') return [];
  const unseen: Sighting = {
    key,
    fingerprint: after.fingerprint,
    stamp: undefined,
    racy: true,
    coverage: NOTHING,
    totalLines: undefined,
    flags: NO_FLAGS,
    how: 'write',
    atMs: world.now(),
    lost: 'forgotten',
  };
  return [unseen];
}
