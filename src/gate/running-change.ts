import { BATCH_FILES, batchContext, changeFailed } from '../disk/context.ts';
import { clearTemps } from '../disk/names.ts';
import { type Committed, type Conflict, putBackFile } from '../disk/replace.ts';
import type { Staged } from '../disk/temp-file.ts';
import { addDelta, type Delta, inverse } from '../model/delta.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import type { Place, ResolvedPath } from '../model/path.ts';
import type { ChangeResult, Notice } from '../model/results.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import type { Located } from '../workspace/workspace.ts';
import type { Displaced } from './announce.ts';
import {
  type AppliedDelta,
  applyDelta,
  atDelta,
  closeFolder,
  isLeft,
  isOpenFolder,
  stage,
  unstage,
} from './apply-delta.ts';
import { conflictRefusal } from './conflict.ts';
import { atPath, isBelowNoFolder } from './found.ts';
import { type ChangePlan, foldersAround, type PlannedDelta } from './plan.ts';
import type { World } from './world.ts';

/**
 * Returns the `World` (store, disk, policy) for a change of `files` files. Many files are synced
 * together, except with `in order`: then each is complete before the next is written.
 */
export async function worldFor(
  world: World,
  files: number,
  how: 'together' | 'in order' = 'together',
): Promise<World> {
  const { disk } = world;
  if (files < 2 || disk.batch !== undefined) return world;
  if (how === 'in order' || files < BATCH_FILES) return world;
  const isBatch = await disk.sync.works(disk.retained);
  return { ...world, disk: isBatch ? batchContext(disk) : disk };
}

/** The effects of a change, to be recorded. */
export interface DoneChange {
  readonly deltas: readonly Delta[];
  readonly displaced: readonly Displaced[];
  readonly results: readonly Omit<ChangeResult, 'change'>[];
  readonly sightings: readonly Sighting[];
  readonly tombstones: readonly string[];
  /** Keys of folders that should be removed but are still in use. */
  readonly stayed: ReadonlySet<string>;
}

/** A planned delta, with its temporary file and what was applied for it. */
interface RunningDelta {
  readonly plan: ChangePlan;
  readonly delta: PlannedDelta;
  /** The delta itself, after the missing folders around it. */
  readonly applied: DoneDelta[];
  staged?: Staged | undefined;
  isDone: boolean;
}

interface DoneDelta {
  readonly delta: PlannedDelta;
  readonly applied: AppliedDelta;
}

/** A change that is being applied: all of its deltas or none. */
export class RunningChange {
  readonly #world: World;
  readonly #steps: readonly RunningDelta[];
  readonly #plans: readonly ChangePlan[];
  readonly #freeReserve: () => void;
  /** Everything that was applied, in order. */
  readonly #done: DoneDelta[] = [];
  /** The delta that met a conflict or a Fault. */
  #failed: PlannedDelta | undefined;

  /** `freeReserve`: frees descriptors that were reserved for reverting. */
  constructor(world: World, plans: readonly ChangePlan[], freeReserve: () => void) {
    this.#world = world;
    this.#plans = plans;
    this.#freeReserve = freeReserve;
    this.#steps = plans.flatMap((plan) =>
      plan.deltas.map((delta): RunningDelta => ({ plan, delta, applied: [], isDone: false })),
    );
  }

  get isComplete(): boolean {
    return this.#steps.every(({ isDone }) => isDone);
  }

  /**
   * Applies the deltas in order and returns the refusal of the one that failed, if any. In a batch,
   * all new bytes are written and synced before the first file changes. After the last change, all
   * changed names are synced.
   */
  async run(): Promise<Refusal | undefined> {
    const isBatch = this.#world.disk.batch !== undefined;
    if (isBatch) await this.#writeAhead();
    for (const step of this.#steps) {
      if (step.isDone) continue;
      const refusal = await this.#run(step);
      if (refusal !== undefined) return refusal;
    }
    for (const { delta } of this.#steps.toReversed())
      if (isOpenFolder(delta)) await closeFolder(this.#world, delta);
    if (isBatch) await this.#syncAll();
    return undefined;
  }

  /** Makes the new folders whose paths are free, and writes the bytes of all new files beside their places. */
  async #writeAhead(): Promise<void> {
    try {
      for (const step of this.#steps) await this.#prepare(step);
      if (this.#steps.some(({ staged, isDone }) => isDone || staged !== undefined)) await this.#syncAll();
    } catch (error) {
      const [first] = this.#steps;
      throw first === undefined || errnoOf(error) === undefined
        ? error
        : changeFailed(this.#world.disk, error, first.delta.path);
    }
  }

  async #prepare(step: RunningDelta): Promise<void> {
    const { before, after, movedFrom } = step.delta;
    if (before.kind === 'absent' && after.kind === 'directory' && movedFrom === undefined) {
      const isFree = await atDelta(this.#world, step.delta, ({ exists }) => !exists, false);
      if (isFree) await this.#run(step);
      return;
    }
    if (before.kind === 'absent' && after.kind === 'file' && movedFrom === undefined)
      await this.#makeFoldersFor(step);
    step.staged = await stage(this.#world, step.delta);
  }

  /** Applies the delta of a step. Returns the refusal if its path is not as expected. */
  async #run(step: RunningDelta): Promise<Refusal | undefined> {
    const { plan, delta, staged } = step;
    this.#world.locks.mustHold?.();
    this.#failed = delta;
    const isNew = delta.before.kind === 'absent' && delta.after.kind !== 'absent';
    const conflict = isNew && staged === undefined ? await this.#makeFoldersFor(step) : undefined;
    const applied = conflict ?? (await applyDelta(this.#world, delta, { staged }));
    if (!applied.ok) return conflictRefusal({ action: plan.action, path: delta.path }, applied);
    this.#note(step, delta, applied);
    this.#failed = undefined;
    step.staged = undefined;
    step.isDone = true;
    return undefined;
  }

  /** Makes the missing folders around the path that a delta fills. */
  async #makeFoldersFor(step: RunningDelta): Promise<Conflict | undefined> {
    const { delta } = step;
    const around = (located: Located) =>
      foldersAround({ ...delta, missing: located.exists ? undefined : located.missing });
    for (const folder of await atDelta(this.#world, delta, around, [])) {
      const applied = await applyDelta(this.#world, folder);
      if (!applied.ok) return applied;
      this.#note(step, folder, applied);
    }
    return undefined;
  }

  #note(step: RunningDelta, delta: PlannedDelta, applied: AppliedDelta): void {
    step.applied.push({ delta, applied });
    this.#done.push({ delta, applied });
  }

  async #syncAll(): Promise<void> {
    const { disk } = this.#world;
    if (disk.batch === 'none') return;
    await disk.sync.sync([disk.retained, ...new Set(this.#steps.map(({ delta }) => delta.path.root))]);
  }

  /** The effects of the change, after all deltas were applied. */
  get done(): DoneChange {
    const [deltas, displaced]: [Delta[], Displaced[]] = [[], []];
    const stayed = new Set<string>();
    const committed = new Map<string, Committed>();
    for (const { delta, applied } of this.#steps.flatMap((step) => step.applied)) {
      addDeltaDone(deltas, delta, applied);
      if (applied.displaced !== undefined) displaced.push(applied.displaced);
      if (applied.stayed) stayed.add(delta.key);
      if (applied.committed !== undefined) committed.set(delta.key, applied.committed);
    }
    const results = this.#plans.map((plan) =>
      resultOf(
        plan,
        this.#steps.flatMap((step) => (step.plan === plan ? step.applied.map(({ applied }) => applied) : [])),
      ),
    );
    return { deltas, displaced, results, ...this.#knowledge(stayed, committed), stayed };
  }

  /** The session's knowledge after the change. */
  #knowledge(
    stayed: ReadonlySet<string>,
    committed: ReadonlyMap<string, Committed>,
  ): Pick<DoneChange, 'sightings' | 'tombstones'> {
    const sightings: Sighting[] = [];
    const gone = new Set<string>();
    for (const plan of this.#plans) {
      for (const seen of plan.sightings) sightings.push(withStamp(seen, committed.get(seen.key)));
      for (const key of plan.tombstones) if (!stayed.has(key)) gone.add(key);
    }
    // One delta may write to a path that another one emptied.
    if (gone.size > 0) for (const { key } of sightings) gone.delete(key);
    return { sightings, tombstones: [...gone] };
  }

  /**
   * Reverts what was done, last delta first, and returns the paths where that failed. Each entry
   * that left its path gets the path back. `isClear`: no temporary file is left.
   */
  async takeBack(): Promise<{ readonly left: readonly string[]; readonly isClear: boolean }> {
    this.#freeReserve();
    const left: string[] = [];
    const [world, failed] = [this.#world, this.#failed];
    if (failed !== undefined && (await isLeft(world, failed))) left.push(failed.path.relative);
    // Temporary files come first: they may be in folders that this change has made.
    for (const { delta, staged } of this.#steps)
      if (staged !== undefined) await ignoringErrno(() => unstage(world, delta, staged));
    for (const done of this.#done.toReversed())
      if (!(await isReverted(world, done))) left.push(done.delta.path.relative);
    const cleared = this.#steps.map(({ delta }) => areTempsCleared(world, delta));
    return { left, isClear: cleared.every((isClear) => isClear) };
  }
}

/** Ignores system errors: `areTempsCleared` tries again. */
async function ignoringErrno(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Fault) && errnoOf(error) === undefined) throw error;
  }
}

function addDeltaDone(
  deltas: Delta[],
  delta: PlannedDelta,
  { stayed, idle, committed, folderMode }: AppliedDelta,
): void {
  if (!stayed && !idle) addDelta(deltas, { ...delta, after: withMode(delta, committed?.mode ?? folderMode) });
}

/** The state after a delta, with the mode that the file or folder really got. */
function withMode({ after, mode }: PlannedDelta, real: number | undefined): PlannedDelta['after'] {
  if (real === undefined || mode === 'asBefore') return after;
  if (after.kind === 'file') return { ...after, mode: real };
  return after.kind === 'directory' && mode === 'default' ? { ...after, mode: real } : after;
}

function resultOf({ result }: ChangePlan, done: readonly AppliedDelta[]): Omit<ChangeResult, 'change'> {
  const [notices, isIdle]: [Notice[], boolean[]] = [[], []];
  for (const { committed, idle } of done) {
    if (committed !== undefined) notices.push(...committed.notices);
    isIdle.push(idle === true);
  }
  const told = notices.length === 0 ? result : { ...result, notices: [...result.notices, ...notices] };
  // Another program has made or removed every folder of this plan already.
  return isIdle.length === 0 || isIdle.includes(false) ? told : { ...told, changed: false, created: false };
}

/** Adds the stamp of the new file to a sighting of its bytes. */
function withStamp(seen: Sighting, committed: Committed | undefined): Sighting {
  if (committed === undefined || seen.fingerprint?.sha256 !== committed.fingerprint.sha256) return seen;
  return { ...seen, stamp: committed.stamp, racy: committed.racy };
}

/** Takes back what was applied. Returns false if another program has changed it since. */
async function isReverted(world: World, { delta, applied }: DoneDelta): Promise<boolean> {
  const { displaced, stayed, idle } = applied;
  const { after, path } = delta;
  if (stayed || idle) return true;
  try {
    if (displaced !== undefined && (after.kind === 'absent' || after.kind === 'file')) {
      const ours = after.kind === 'file' ? after.fingerprint : undefined;
      const back = await atPath(world, path, (place: Place) =>
        putBackFile(world.disk, { ...place, opensOwn: true }, { displaced: displaced.file, ours }),
      );
      if (back === 'back') return true;
      if (back !== 'unavailable') return false;
    }
    return (await applyDelta(world, backOf(world, delta), { ours: true })).ok;
  } catch {
    // Ignore the error: the next process that locks the file compares it and completes the record.
    return false;
  }
}

/** The planned delta that takes a delta back. */
function backOf({ workspace }: World, delta: PlannedDelta): PlannedDelta {
  const { path: there, was } = delta;
  const back = inverse(delta);
  const path = delta.movedFrom === undefined ? there : workspace.named(back.key, back.relative);
  return {
    ...back,
    path,
    mode: 'asBefore',
    ...(was && { bytes: () => was.bytes }),
  };
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
  const clear = (located: Located): boolean => {
    // Without its folder, nothing can be beside the path.
    const isGone = located.place.path.key !== key || (!located.exists && located.missing.length > 1);
    return isGone || clearTemps(world.disk, located.place) === 'clear';
  };
  const at = { path: absolute, action: 'undo', links: 'parents' } as const;
  return world.workspace.atOnce(at, clear, () => isBelowNoFolder(world, key));
}
