import { reserveDescriptors } from '../disk/context.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Effect, NewEntry, Undone, UndonePart } from '../model/entry.ts';
import { errnoOf, Fault, nothingChanged } from '../model/fault.ts';
import type { ApplyResult, ChangeResult, Notice } from '../model/results.ts';
import type { Outcome, Refusal } from '../model/verdict.ts';
import { announce, bypassEntries, newChangeId, type Settlement, settle } from './announce.ts';
import { type Approved, type ApprovedStep, approvalsOf, type MissingApproval } from './approval.ts';
import { type ClaimNotice, withClaimNotices } from './claims.ts';
import { runSteps, stagedEarly } from './run-steps.ts';
import { conflictRefusal, type Done, type DoneStep, type Step } from './step.ts';
import type { World } from './world.ts';

/** A message names at most this many files and counts the rest. */
const MAX_NAMED = 20;

interface Work {
  readonly steps: readonly Step[];
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
  /** Set if the steps commit a command's writes: the command's text, and the id of the change that they make. */
  readonly command?: { readonly change: string; readonly text: string };
}

/**
 * Runs prepared steps. Records the planned change first, so that a later process can complete the
 * record if this one dies. Then changes the disk, and stores the old contents and the journal
 * entry. On failure, reverts the completed steps.
 */
export function carryOut(world: World, ledger: Ledger, work: Work): Promise<Outcome<ApplyResult>> {
  const change = work.command?.change ?? newChangeId();
  const effects = once(work.steps.flatMap((step) => step.effects));
  const [first] = work.steps;
  if (first === undefined || effects.length === 0) return unchanged(world, ledger, work);
  for (const { path } of work.steps) if (!world.workspace.stands(path.root)) throw rootMoved(path.root);
  const entry = entryOf(world, ledger, { work, first, change, effects });
  // Reserve no file descriptors for a single step: if it fails, there is no other step to revert.
  if (work.steps.length === 1)
    return carryOutReserved(world, ledger, { entry, freeReserve: NOTHING_RESERVED, ...work });
  const freeReserve = reserveForReverting();
  return carryOutReserved(world, ledger, { entry, freeReserve, ...work }).finally(freeReserve);
}

const NOTHING_RESERVED = (): void => {};

/** Reserves file descriptors for reverting steps, before the first step runs. */
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

interface Reserved extends Work {
  readonly entry: ChangeEntry;
  /** Frees the reserved file descriptors, so that reverting can use them. */
  readonly freeReserve: () => void;
}

async function carryOutReserved(world: World, ledger: Ledger, work: Reserved): Promise<Outcome<ApplyResult>> {
  const { entry, locked } = work;
  const { change } = entry;
  const announcing = announce(world, { change, entry, owner: world.owner, locked });
  const early = stagedEarly(world, work.steps);
  try {
    const announced = await announcing;
    return await carryOutAnnounced(world, ledger, { announced, staged: early?.staged, ...work });
  } finally {
    await early?.unstage();
  }
}

interface Announced extends Reserved {
  /** False if the journal could not be written and the policy allows changes without it. */
  readonly announced: boolean;
  /** Resolves when the new bytes are synced in temporary files. Undefined if no file was written yet. */
  readonly staged: Promise<void> | undefined;
}

async function carryOutAnnounced(
  world: World,
  ledger: Ledger,
  work: Announced,
): Promise<Outcome<ApplyResult>> {
  const { entry, announced } = work;
  const { change } = entry;
  const done: DoneStep[] = [];
  let refusal: Refusal | undefined;
  try {
    await work.staged;
    refusal = await runSteps(world, work, done);
    if (refusal === undefined) {
      const settled = settledEntry(work, done);
      const entries = work.entries ?? [];
      const recorded = await settle(world, ledger, settlementOf(done, settled, { announced, entries }));
      // Without effects no entry is written, so there is no change that the id could name.
      const id = settled.effects?.length === 0 ? {} : { change };
      const results = done.map(({ outcome }) => resultOf(outcome, { id, recorded }));
      return { ok: true, dryRun: false, results, ...id };
    }
  } catch (error) {
    // If all steps are done, the unanswered call is `settle`. It may have recorded the change.
    if (done.length === work.steps.length && isUnanswered(error)) throw keptAsDone(error);
    throw await takenBack(world, { work, done, change: announced ? change : undefined }, error);
  }
  const left = await takeBack(world, { work, done, change: announced ? change : undefined });
  if (left.length === 0) return { ok: false, refusal };
  throw notTakenBack(refusal, left);
}

/** Removes duplicate effects: several steps may need the same folder, but it is made once. */
function once(effects: readonly Effect[]): readonly Effect[] {
  const made = new Set<string>();
  return effects.filter(({ key, before, after }) => {
    // Keep both effects if an undo creates a folder, removes it and creates it again.
    if (after.kind === 'absent') made.delete(key);
    if (before.kind !== 'absent' || after.kind !== 'directory') return true;
    const isNew = !made.has(key);
    made.add(key);
    return isNew;
  });
}

/** The journal entry of a change. Its fields are in alphabetical order, so that the journal need not sort them. */
function entryOf(
  world: World,
  ledger: Ledger,
  { work, first, change, effects }: { work: Work; first: Step; change: string; effects: readonly Effect[] },
): ChangeEntry {
  const { undo, undoesPart, command, steps } = work;
  // Prefer the root and path of a step outside annexes: an annex, such as the git folder that
  // worktrees share, is no workspace.
  const { annexes } = world.workspace;
  const { path, action } =
    annexes.length === 0 ? first : (steps.find((step) => !annexes.includes(step.path.root)) ?? first);
  const entry: { -readonly [K in keyof ChangeEntry]: ChangeEntry[K] } = {
    action: undo === undefined ? action : 'undo',
    atMs: world.now(),
    change,
    effects,
    kind: 'change',
    path: path.relative,
    root: path.root,
    session: ledger.session,
  };
  if (undo?.rewindTo !== undefined) entry.rewindTo = undo.rewindTo;
  if (command !== undefined) entry.text = command.text;
  if (ledger.turn !== undefined) entry.turn = ledger.turn;
  if (undo?.undone.changes[0] !== undefined) entry.undoes = undo.undone.changes[0];
  if (undoesPart !== undefined) entry.undoesPart = undoesPart;
  if (undo !== undefined) entry.undone = undo.undone;
  return entry;
}

function settledEntry(work: Reserved, done: readonly DoneStep[]): ChangeEntry {
  const { entry } = work;
  return Object.assign({ ...entry }, whatWasDone(work, done), noticesOf(done));
}

/** The effects of the steps. A folder that an undo kept because it is in use does not count as undone. */
function whatWasDone({ undo }: Work, done: readonly DoneStep[]): Pick<NewEntry, 'effects' | 'undone'> {
  const effects = once(done.flatMap(({ step, outcome }) => outcome.effects ?? step.effects));
  if (undo === undefined) return { effects };
  const stayed = new Set(done.flatMap(({ outcome }) => outcome.stayed ?? []));
  if (stayed.size === 0) return { effects };
  return { effects, undone: { ...undo.undone, keys: undo.keys.filter((key) => !stayed.has(key)) } };
}

/** The kinds of the caller's notices, and the size of their diffs: the journal contains no file content. */
function noticesOf(done: readonly DoneStep[]): Pick<NewEntry, 'notices' | 'diffBytes'> {
  const notices = done.flatMap(({ outcome }) => outcome.result.notices);
  if (notices.length === 0) return {};
  const diffs = notices.flatMap((notice) => (notice.kind === 'changed-elsewhere' ? [notice.diff] : []));
  return {
    notices: [...new Set(notices.map(({ kind }) => kind))],
    ...(diffs.length === 0 ? {} : { diffBytes: Buffer.byteLength(diffs.join('\n')) }),
  };
}

function settlementOf(
  done: readonly DoneStep[],
  entry: ChangeEntry,
  { announced, entries: more }: { readonly announced: boolean; readonly entries: readonly NewEntry[] },
): Settlement {
  const outcomes = done.map(({ outcome }) => outcome);
  const { change, session, turn, atMs } = entry;
  const bypassed = bypassEntries(
    done.map(({ step }) => step),
    { session, atMs, change, ...(turn === undefined ? {} : { turn }) },
  );
  return {
    change,
    announced,
    entries: [...(entry.effects?.length === 0 ? [] : [entry]), ...bypassed, ...more],
    displaced: outcomes.flatMap((outcome) => outcome.displaced),
    sightings: outcomes.flatMap((outcome) => outcome.sightings),
    tombstones: goneKeys(outcomes),
    syncNames: outcomes[0]?.syncNames,
  };
}

/** Keys where no file is left after all steps. One step may write to a path that another step emptied. */
function goneKeys(outcomes: readonly Done[]): readonly string[] {
  const gone = new Set<string>();
  for (const { tombstones, sightings } of outcomes) {
    for (const key of tombstones) gone.add(key);
    for (const { key } of sightings) gone.delete(key);
  }
  return [...gone];
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

interface TakeBackInput {
  readonly work: Reserved;
  readonly done: readonly DoneStep[];
  /** Undefined if the planned change was not stored. */
  readonly change: string | undefined;
}

/** Reverts the completed steps. Returns the error to throw, which names the files still changed. */
async function takenBack(world: World, taking: TakeBackInput, error: unknown): Promise<unknown> {
  const left = await takeBack(world, taking);
  if (left.length === 0) return nothingChanged(error);
  if (!(error instanceof Fault)) return error;
  const { code, message, path, reason } = error;
  return new Fault(code, `${message}; ${stillChanged(left)}`, {
    cause: error,
    ...(path === undefined ? {} : { path }),
    ...(reason === undefined ? {} : { reason }),
  });
}

function stillChanged(left: readonly string[]): string {
  const more = left.length > MAX_NAMED ? ` and ${left.length - MAX_NAMED} more` : '';
  return `these files could not be reverted, read them again: ${left.slice(0, MAX_NAMED).join(', ')}${more}`;
}

/**
 * Reverts completed steps, last one first, and returns the paths where that failed. If any failed,
 * the change stays pending: the next process that locks one of its files completes the record.
 */
async function takeBack(world: World, { work, done, change }: TakeBackInput): Promise<readonly string[]> {
  work.freeReserve();
  const left = work.steps.filter((step) => step.isLeft?.() === true);
  for (const { step } of done.toReversed()) if (!(await isReverted(step))) left.push(step);
  if (left.length === 0 && change !== undefined) {
    await world.store.record({ settle: [change] }).catch((error: unknown) => {
      // Report the original error, not this second failure of the store.
      if (!(error instanceof Fault)) throw error;
    });
  }
  return left.map(({ path }) => path.relative);
}

async function isReverted(step: Step): Promise<boolean> {
  try {
    return await step.revert();
  } catch {
    // Ignore the error: the next process that locks the file compares it and completes the record.
    return false;
  }
}

function rootMoved(root: string): Fault {
  const message = `the workspace folder ${root} was moved, replaced or deleted since it was opened; nothing was changed: open it again`;
  return new Fault('IO_FAILED', message, { path: root, reason: 'ESTALE' });
}

function notTakenBack({ path, code }: Refusal, left: readonly string[]): Fault {
  const message = `${path} could not be changed (${code}), and earlier steps could not be reverted; ${stillChanged(left)}`;
  return new Fault('IO_FAILED', message, { path });
}

/** The result when every file already has the requested content. */
async function unchanged(world: World, ledger: Ledger, work: Work): Promise<Outcome<ApplyResult>> {
  const results: ChangeResult[] = [];
  for (const step of work.steps) {
    const outcome = await step.run();
    if (!outcome.ok) return { ok: false, refusal: conflictRefusal(step, outcome) };
    const bypassed = bypassEntries([step], { ...ledger.author, atMs: world.now() });
    await ledger.record(outcome.sightings, bypassed.length === 0 ? {} : { entries: bypassed });
    results.push(outcome.result);
  }
  return { ok: true, dryRun: false, results };
}

function resultOf(
  outcome: Done,
  { id, recorded }: { readonly id: { readonly change?: string }; readonly recorded: boolean },
): ChangeResult {
  const { result } = outcome;
  if (recorded) return result.changed ? Object.assign({}, id, result) : result;
  const notices: readonly Notice[] = [...result.notices, { kind: 'not-recorded' }];
  return { ...result, ...(result.changed ? id : {}), notices };
}

/** The notices for one step about the work of other sessions. */
interface Told {
  readonly claimNotices: readonly ClaimNotice[];
}

/**
 * The outcome of the steps, or the reason why nothing is changed. `missing`: the user's approval is
 * missing. `busy`: another session works on a file. `conflict`: a file changed after it was judged.
 */
type Carried =
  | Outcome<ApplyResult>
  | { readonly missing: MissingApproval }
  | { readonly busy: Refusal }
  | { readonly conflict: Refusal };

/**
 * Runs judged steps, unless the user's approval is missing or another session's work on a file
 * forbids them. Records the approvals and the notices about that work together with the change.
 */
export async function carryOutTold(
  world: World,
  ledger: Ledger,
  { approved, ...work }: Omit<Work, 'entries'> & { readonly approved: Approved },
): Promise<Carried> {
  const approvals =
    world.policy.approve.length === 0
      ? NO_APPROVALS
      : await approvalsOf(world, ledger, { steps: work.steps.map(approvable), approved });
  if ('missing' in approvals) return approvals;
  const told = world.claims.areOff ? NOT_TOLD : await claimsOn(world, ledger, work.steps);
  if ('refusal' in told) return { busy: told.refusal };
  const claimNotices = told.flatMap((each) => each.claimNotices);
  const entries = [...approvals.entries, ...claimNotices.map(({ entry }) => entry)];
  const outcome = await carryOut(world, ledger, { entries, ...work });
  if (!outcome.ok) return { conflict: outcome.refusal };
  for (const { confirm } of claimNotices) confirm();
  return claimNotices.length === 0 ? outcome : { ...outcome, results: withClaims(outcome.results, told) };
}

const NO_APPROVALS: { readonly entries: readonly NewEntry[] } = { entries: [] };
const NOT_TOLD: readonly Told[] = [];

/** The part of a step that is shown to the user for approval. */
function approvable(step: Step): ApprovedStep {
  const { action, path, effects } = step;
  return { action, root: path.root, effects, diff: () => step.preview?.().diff };
}

/** The notices about other sessions' work on each step's files, or the first refusal because of such work. */
async function claimsOn(
  { claims }: World,
  ledger: Ledger,
  steps: readonly Step[],
): Promise<readonly Told[] | { readonly refusal: Refusal }> {
  const told: Told[] = [];
  for (const { effects, path, action } of steps) {
    const each = await claims.onChange(ledger, effects, { root: path.root, action });
    if ('refusal' in each) return each;
    told.push(each);
  }
  return told;
}

/** Adds to each step's result the notices about its files. */
function withClaims(results: readonly ChangeResult[], told: readonly Told[]): readonly ChangeResult[] {
  return results.map((result, index) => {
    const claimNotices = told[index]?.claimNotices ?? [];
    if (claimNotices.length === 0) return result;
    return { ...result, notices: withClaimNotices(result.notices, claimNotices) };
  });
}
