import type { UndoStep } from '../journal/undo-steps.ts';
import { movedSightings } from '../ledger/moved-sightings.ts';
import { NOTHING } from '../model/coverage.ts';
import type { Effect, Side } from '../model/entry.ts';
import type { ResolvedPath } from '../model/path.ts';
import { NO_FLAGS, type Sighting } from '../model/sighting.ts';
import { restore } from './restore.ts';
import { ABSENT } from './sides.ts';
import type { Step } from './step.ts';
import type { World } from './world.ts';

export interface RestoreContext {
  readonly path: ResolvedPath;
  /** What the session had seen of the file or folder as it comes back. */
  readonly known?: Sighting | undefined;
  /** What the session has seen of a folder that moves back, and of everything in it, at its present place. */
  readonly moving?: readonly Sighting[];
}

/** Brings one thing back to what it was. It looks for its place when it runs: an earlier step may have to make it. */
export function restoreStep(world: World, step: UndoStep, context: RestoreContext): Step {
  const { path } = context;
  return {
    action: 'undo',
    path,
    effects: effectsOf(step),
    run: async () => {
      const outcome = await restore(world, step);
      if (!outcome.ok) return outcome;
      const result = {
        path: step.relative,
        changed: outcome.stayed !== true,
        created: step.expect.kind === 'absent' && step.restore.kind === 'file',
        sizeBytes: step.restore.kind === 'file' ? step.restore.fingerprint.size : 0,
        notices: [],
      };
      const sightings = sightingsOf(world, step, context);
      const tombstones = goneWith(step, context);
      const { stayed, idle, made, displaced } = outcome;
      const effects = stayed || idle ? [] : [...made, ...effectsOf(step)];
      const done = { ok: true, effects, result, sightings, displaced } as const;
      return stayed ? { ...done, stayed: step.key, tombstones: [] } : { ...done, tombstones };
    },
    revert: async () => (await restore(world, reversed(step), 'ours')).ok,
    close: () => {},
  };
}

function reversed({ key, relative, expect, restore: after, from }: UndoStep): UndoStep {
  if (from === undefined) return { key, relative, expect: after, restore: expect };
  return { ...from, expect: ABSENT, restore: after, from: { key, relative } };
}

function effectsOf(step: UndoStep): Effect[] {
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
function sightingsOf(world: World, step: UndoStep, { known, moving = [] }: RestoreContext): Sighting[] {
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
