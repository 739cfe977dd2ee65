import type { UndoStep } from '../journal/undo-steps.ts';
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
  /** What the session had seen of the file when it held the bytes that come back. */
  readonly known?: Sighting | undefined;
}

/** Brings one thing back to what it was. It looks for its place when it runs: an earlier step may have to make it. */
export function restoreStep(world: World, step: UndoStep, { path, known }: RestoreContext): Step {
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
      const sightings =
        step.restore.kind === 'file' ? [sightingOf(world, { step, side: step.restore, known })] : [];
      const tombstones = step.restore.kind === 'absent' ? [step.key] : [];
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

/** Unless it had seen these bytes, the session only knows that they are there: an edit may follow, an overwrite not. */
function sightingOf(
  world: World,
  {
    step,
    side,
    known,
  }: { step: UndoStep; side: Extract<Side, { kind: 'file' }>; known: Sighting | undefined },
): Sighting {
  if (known !== undefined) return { ...known, stamp: undefined, racy: true, how: 'write' };
  return {
    key: step.key,
    fingerprint: side.fingerprint,
    stamp: undefined,
    racy: true,
    coverage: NOTHING,
    totalLines: undefined,
    flags: NO_FLAGS,
    how: 'write',
    atMs: world.now(),
    lost: 'forgotten',
  };
}
