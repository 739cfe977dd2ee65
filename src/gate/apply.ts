import { reserveDescriptors } from '../disk/context.ts';
import type { Delta } from '../model/delta.ts';
import type { NewEntry, Undone, UndonePart } from '../model/entry.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import { defined } from '../model/record.ts';
import type { ApplyResult, ChangeResult } from '../model/results.ts';
import type { Outcome, Refusal } from '../model/verdict.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { announce, bypassEntries, type Displaced, newChangeId } from './announce.ts';
import { type Approved, type ApprovedStep, approvalsOf, type MissingApproval } from './approval.ts';
import { type ClaimNotice, withClaimNotices } from './claims.ts';
import { type ChangePlan, deltasOfPlan } from './plan.ts';
import { type DoneChange, RunningChange } from './running-change.ts';
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
  readonly undoesPart?: UndonePart;
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
  const planned = work.plans.flatMap((plan) => plan.deltas);
  for (const { path } of planned) if (!world.workspace.stands(path.root)) throw rootMoved(path.root);
  // Reserve no file descriptors for a single delta: if it fails, there is no other one to revert.
  const freeReserve = planned.length === 1 ? NOTHING_RESERVED : reserveForReverting();
  const named = { ...world, disk: { ...world.disk, change } };
  const running = new RunningChange(named, work.plans, freeReserve);
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
    freeReserve();
  }
}

const NOTHING_RESERVED = (): void => {};

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

type ChangeEntry = NewEntry & { readonly change: string };

function outcomeOf({ results, stayed }: DoneChange, { change, deltas }: ChangeEntry): Outcome<Applied> {
  // Without deltas no entry is written, so there is no change that the id could name.
  const id = deltas?.length === 0 ? {} : { change };
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
): ChangeEntry {
  const { undo, undoesPart, command } = work;
  // Prefer the root and path of a delta outside the extra roots: one of these, such as the git folder that
  // worktrees share, is no workspace.
  const { extraRoots } = world.workspace;
  const outside =
    extraRoots.length === 0
      ? undefined
      : first.deltas.find(({ path: { root } }) => !extraRoots.includes(root));
  const { path } = outside ?? first;
  const entry: { -readonly [K in keyof ChangeEntry]: ChangeEntry[K] } = {
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

function settledEntry({ undo, command }: PlannedChange, entry: ChangeEntry, done: DoneChange): ChangeEntry {
  const deltas = [...once(done.deltas), ...(command?.made ?? [])];
  const { stayed } = done;
  const settled = { ...entry, deltas, ...noticesOf(done) };
  if (undo === undefined || stayed.size === 0) return settled;
  // A folder that an undo kept because it is in use does not count as undone.
  return { ...settled, undone: { ...undo.undone, keys: undo.keys.filter((key) => !stayed.has(key)) } };
}

/** The kinds of the caller's notices, and the size of their diffs: the journal contains no file content. */
function noticesOf({ results }: DoneChange): Pick<NewEntry, 'notices' | 'diffBytes'> {
  const notices = results.flatMap((result) => result.notices);
  if (notices.length === 0) return {};
  const diffs = notices.flatMap((notice) => (notice.kind === 'changed-elsewhere' ? [notice.diff] : []));
  return {
    notices: [...new Set(notices.map(({ kind }) => kind))],
    ...(diffs.length === 0 ? {} : { diffBytes: Buffer.byteLength(diffs.join('\n')) }),
  };
}

/** The entry of a change, and those to record with it. */
function entriesOf({ plans, entries = [] }: PlannedChange, entry: ChangeEntry): readonly NewEntry[] {
  const { change, session, turn, atMs } = entry;
  const like = { session, atMs, change, ...(turn === undefined ? {} : { turn }) };
  return [
    ...(entry.deltas?.length === 0 ? [] : [entry]),
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

function rootMoved(root: string): Fault {
  const message = `the workspace folder ${root} was moved, replaced or deleted since it was opened; nothing was changed: open it again`;
  return new Fault('IO_FAILED', message, { path: root, reason: 'ESTALE' });
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
 * The outcome of the change, or the reason why nothing is changed. `missing`: the user's approval is
 * missing. `busy`: another session works on a file. `conflict`: a file changed after it was judged.
 */
type Told =
  | Outcome<ApplyResult>
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
  { approved, ...work }: Omit<PlannedChange, 'entries'> & { readonly approved: Approved },
): Promise<Told> {
  const approvals =
    world.policy.approve.length === 0
      ? NO_APPROVALS
      : await approvalsOf(world, knowledge, { steps: work.plans.map(approvable), approved });
  if ('missing' in approvals) return approvals;
  const concerned = world.claims.concern(knowledge, work.plans.flatMap(deltasOfPlan));
  const claims = concerned ? await claimsOn(world, knowledge, work.plans) : [];
  if ('refusal' in claims) return { busy: claims.refusal };
  const notices = claims.flat();
  const entries = [...approvals.entries, ...notices.map(({ entry }) => entry)];
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
