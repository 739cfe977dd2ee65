import { dirname } from 'node:path';
import { BATCH_FILES, batchContext, severalContext } from '../disk/context.ts';
import type { Conflict } from '../disk/replace.ts';
import type { Effect } from '../model/entry.ts';
import type { ResolvedPath } from '../model/path.ts';
import type { Policy } from '../model/policy.ts';
import type { ChangeResult, Notice } from '../model/results.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Action, Refusal } from '../model/verdict.ts';
import type { World } from './world.ts';

/** One allowed change, ready to run under the lock. */
export interface Step {
  readonly action: Action;
  readonly path: ResolvedPath;
  /** The planned effects, announced before any file is touched. Empty if nothing will change. */
  readonly effects: readonly Effect[];
  /** The file's bytes afterwards, if the step writes one file. */
  readonly bytes?: Uint8Array;
  /** The session's sighting of these bytes. */
  readonly seen?: Pick<Sighting, 'coverage' | 'totalLines' | 'flags' | 'how' | 'pages'> | undefined;
  /** Further result fields of an edit, as far as they are already known. */
  readonly more?: Pick<ChangeResult, 'replaced' | 'tier' | 'inserted' | 'diff'> | undefined;
  /** Notices known before the step runs. They are also part of the result. */
  readonly notices?: readonly Notice[];
  /** The result on a text file, with a bounded diff, for dry runs. */
  preview?(): Pick<ChangeResult, 'diff' | 'sizeBytes' | 'replaced' | 'inserted'>;
  /**
   * In a batch: writes new bytes to temporary files, so that the files of all steps are synced together before `run`.
   */
  stage?(): Promise<void>;
  /** Removes staged files that were not published. */
  unstage?(): void | Promise<void>;
  /** Changes the disk. After a conflict or a Fault nothing of this step remains, unless `isLeft` returns true. */
  run(): Promise<Done | Conflict>;
  /** After a conflict or a Fault: whether something could not be reverted, so that the change stays pending. */
  isLeft?(): boolean;
  /**
   * Reverts the step, because a later step failed or the change could not be recorded. Returns false if another program
   * has changed the file since.
   */
  revert(): Promise<boolean>;
  /** Releases held resources. */
  close(): void;
}

export interface Done {
  readonly ok: true;
  /** The real effects, if they differ from the announced ones. */
  readonly effects?: readonly Effect[];
  /** The key of a folder that should be removed but is still in use. */
  readonly stayed?: string;
  readonly result: Omit<ChangeResult, 'change'>;
  /** The session's sightings afterwards. */
  readonly sightings: readonly Sighting[];
  /** Keys of files that the session knows to be gone. */
  readonly tombstones: readonly string[];
  /** Files that left the workspace, to be kept as before-images. */
  readonly displaced: readonly Displaced[];
}

export interface Displaced {
  /** Path outside the workspace. */
  readonly file: string;
  readonly sha256: string;
  readonly size: number;
  /** Its bytes, if they are in memory. */
  readonly bytes?: Uint8Array;
}

export interface DoneStep {
  readonly step: Step;
  readonly outcome: Done;
}

/**
 * Returns the world for a change of `files` files: many files are synced together, unless each must be complete before
 * the next is written (`in order`). The steps and `carryOut` must get the same world.
 */
export async function worldFor(
  world: World,
  files: number,
  how: 'together' | 'in order' = 'together',
): Promise<World> {
  const { disk } = world;
  if (files < 2 || disk.batch !== undefined) return world;
  const isBatch = how === 'together' && files >= BATCH_FILES && (await disk.sync.works(disk.retained));
  return { ...world, disk: isBatch ? batchContext(disk) : severalContext(disk) };
}

/**
 * Runs the steps in order and returns the refusal of the one that failed, if any. `done` collects the completed steps.
 * In a batch, all new bytes are written and synced before the first file changes, and all names are synced after the
 * last.
 */
export async function runSteps(
  world: World,
  steps: readonly Step[],
  done: DoneStep[],
): Promise<Refusal | undefined> {
  if (world.disk.batch === undefined) return runAll(world, steps, done);
  try {
    world.disk.litter.expect(steps.map(({ path }) => dirname(path.absolute)));
    for (const step of steps) await step.stage?.();
    await syncAll(world, steps);
    const refusal = await runAll(world, steps, done);
    if (refusal === undefined) await syncAll(world, steps);
    return refusal;
  } finally {
    // Last step first: a folder that an early step made for several files is empty only after the others.
    for (const step of steps.toReversed()) await step.unstage?.();
  }
}

async function runAll(
  { locks }: World,
  steps: readonly Step[],
  done: DoneStep[],
): Promise<Refusal | undefined> {
  for (const step of steps) {
    locks.mustHold?.();
    const outcome = await step.run();
    if (!outcome.ok) return conflictRefusal(step, outcome);
    done.push({ step, outcome });
  }
  return undefined;
}

async function syncAll({ disk }: World, steps: readonly Step[]): Promise<void> {
  if (disk.batch === 'none') return;
  await disk.sync.sync([disk.retained, ...new Set(steps.map(({ path }) => path.root))]);
}

/** Policy settings that one call may change for itself. */
export type CallSettings = Partial<Pick<Policy, 'seen' | 'staleness'>>;

export function withSettings(world: World, settings: CallSettings | undefined): World {
  return settings === undefined ? world : { ...world, policy: { ...world.policy, ...settings } };
}

type Refused = Pick<Step, 'action' | 'path'>;

/**
 * The refusal when another program changed the file between the last check and our change. Nothing of our change was
 * done. The refusal names the files that were set aside.
 */
export function conflictRefusal(step: Refused, conflict: Conflict): Refusal {
  const refusal = refusalOf(step, conflict);
  if (conflict.retained.length === 0) return refusal;
  return { ...refusal, detail: { ...refusal.detail, kept: conflict.retained } };
}

function refusalOf(step: Refused, conflict: Conflict): Refusal {
  const base = { action: step.action, path: step.path.given };
  switch (conflict.reason) {
    case 'changed':
      return {
        ...base,
        code: 'STALE',
        next: 'read_again',
        detail: { reason: 'it changed while it was being written' },
      };
    case 'missing':
      return {
        ...base,
        code: 'DELETED',
        next: 'read_again',
        detail: { reason: 'it was deleted while it was being written' },
      };
    case 'exists':
      return {
        ...base,
        code: 'ALREADY_EXISTS',
        next: 'read',
        detail: { reason: 'another program created it at the same moment' },
      };
    case 'kind':
      return {
        ...base,
        code: 'NOT_A_FILE',
        next: 'other_path',
        ...(conflict.kind === undefined ? {} : { detail: { kind: conflict.kind } }),
      };
    case 'read-only':
      return { ...base, code: 'READ_ONLY', next: 'ask_human' };
    case 'denied':
      return {
        ...base,
        code: 'UNVERIFIABLE',
        next: 'ask_human',
        ...(conflict.errno === undefined ? {} : { detail: { errno: conflict.errno } }),
      };
    default:
      return conflict.reason satisfies never;
  }
}
