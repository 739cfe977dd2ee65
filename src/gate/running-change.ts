import { BATCH_FILES, batchContext, changeFailed } from '../disk/context.ts';
import { type MadeFolders, makeFolders } from '../disk/folders.ts';
import type { Committed } from '../disk/publication.ts';
import type { Conflict } from '../disk/replace.ts';
import { dropBuilt } from '../disk/take-folder.ts';
import type { Staged } from '../disk/temp-file.ts';
import { addEffects } from '../model/delta.ts';
import type { Effect } from '../model/entry.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import type { ChangeResult, Notice } from '../model/results.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import type { Displaced } from './announce.ts';
import { type AppliedDelta, applyDelta, closeFolder, isLeft } from './apply-delta.ts';
import { buildWhole, publishWhole, removeWhole, type WholeFolder, wholeFolders } from './apply-folder.ts';
import { conflictRefusal } from './conflict.ts';
import { atPath } from './found.ts';
import { madeEffects } from './parents.ts';
import type { ChangePlan, PlannedDelta } from './plan.ts';
import { stage, unstage } from './stage-delta.ts';
import { areTempsCleared, type DoneUnit, isReverted, type Unit } from './take-back.ts';
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

/** What a change has done, to be recorded. */
export interface DoneChange {
  readonly effects: readonly Effect[];
  readonly displaced: readonly Displaced[];
  readonly results: readonly Omit<ChangeResult, 'change'>[];
  readonly sightings: readonly Sighting[];
  readonly tombstones: readonly string[];
  /** Keys of folders that should be removed but are still in use. */
  readonly stayed: ReadonlySet<string>;
}

/** A change that is being applied: all of its deltas or none. */
export class RunningChange {
  readonly #world: World;
  readonly #units: readonly Unit[];
  readonly #plans: readonly ChangePlan[];
  readonly #freeReserve: () => void;
  readonly #staged = new Map<Unit, Staged>();
  readonly #built = new Map<Unit, string>();
  readonly #folders = new Map<Unit, MadeFolders>();
  readonly #done: DoneUnit[] = [];
  readonly #finished = new Set<Unit>();
  /** The unit that met a conflict or a Fault. */
  #failed: Unit | undefined;

  /** `freeReserve`: frees descriptors that were reserved for reverting. */
  constructor(world: World, plans: readonly ChangePlan[], freeReserve: () => void) {
    this.#world = world;
    this.#plans = plans;
    this.#freeReserve = freeReserve;
    this.#units = plans.flatMap((plan) => unitsOf(world, plan));
  }

  get isComplete(): boolean {
    return this.#done.length === this.#units.length;
  }

  /**
   * Applies the deltas in order and returns the refusal of the one that failed, if any. In a batch,
   * all new bytes are written and synced before the first file changes. After the last change, all
   * changed names are synced.
   */
  run(): Promise<Refusal | undefined> {
    return this.#world.disk.batch === undefined ? this.#runAll() : this.#runBatch();
  }

  async #runBatch(): Promise<Refusal | undefined> {
    const { disk } = this.#world;
    try {
      for (const unit of this.#units) await this.#stageUnit(unit);
      if (this.#staged.size > 0 || this.#built.size > 0) await this.#syncAll();
      const refusal = await this.#runAll();
      if (refusal === undefined) await this.#syncAll();
      else this.#freeReserve();
      return refusal;
    } catch (error) {
      this.#freeReserve();
      const [first] = this.#units;
      throw first === undefined || errnoOf(error) === undefined
        ? error
        : changeFailed(disk, error, first.delta.path);
    } finally {
      await this.unstage();
    }
  }

  async #stageUnit(unit: Unit): Promise<void> {
    const { whole } = unit;
    if (whole !== undefined) {
      const built = whole.course === 'in' ? await buildWhole(this.#world, whole) : undefined;
      if (built !== undefined) this.#built.set(unit, built);
      return;
    }
    const staged = await stage(this.#world, this.#withFolders(unit));
    if (staged !== undefined) this.#staged.set(unit, staged);
  }

  /**
   * The delta of a unit. Makes the missing folders of a new file, so that its bytes can be written
   * before the first file changes.
   */
  #withFolders(unit: Unit): PlannedDelta {
    const { delta } = unit;
    const { located, after } = delta;
    if (located === undefined || located.exists || located.missing.length < 2 || after.kind !== 'file')
      return delta;
    const folders =
      this.#folders.get(unit) ?? makeFolders(this.#world.disk, located.place, located.missing.slice(0, -1));
    this.#folders.set(unit, folders);
    const name = located.missing.at(-1) ?? '';
    const place = { ...located.place, dir: folders.dir, name };
    return { ...delta, located: { exists: false, place, missing: [name] } };
  }

  /**
   * Removes the temporary files that were not renamed to their final names. Starts with the last
   * one, because an earlier delta may have made the folder of a later one. Ignores system errors:
   * `takeBack` tries again.
   */
  async unstage(): Promise<void> {
    if (this.#staged.size + this.#built.size + this.#folders.size === 0) return;
    for (const unit of this.#units.toReversed())
      try {
        await this.#unstageUnit(unit);
      } catch (error) {
        if (!(error instanceof Fault) && errnoOf(error) === undefined) throw error;
      }
  }

  async #unstageUnit(unit: Unit): Promise<void> {
    const [staged, built] = [this.#staged.get(unit), this.#built.get(unit)];
    if (staged !== undefined) unstage(this.#world, this.#withFolders(unit), staged);
    if (built !== undefined)
      await atPath(this.#world, unit.delta.path, (place) => dropBuilt(this.#world.disk, place, built));
    this.#staged.delete(unit);
    this.#built.delete(unit);
    const folders = this.#folders.get(unit);
    if (folders !== undefined && !this.#finished.has(unit)) folders.undo();
  }

  async #runAll(): Promise<Refusal | undefined> {
    for (const unit of this.#units) {
      this.#world.locks.mustHold?.();
      this.#failed = unit;
      const { plan, delta, whole } = unit;
      const applied = await (whole === undefined ? this.#runDelta(unit) : this.#runWhole(unit, whole));
      if (!applied.ok)
        return conflictRefusal({ action: plan.action, path: plan.isTree ? plan.path : delta.path }, applied);
      this.#failed = undefined;
      this.#staged.delete(unit);
      this.#done.push({ unit, applied });
      this.#finished.add(unit);
    }
    for (const { delta, whole } of this.#units.toReversed())
      if (whole === undefined) closeFolder(this.#world, delta);
    return undefined;
  }

  /** Applies a whole folder. */
  async #runWhole(unit: Unit, whole: WholeFolder): Promise<AppliedDelta | Conflict> {
    if (whole.course === 'out') {
      const taken = await removeWhole(this.#world, whole);
      return taken.ok ? { ...NOTHING_MADE, taken } : taken;
    }
    const published = await publishWhole(this.#world, whole, this.#built.get(unit));
    if (!published.ok) return published;
    this.#built.delete(unit);
    return NOTHING_MADE;
  }

  #runDelta(unit: Unit): Promise<AppliedDelta | Conflict> {
    const folders = this.#folders.get(unit);
    if (folders !== undefined) return this.#runInside(unit, folders);
    return applyDelta(this.#world, unit.delta, { staged: this.#staged.get(unit) });
  }

  /** Applies one delta, in the folders that were made for it. */
  async #runInside(unit: Unit, folders: MadeFolders): Promise<AppliedDelta | Conflict> {
    await folders.sync();
    const staged = this.#staged.get(unit);
    const applied = await applyDelta(this.#world, this.#withFolders(unit), { staged });
    const { located } = unit.delta;
    if (!applied.ok || located === undefined) return applied;
    return { ...applied, made: [...madeEffects(located, folders), ...applied.made] };
  }

  async #syncAll(): Promise<void> {
    const { disk } = this.#world;
    if (disk.batch === 'none') return;
    await disk.sync.sync([disk.retained, ...new Set(this.#units.map(({ delta }) => delta.path.root))]);
  }

  /** What was done, after all deltas were applied. */
  get done(): DoneChange {
    const [effects, displaced]: [Effect[], Displaced[]] = [[], []];
    const stayed = new Set<string>();
    const byPlan = new Map<ChangePlan, AppliedDelta[]>();
    const committed = new Map<string, Committed>();
    for (const done of this.#done) {
      const { applied, unit } = done;
      const { taken } = applied;
      addEffectsDone(effects, done);
      if (taken !== undefined) displaced.push(...taken.displaced);
      if (applied.displaced !== undefined) displaced.push(applied.displaced);
      if (applied.stayed) stayed.add(unit.delta.key);
      if (applied.committed !== undefined) committed.set(unit.delta.key, applied.committed);
      const own = byPlan.get(unit.plan);
      if (own === undefined) byPlan.set(unit.plan, [applied]);
      else own.push(applied);
    }
    const results = this.#plans.map((plan) => resultOf(plan, byPlan.get(plan) ?? []));
    return { effects, displaced, results, ...this.#knowledge(stayed, committed), stayed };
  }

  /** What the session knows after the change. */
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
    const failed = this.#failed;
    if (failed !== undefined && failed.whole === undefined && isLeft(this.#world, failed.delta))
      left.push(failed.delta.path.relative);
    const world = this.#world;
    for (const done of this.#done.toReversed())
      if (!(await isReverted(world, done))) left.push(done.unit.delta.path.relative);
      else this.#folders.get(done.unit)?.undo();
    await this.unstage();
    const cleared = this.#units.map(({ delta }) => areTempsCleared(world, delta));
    return { left, isClear: cleared.every((isClear) => isClear) };
  }

  /** Closes the folders that are open. Call it after the change is recorded or reverted. */
  close(): void {
    for (const folders of this.#folders.values()) folders.close();
  }
}

const NOTHING_MADE: AppliedDelta = { ok: true, made: [] };

/** The pieces in which a plan is applied, in order. */
function unitsOf(world: World, plan: ChangePlan): readonly Unit[] {
  const { deltas } = plan;
  const whole = deltas.length < 2 ? undefined : wholeFolders(world, deltas, plan.isTree ? 'as tree' : 'each');
  const members = new Set([...(whole?.values() ?? [])].flatMap(({ inside }) => inside));
  return deltas.flatMap((delta) => (members.has(delta) ? [] : [{ plan, delta, whole: whole?.get(delta) }]));
}

function addEffectsDone(effects: Effect[], { unit, applied }: DoneUnit): void {
  const { delta, whole } = unit;
  const { stayed, idle, made, committed, folderMode } = applied;
  if (stayed || idle) return;
  for (const each of made) effects.push(each);
  if (whole?.course === 'out') for (const each of whole.inside) addEffects(effects, each);
  addEffects(effects, { ...delta, after: withMode(delta, committed?.mode ?? folderMode) });
  if (whole?.course === 'in') for (const each of whole.inside) addEffects(effects, each);
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
