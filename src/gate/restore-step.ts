import { putBackFile } from '../disk/put-back.ts';
import type { Staged } from '../disk/temp-file.ts';
import type { UndoStep } from '../journal/undo-steps.ts';
import { movedSightings } from '../ledger/sightings.ts';
import { NOTHING } from '../model/coverage.ts';
import type { Effect, Side } from '../model/entry.ts';
import type { Stamp } from '../model/fingerprint.ts';
import type { Place, ResolvedPath } from '../model/path.ts';
import { NO_FLAGS, type Sighting } from '../model/sighting.ts';
import type { Action } from '../model/verdict.ts';
import { keepImages } from './announce.ts';
import { closeFolder, restore, stage, unstage } from './restore-side.ts';
import { ABSENT, atPath, type Displaced, type Step } from './step.ts';
import type { World } from './world.ts';

export interface RestoreContext {
  readonly path: ResolvedPath;
  /** The session's earlier view of the restored file or folder: the lines or names it was shown. */
  readonly known?: Sighting | undefined;
  /**
   * For a folder that moves back: what the session has seen of the files in it, under their present
   * paths.
   */
  readonly moving?: readonly Sighting[];
  /** Reads the bytes to restore. Default: the stored old content. */
  readonly bytes?: () => Promise<Uint8Array>;
  /**
   * For a file that moves back: its recorded stamp. If the file still has this stamp, its bytes are
   * unchanged and need not be read. Undefined if the stamp cannot prove that.
   */
  readonly stamp?: Stamp | undefined;
  /**
   * A file in the state folder with the bytes and the mode to restore. It is hard-linked, so that
   * the bytes are not written again.
   */
  readonly file?: string | undefined;
  /** The action that messages name. Default: undo. */
  readonly action?: Action;
  /** The lines that count as seen after the step, if they differ from those seen earlier. */
  readonly shown?: readonly Sighting[];
  /** The time since which the file has had its present state: its ctime in microseconds, if known. */
  readonly sinceUs?: number | undefined;
}

/**
 * Restores one file, link or folder to an earlier state. The step locates its path when it runs,
 * because an earlier step may have to create the parent.
 */
export function restoreStep(world: World, step: UndoStep, context: RestoreContext): Step {
  const { path, bytes, stamp, file } = context;
  let staged: Staged | undefined;
  let displaced: readonly Displaced[] = [];
  /** Parent folders that the step created, outermost first. */
  let folders: readonly Effect[] = [];
  return {
    action: context.action ?? 'undo',
    path,
    effects: effectsOf(step, context.sinceUs),
    stage: async () => {
      staged = await stage(world, step, { bytes, file });
    },
    unstage: () => {
      if (staged !== undefined) unstage(world, step, staged);
    },
    run: async () => {
      const outcome = await restore(world, step, { bytes, staged, stamp, open: true });
      if (!outcome.ok) return outcome;
      staged = undefined;
      displaced = outcome.displaced;
      folders = outcome.made;
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
      const effects = stayed || idle ? [] : [...made, ...effectsOf(step, context.sinceUs)];
      const done = { ok: true, effects, result, sightings, displaced } as const;
      return stayed ? { ...done, stayed: step.key, tombstones: [] } : { ...done, tombstones };
    },
    finish: () => closeFolder(world, step),
    revert: async () => {
      const isBack = await takeBack(world, step, displaced[0]);
      for (const { key, relative, after } of folders.toReversed())
        await restore(world, { key, relative, expect: after, restore: ABSENT });
      return isBack;
    },
    close: () => {},
  };
}

/**
 * Reverts the step: moves the replaced or removed file back. If that is impossible, restores the
 * previous state from the stored contents.
 */
async function takeBack(world: World, step: UndoStep, displaced: Displaced | undefined): Promise<boolean> {
  const { restore: after } = step;
  if (displaced !== undefined && (after.kind === 'absent' || after.kind === 'file')) {
    const ours = after.kind === 'file' ? after.fingerprint : undefined;
    const put = (place: Place): ReturnType<typeof putBackFile> =>
      putBackFile(world.disk, { ...place, opensOwn: true }, { displaced: displaced.file, ours });
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

/**
 * The changed paths that the journal records for a restore, each with its states before and after.
 * The fields of each effect are in alphabetical order, so that the journal need not sort them.
 */
export function effectsOf(step: UndoStep, sinceUs?: number): Effect[] {
  const { key, relative, expect, restore: after, from } = step;
  const before: Side = expect.kind === 'file' ? { ...expect, kept: true } : expect;
  if (from === undefined)
    return [{ after, before, key, relative, ...(sinceUs === undefined ? {} : { sinceUs }) }];
  // A rename stores no bytes.
  const moved: Side = after.kind === 'file' ? { ...after, kept: false } : after;
  return [
    { after: ABSENT, before: moved, key: from.key, movedTo: key, relative: from.relative },
    { after: moved, before: ABSENT, key, relative },
  ];
}

function goneWith({ key, restore: after }: UndoStep, { moving = [] }: RestoreContext): readonly string[] {
  return after.kind === 'absent' ? [key] : moving.map((seen) => seen.key);
}

/**
 * The sightings after a restore. If the session has not seen the restored bytes, it only knows that
 * the file exists: it may edit the file, but not overwrite it.
 */
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
