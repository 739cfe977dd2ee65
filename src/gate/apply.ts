import { BATCH_FILES, batchContext, changeFailed, reserveDescriptors } from '../disk/context.ts';
import { type Committed, type Conflict, putBackFile } from '../disk/replace.ts';
import type { Staged } from '../disk/temp-file.ts';
import { notLocked } from '../lock/locks.ts';
import { addDelta, type Delta, endsOf, inverse, type State } from '../model/delta.ts';
import type { NewChangeEntry, NewEntry, Undone } from '../model/entry.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import type { Place, ResolvedPath } from '../model/path.ts';
import { defined } from '../model/record.ts';
import type { ApplyResult, ChangeResult } from '../model/results.ts';
import type { Sighting } from '../model/sighting.ts';
import { type Action, type Outcome, passOn, type Refusal } from '../model/verdict.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Located } from '../workspace/workspace.ts';
import { announce, bypassEntries, type Displaced, newChangeId } from './announce.ts';
import {
  type AppliedDelta,
  applyDelta,
  areTempsCleared,
  atDelta,
  closeFolder,
  isLeft,
  isOpenFolder,
  stage,
  unstage,
} from './apply-delta.ts';
import { type Approved, type ApprovedStep, approvalsOf, type MissingApproval } from './approval.ts';
import { type ClaimNotice, withClaimNotices } from './claims.ts';
import { atPath } from './found.ts';
import { type ChangePlan, deltasOfPlan, foldersAround, type PlannedDelta } from './plan.ts';
import type { World } from './world.ts';

/** A message names at most this many files and counts the rest. */
const MAX_NAMED = 20;

/** A judged change: its plans, and what the journal says of it. */
interface PlannedChange {
  readonly plans: readonly ChangePlan[];
  /** Keys whose locks the caller holds. */
  readonly locked: readonly string[];
  /** Further journal entries, written together with the entry of the change. */
  readonly entries?: readonly NewEntry[];
  /** The changes that an undo takes back, and the keys it covers. */
  readonly undo?: {
    readonly undone: Undone;
    readonly keys: readonly string[];
    /** The turn to which a rewind returns. */
    readonly rewindTo?: string;
  };
  /** The undone part, if an undo takes back only a part of a change. */
  readonly undoesPart?: NonNullable<NewChangeEntry['undoesPart']>;
  /**
   * Set if the change commits a command's writes: the command's text, the id of the change, and what
   * the command has changed already, because no layer held it back.
   */
  readonly command?: { readonly change: string; readonly text: string; readonly made: readonly Delta[] };
}

/** The result of a change. `stayed`: keys of folders that should be removed but are still in use. */
type Applied = ApplyResult & { readonly stayed: ReadonlySet<string> };

/**
 * Makes a change: all of its deltas or none. First records what is about to happen, so that another
 * process can complete or revert the change if this one dies. Then applies the deltas, and records
 * what they did. On failure, reverts the applied deltas.
 */
export async function apply(
  world: World,
  knowledge: Knowledge,
  work: PlannedChange,
): Promise<Outcome<Applied>> {
  const change = work.command?.change ?? newChangeId();
  const deltas = [...once(work.plans.flatMap(deltasOfPlan)), ...(work.command?.made ?? [])];
  const [first] = work.plans;
  if (first === undefined || deltas.length === 0) return unchanged(world, knowledge, work);
  const entry = entryOf(world, knowledge, { work, first, change, deltas });
  for (const { path } of work.plans.flatMap((plan) => plan.deltas)) mustStand(world, path.root);
  const running = new RunningChange({ ...world, disk: { ...world.disk, change } }, work.plans);
  try {
    // The record of the begun change is the list of its temporary files, so it comes first.
    await announce(world, { change, entry, owner: world.owner, locked: work.locked });
    let refusal: Refusal | undefined;
    try {
      refusal = await running.run();
      if (refusal === undefined) {
        const { done } = running;
        const settled = settledEntry(work, entry, done);
        const gone = { keys: done.tombstones, atMs: world.now() };
        const entries = entriesOf(work, settled);
        await knowledge.record(done.sightings, { entries, settle: [change] }, gone);
        remember(world, work.plans, done.displaced);
        return outcomeOf(done, settled);
      }
    } catch (error) {
      // If all deltas are applied, the unanswered call is the last record. It may have been stored.
      if (running.isComplete && isUnanswered(error)) throw keptAsDone(error);
      throw await takenBack(world, running, { change, error });
    }
    const left = await takeBack(world, running, change);
    if (left.length > 0) throw notTakenBack(refusal, left);
    return { ok: false, refusal };
  } finally {
    running.close();
  }
}

/** Reserves file descriptors for reverting deltas, before the first one is applied. */
function reserveForReverting(): () => void {
  try {
    return reserveDescriptors();
  } catch (error) {
    const reason = errnoOf(error);
    if (reason === undefined) throw error;
    const message = 'this process has too many open files to change several files safely (EMFILE)';
    throw new Fault('IO_FAILED', message, { cause: error, reason, unchanged: true });
  }
}

function outcomeOf({ results, stayed }: DoneChange, { change, deltas }: NewChangeEntry): Outcome<Applied> {
  // Without deltas no entry is written, so there is no change that the id could name.
  const id = deltas.length === 0 ? {} : { change };
  const named = results.map((result) => (result.changed ? Object.assign({}, id, result) : result));
  return { ok: true, dryRun: false, results: named, ...id, stayed };
}

/** Removes duplicate deltas: several steps may need the same folder, but it is made once. */
function once(deltas: readonly Delta[]): readonly Delta[] {
  if (deltas.length < 2) return deltas;
  const made = new Set<string>();
  return deltas.filter(({ key, before, after, movedFrom }) => {
    // Keep both deltas if an undo creates a folder, removes it and creates it again.
    if (after.kind === 'absent') made.delete(key);
    if (movedFrom !== undefined) made.delete(movedFrom.key);
    if (before.kind !== 'absent' || after.kind !== 'directory') return true;
    const isNew = !made.has(key);
    made.add(key);
    return isNew;
  });
}

/** The journal entry of a change. Its fields are in alphabetical order, so that the journal need not sort them. */
function entryOf(
  world: World,
  knowledge: Knowledge,
  {
    work,
    first,
    change,
    deltas,
  }: { work: PlannedChange; first: ChangePlan; change: string; deltas: readonly Delta[] },
): NewChangeEntry {
  const { undo, undoesPart, command } = work;
  // Prefer the root and path of a delta outside the extra roots: one of these, such as the git folder that
  // worktrees share, is no workspace.
  const { extraRoots } = world.workspace;
  const outside =
    extraRoots.length === 0
      ? undefined
      : first.deltas.find(({ path: { root } }) => !extraRoots.includes(root));
  const { path } = outside ?? first;
  const entry: { -readonly [K in keyof NewChangeEntry]: NewChangeEntry[K] } = {
    action: undo === undefined ? first.action : 'undo',
    atMs: world.now(),
    change,
    deltas,
    kind: 'change',
    path: path.relative,
    root: path.root,
    session: knowledge.session,
  };
  if (undo?.rewindTo !== undefined) entry.rewindTo = undo.rewindTo;
  if (command !== undefined) entry.text = command.text;
  if (knowledge.turn !== undefined) entry.turn = knowledge.turn;
  if (undo?.undone.changes[0] !== undefined) entry.undoes = undo.undone.changes[0];
  if (undoesPart !== undefined) entry.undoesPart = undoesPart;
  if (undo !== undefined) entry.undone = undo.undone;
  return entry;
}

function settledEntry(
  { undo, command }: PlannedChange,
  entry: NewChangeEntry,
  done: DoneChange,
): NewChangeEntry {
  const deltas = [...once(done.deltas), ...(command?.made ?? [])];
  const { stayed } = done;
  const settled = { ...entry, deltas, ...noticesOf(done) };
  if (undo === undefined || stayed.size === 0) return settled;
  // A folder that an undo kept because it is in use does not count as undone.
  return { ...settled, undone: { ...undo.undone, keys: undo.keys.filter((key) => !stayed.has(key)) } };
}

/** The kinds of the caller's notices, and the size of their diffs: the journal contains no file content. */
function noticesOf({ results }: DoneChange): Pick<NewChangeEntry, 'notices' | 'diffBytes'> {
  const notices = results.flatMap((result) => result.notices);
  if (notices.length === 0) return {};
  const diffs = notices.flatMap((notice) => (notice.kind === 'changed-elsewhere' ? [notice.diff] : []));
  return {
    notices: [...new Set(notices.map(({ kind }) => kind))],
    ...(diffs.length === 0 ? {} : { diffBytes: Buffer.byteLength(diffs.join('\n')) }),
  };
}

/** The entry of a change, and those to record with it. */
function entriesOf({ plans, entries = [] }: PlannedChange, entry: NewChangeEntry): readonly NewEntry[] {
  const { change, session, turn, atMs } = entry;
  const like = { session, atMs, change, ...(turn === undefined ? {} : { turn }) };
  return [
    ...(entry.deltas.length === 0 ? [] : [entry]),
    ...bypassEntries(plans.map(allowedBy), like),
    ...entries,
  ];
}

/**
 * True if the store's answer was lost, so that the change may or may not be recorded. Such a change
 * is not reverted: that could contradict the journal. If no record exists, a later process writes
 * it.
 */
function isUnanswered(error: unknown): error is Fault {
  return error instanceof Fault && error.code === 'STORE_FAILED' && error.reason === 'unanswered';
}

function keptAsDone(error: Fault): Fault {
  const message = `${error.message}; the change was made, and it is not known whether it was recorded: read the files again`;
  return new Fault(error.code, message, { cause: error, reason: 'unanswered' });
}

/** Reverts the applied deltas. Returns the error to throw, which says whether files are still changed. */
async function takenBack(
  world: World,
  running: RunningChange,
  { change, error }: { readonly change: string; readonly error: unknown },
): Promise<unknown> {
  const left = await takeBack(world, running, change);
  if (!(error instanceof Fault)) return error;
  const { code, message, path, reason } = error;
  const unchanged = left.length === 0;
  const result = unchanged ? 'nothing was changed' : stillChanged(left);
  return new Fault(code, `${message}; ${result}`, { cause: error, unchanged, ...defined({ path, reason }) });
}

function stillChanged(left: readonly string[]): string {
  const more = left.length > MAX_NAMED ? ` and ${left.length - MAX_NAMED} more` : '';
  return `these files could not be reverted, read them again: ${left.slice(0, MAX_NAMED).join(', ')}${more}`;
}

/**
 * Reverts the applied deltas, and returns the paths where that failed. If any failed, or if a
 * temporary file is left, the change stays pending: the next process that locks one of its files
 * cleans up and completes the record.
 */
async function takeBack(world: World, running: RunningChange, change: string): Promise<readonly string[]> {
  const { left, isClear } = await running.takeBack();
  if (left.length === 0 && isClear) {
    await world.store.record({ settle: [change] }).catch((error: unknown) => {
      // Report the original error, not this second failure of the store.
      if (!(error instanceof Fault)) throw error;
    });
  }
  return left;
}

function mustStand({ workspace }: World, root: string): void {
  if (workspace.stands(root)) return;
  const message = `the workspace folder ${root} was moved, replaced or deleted since it was opened; nothing was changed: open it again`;
  throw new Fault('IO_FAILED', message, { path: root, reason: 'ESTALE' });
}

function notTakenBack({ path, code }: Refusal, left: readonly string[]): Fault {
  const message = `${path} could not be changed (${code}), and earlier steps could not be reverted; ${stillChanged(left)}`;
  return new Fault('IO_FAILED', message, { path });
}

function allowedBy({ action, path, result }: ChangePlan): Parameters<typeof bypassEntries>[0][number] {
  return { action, path, notices: result.notices };
}

/** Remembers the bytes of written files, for later diffs, and watches the displaced files for late writes. */
function remember(
  { baselines, lateWatch }: World,
  plans: readonly ChangePlan[],
  displaced: readonly Displaced[] = [],
): void {
  for (const { bytes } of plans) if (bytes !== undefined) baselines.remember(bytes.fingerprint, bytes.bytes);
  for (const { file } of displaced) lateWatch.watch(file);
}

/** The result when every file already has the requested content. */
async function unchanged(
  world: World,
  knowledge: Knowledge,
  { plans }: PlannedChange,
): Promise<Outcome<Applied>> {
  for (const plan of plans) {
    const bypassed = bypassEntries([allowedBy(plan)], { ...knowledge.author, atMs: world.now() });
    await knowledge.record(plan.sightings, bypassed.length === 0 ? {} : { entries: bypassed });
  }
  remember(world, plans);
  return { ok: true, dryRun: false, results: plans.map(({ result }) => result), stayed: new Set() };
}

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

/**
 * The outcome of the change, or the reason why nothing is changed. `needs`: further locks are needed.
 * `missing`: the user's approval is missing. `busy`: another session works on a file. `conflict`: a file changed after it was judged.
 */
type Told =
  | Outcome<ApplyResult>
  | { readonly needs: readonly string[] }
  | { readonly missing: MissingApproval }
  | { readonly busy: Refusal }
  | { readonly conflict: Refusal };

/**
 * Applies judged plans, unless the user's approval is missing or another session's work on a file
 * forbids them. Records the approvals and the notices about that work together with the change.
 */
export async function applyTold(
  world: World,
  knowledge: Knowledge,
  {
    approved,
    signal,
    ...work
  }: Pick<PlannedChange, 'plans' | 'locked'> & {
    /** The user's approvals so far. The user is asked without holding locks, because the answer may take minutes. */
    readonly approved: Approved;
    readonly signal: AbortSignal | undefined;
  },
): Promise<Told> {
  const deltas = work.plans.flatMap(deltasOfPlan);
  const needs = notLocked(deltas.flatMap(endsOf), work.locked);
  if (needs.length > 0) return { needs };
  signal?.throwIfAborted();
  const approvals =
    world.policy.approve.length === 0
      ? NO_APPROVALS
      : await approvalsOf(world, knowledge, { steps: work.plans.map(approvable), approved });
  if ('missing' in approvals) return approvals;
  const concerned = world.claims.concern(knowledge, deltas);
  const claims = concerned ? await claimsOn(world, knowledge, work.plans) : [];
  if ('refusal' in claims) return { busy: claims.refusal };
  const notices = claims.flat();
  const entries = [...approvals.entries, ...notices.map(({ entry }) => entry)];
  // The notices of these plans quote lines of other programs, which count only when the call is answered.
  for (const { path, untold } of work.plans) if (untold !== undefined) knowledge.tells(path.key, untold);
  const outcome = await apply(world, knowledge, { entries, ...work });
  if (!outcome.ok) return { conflict: outcome.refusal };
  for (const { confirm } of notices) confirm();
  const { stayed: _, ...applied } = outcome;
  return notices.length === 0 ? applied : { ...applied, results: withClaims(applied.results, claims) };
}

const NO_APPROVALS: { readonly entries: readonly NewEntry[] } = { entries: [] };

/** The part of a plan that is shown to the user for approval. */
function approvable(plan: ChangePlan): ApprovedStep {
  const { action, path } = plan;
  return { action, root: path.root, deltas: deltasOfPlan(plan), diff: () => plan.preview?.().diff };
}

/** The notices about other sessions' work on each plan's files, or the first refusal because of such work. */
async function claimsOn(
  { claims }: World,
  knowledge: Knowledge,
  plans: readonly ChangePlan[],
): Promise<readonly (readonly ClaimNotice[])[] | { readonly refusal: Refusal }> {
  const told: (readonly ClaimNotice[])[] = [];
  for (const plan of plans) {
    const { path, action } = plan;
    const each = await claims.onChange(knowledge, deltasOfPlan(plan), { root: path.root, action });
    if ('refusal' in each) return each;
    told.push(each.claimNotices);
  }
  return told;
}

/** Adds to each plan's result the notices about its files. */
function withClaims(
  results: readonly ChangeResult[],
  told: readonly (readonly ClaimNotice[])[],
): readonly ChangeResult[] {
  return results.map((result, index) => {
    const notices = told[index] ?? [];
    return notices.length === 0 ? result : { ...result, notices: withClaimNotices(result.notices, notices) };
  });
}

/** The effects of a change, to be recorded. */
interface DoneChange {
  readonly deltas: readonly Delta[];
  readonly displaced: readonly Displaced[];
  readonly results: readonly Omit<ChangeResult, 'change'>[];
  readonly sightings: readonly Sighting[];
  readonly tombstones: readonly string[];
  /** Keys of folders that should be removed but are still in use. */
  readonly stayed: ReadonlySet<string>;
}

interface DoneDelta {
  readonly plan: ChangePlan;
  readonly delta: PlannedDelta;
  readonly applied: AppliedDelta;
}

/** A change that is being applied: all of its deltas or none. */
class RunningChange {
  readonly #world: World;
  readonly #plans: readonly ChangePlan[];
  readonly #deltas: readonly PlannedDelta[];
  /** Frees the descriptors that are reserved for reverting. */
  readonly #freeReserve: () => void;
  /** The applied deltas, in order: the planned ones, and before each the missing folders around it. */
  readonly #done: DoneDelta[] = [];
  /** The deltas that are still to be applied. */
  readonly #left: Set<PlannedDelta>;
  readonly #staged = new Map<PlannedDelta, Staged>();
  /** The delta that met a conflict or a Fault. */
  #failed: PlannedDelta | undefined;

  constructor(world: World, plans: readonly ChangePlan[]) {
    this.#world = world;
    this.#plans = plans;
    this.#deltas = plans.flatMap(({ deltas }) => deltas);
    this.#left = new Set(this.#deltas);
    // A single delta reserves nothing: if it fails, there is no other one to revert.
    this.#freeReserve = this.#deltas.length === 1 ? () => {} : reserveForReverting();
  }

  get isComplete(): boolean {
    return this.#left.size === 0;
  }

  /**
   * Applies the deltas in order and returns the refusal of the one that failed, if any. In a batch,
   * all new bytes are written and synced before the first file changes. After the last change, all
   * changed names are synced.
   */
  async run(): Promise<Refusal | undefined> {
    const isBatch = this.#world.disk.batch !== undefined;
    if (isBatch) await this.#writeAhead();
    for (const plan of this.#plans)
      for (const delta of plan.deltas) {
        const refusal = this.#left.has(delta) ? await this.#apply(plan, delta) : undefined;
        if (refusal !== undefined) return refusal;
      }
    for (const delta of this.#deltas.toReversed())
      if (isOpenFolder(delta)) await closeFolder(this.#world, delta);
    if (isBatch) await this.#syncAll();
    return undefined;
  }

  /** Makes the new folders whose paths are free, and writes the bytes of all new files beside their places. */
  async #writeAhead(): Promise<void> {
    try {
      for (const plan of this.#plans) for (const delta of plan.deltas) await this.#prepare(plan, delta);
      if (this.#done.length > 0 || this.#staged.size > 0) await this.#syncAll();
    } catch (error) {
      const [first] = this.#deltas;
      throw first === undefined || errnoOf(error) === undefined
        ? error
        : changeFailed(this.#world.disk, error, first.path);
    }
  }

  async #prepare(plan: ChangePlan, delta: PlannedDelta): Promise<void> {
    const { before, after, movedFrom } = delta;
    const isNew = before.kind === 'absent' && movedFrom === undefined;
    if (isNew && after.kind === 'directory') {
      const isFree = await atDelta(this.#world, delta, ({ exists }) => !exists, false);
      if (isFree) await this.#apply(plan, delta);
      return;
    }
    if (isNew && after.kind === 'file') await this.#makeFoldersFor(plan, delta);
    const staged = await stage(this.#world, delta);
    if (staged !== undefined) this.#staged.set(delta, staged);
  }

  /** Applies one delta. Returns the refusal if its path is not as expected. */
  async #apply(plan: ChangePlan, delta: PlannedDelta): Promise<Refusal | undefined> {
    this.#world.locks.mustHold?.();
    this.#failed = delta;
    const staged = this.#staged.get(delta);
    const isNew = delta.before.kind === 'absent' && delta.after.kind !== 'absent';
    const conflict = isNew && staged === undefined ? await this.#makeFoldersFor(plan, delta) : undefined;
    const applied = conflict ?? (await applyDelta(this.#world, delta, { staged }));
    if (!applied.ok) return conflictRefusal({ action: plan.action, path: delta.path }, applied);
    this.#done.push({ plan, delta, applied });
    this.#failed = undefined;
    this.#staged.delete(delta);
    this.#left.delete(delta);
    return undefined;
  }

  /** Makes the missing folders around the path that a delta fills. */
  async #makeFoldersFor(plan: ChangePlan, delta: PlannedDelta): Promise<Conflict | undefined> {
    const around = (located: Located) =>
      foldersAround({ ...delta, missing: located.exists ? undefined : located.missing });
    for (const folder of await atDelta(this.#world, delta, around, [])) {
      const applied = await applyDelta(this.#world, folder);
      if (!applied.ok) return applied;
      this.#done.push({ plan, delta: folder, applied });
    }
    return undefined;
  }

  async #syncAll(): Promise<void> {
    const { disk } = this.#world;
    if (disk.batch === 'none') return;
    await disk.sync.sync([disk.retained, ...new Set(this.#deltas.map(({ path }) => path.root))]);
  }

  /** The effects of the change, after all deltas were applied. */
  get done(): DoneChange {
    const [deltas, displaced]: [Delta[], Displaced[]] = [[], []];
    const stayed = new Set<string>();
    const committed = new Map<string, Committed>();
    for (const { delta, applied } of this.#done) {
      if (!applied.stayed && !applied.idle) addDelta(deltas, { ...delta, after: stateAfter(delta, applied) });
      if (applied.displaced !== undefined) displaced.push(applied.displaced);
      if (applied.stayed) stayed.add(delta.key);
      if (applied.committed !== undefined) committed.set(delta.key, applied.committed);
    }
    const results = this.#plans.map((plan) =>
      resultOf(
        plan,
        this.#done.filter((each) => each.plan === plan),
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
    for (const [delta, staged] of this.#staged) await ignoringErrno(() => unstage(world, delta, staged));
    for (const done of this.#done.toReversed())
      if (!(await isReverted(world, done))) left.push(done.delta.path.relative);
    const cleared = this.#deltas.map((delta) => areTempsCleared(world, delta));
    return { left, isClear: cleared.every((isClear) => isClear) };
  }

  close(): void {
    this.#freeReserve();
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

/** The state after a delta, with the mode that the file or folder really got. */
function stateAfter({ after, mode }: PlannedDelta, { committed, folderMode }: AppliedDelta): State {
  const real = committed?.mode ?? folderMode;
  if (real === undefined || mode === 'asBefore') return after;
  if (after.kind === 'file') return { ...after, mode: real };
  return after.kind === 'directory' && mode === 'default' ? { ...after, mode: real } : after;
}

function resultOf({ result }: ChangePlan, done: readonly DoneDelta[]): Omit<ChangeResult, 'change'> {
  const notices = done.flatMap(({ applied }) => applied.committed?.notices ?? []);
  const told = notices.length === 0 ? result : { ...result, notices: [...result.notices, ...notices] };
  // Another program has made or removed every folder of this plan already.
  const isIdle = done.length > 0 && done.every(({ applied }) => applied.idle);
  return isIdle ? { ...told, changed: false, created: false } : told;
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

interface Refused {
  readonly action: Action;
  readonly path: ResolvedPath;
}

/**
 * The refusal if another program changed the file between the last check and our change. Nothing of
 * our change was done. The refusal names the files that were moved out of the workspace and kept.
 */
export function conflictRefusal(refused: Refused, conflict: Conflict): Refusal {
  const refusal = refusalOf(refused, conflict);
  if (conflict.retained.length === 0) return refusal;
  return passOn(refusal, { kept: conflict.retained });
}

function refusalOf(refused: Refused, conflict: Conflict): Refusal {
  const base = { action: refused.action, path: refused.path.given };
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
