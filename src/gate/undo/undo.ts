import { type Blocked, type BlockedPath, blockedBy, type UndoOutcome } from '../../journal/undo-blocked.ts';
import type { UndoPlan, UndoPlans } from '../../journal/undo-plan.ts';
import type { UndoDelta } from '../../journal/undo-steps.ts';
import { notLocked, outermostKeys } from '../../lock/locks.ts';
import { NOTHING } from '../../model/coverage.ts';
import { microseconds, sameState } from '../../model/entry.ts';
import type { LeftFile, UndoneFile, UndoResult } from '../../model/results.ts';
import type { UndoSelection } from '../../model/session.ts';
import { NO_FLAGS, type Sighting } from '../../model/sighting.ts';
import { type Outcome, passOn, type Refusal, reasonOf, refused } from '../../model/verdict.ts';
import { isGitIndex } from '../../process/git-position.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import { movedSightings } from '../../views/sightings.ts';
import { apply } from '../apply.ts';
import { areIndependent } from '../apply-folder.ts';
import { lockKeys, missingFolder } from '../keys.ts';
import { keepBytesOf } from '../old-bytes.ts';
import type { ChangePlan, PlannedDelta } from '../plan.ts';
import { worldFor } from '../running-change.ts';
import type { World } from '../world.ts';
import { checkSteps, SeenBefore } from './check.ts';
import { type FoundChange, foldersInUse, presentBytes, previewDiff } from './found-changes.ts';
import { whyNotTheirs } from './others-change.ts';
import { blockedPaths, type LeftPaths, leaveBlocked, plan, type UndoRequest, withAll } from './plan.ts';
import { reachWorktrees } from './reach.ts';

/**
 * Undoes recorded changes, through the same steps, locks and journal as any change. If a file
 * changed since, refuses with the diff, or merges if the request says so. All paths are restored or
 * none, unless the request is for a partial undo. A refusal names every path that cannot be
 * restored.
 */
export async function undo(
  world: World,
  knowledge: Knowledge,
  selection: UndoRequest,
): Promise<Outcome<UndoResult>> {
  const { blocked, ...outcome } = await undoAll(world, knowledge, selection);
  if (outcome.ok || blocked.length === 0 || selection.partial === true) return outcome;
  const rest = await undoAll(world, knowledge, { ...selection, partial: true, preview: true });
  const all = rest.blocked.length < 2 && !rest.ok ? outcome.refusal : withAll(outcome.refusal, rest.blocked);
  if (!rest.ok) return refused(all);
  return refused(passOn(all, { restorable: rest.files.length }));
}

/** The result of an undo, and the paths that it left because it is a partial one. */
type Undoing = UndoOutcome<UndoResult & { readonly blocked: readonly BlockedPath[] }>;

async function undoAll(world: World, session: Knowledge, selection: UndoRequest): Promise<Undoing> {
  const knowledge = session.during(selection.times);
  const left: LeftPaths = new Map();
  const journal = await journalEnd(world);
  const planned = await plan(world, knowledge, { selection, left });
  const made = planned.ok ? reachWorktrees(world, planned.plan.steps) : [];
  try {
    return await undoPlanned(world, knowledge, { selection, left, journal, planned });
  } finally {
    // A folder stays if the undo has put files into it.
    for (const folder of made) world.workspace.abandon(folder);
  }
}

interface Planned {
  readonly selection: UndoRequest;
  readonly left: LeftPaths;
  readonly journal: number | undefined;
  readonly planned: UndoOutcome<UndoPlans>;
}

async function undoPlanned(world: World, knowledge: Knowledge, given: Planned): Promise<Undoing> {
  const { selection, left } = given;
  let { journal, planned } = given;
  for (;;) {
    if (!planned.ok) return planned;
    const keys = keysOf(world, planned);
    const release = await lockKeys(world, keys, { knowledge });
    if (release === undefined)
      return unblocked({ code: 'BUSY', action: 'undo', path: '', next: 'retry_later' });
    try {
      // Plan again under the locks if the journal has grown: another process may have undone the same change.
      const end = await journalEnd(world);
      const isCurrent = end !== undefined && end === journal;
      const again = isCurrent ? planned : await plan(world, knowledge, { selection, left });
      if (!again.ok) return again;
      if (notLocked(keysOf(world, again), keys).length === 0)
        return await undoLocked(world, knowledge, { plans: again, selection, left, locked: keys });
      planned = again;
      journal = end;
    } finally {
      release();
    }
  }
}

/** A refusal that concerns the whole undo, not some of its paths. */
function unblocked(refusal: Refusal): Blocked {
  return { ...refused(refusal), blocked: [] };
}

/**
 * The number of the journal's last entry. As long as this number stays the same, a plan made from
 * the journal is valid. Undefined for stores whose entries can appear out of order.
 */
async function journalEnd({ store }: World): Promise<number | undefined> {
  return store.snapshot === undefined ? (await store.state()).head.seq : undefined;
}

/** The keys that the steps touch, and the missing folders that they need. */
function keysOf(world: World, { plan, instead }: UndoPlans): readonly string[] {
  const steps = [...plan.steps, ...(instead?.steps ?? [])];
  const touched = new Set(steps.map(({ key }) => key));
  const keys = steps.flatMap(({ key, movedFrom }) => {
    // Skip a key whose parent folder has its own step: the lock of the folder covers the key.
    if (movedFrom === undefined && touched.has(key.slice(0, key.lastIndexOf('/')))) return [];
    const outcome = world.workspace.locate(key, 'undo', 'parents');
    if (outcome.ok) outcome.located.place.dir.close();
    const folder = outcome.ok ? missingFolder(outcome.located) : undefined;
    return [
      key,
      ...(movedFrom === undefined ? [] : [movedFrom.key]),
      ...(folder === undefined ? [] : [folder]),
    ];
  });
  return outermostKeys(keys);
}

interface LockedUndo {
  readonly plans: UndoPlans;
  readonly selection: UndoRequest;
  readonly left: LeftPaths;
  readonly locked: readonly string[];
}

async function undoLocked(world: World, knowledge: Knowledge, given: LockedUndo): Promise<Undoing> {
  const { plans, selection, left, locked } = given;
  const busy = gitAtWork(world, plans);
  if (busy !== undefined) return unblocked(busy);
  const unseen = await whyNotTheirs(world, knowledge, given);
  if (unseen !== undefined) return unblocked(unseen);
  const checked = await checkedPlan(world, knowledge, given);
  if (!checked.ok) return checked;
  const { plan, found } = checked;
  const diff = await previewDiff(world, found);
  const told = {
    undid: plan.undone.changes,
    ...(diff === '' ? {} : { diff }),
    ...(left.size === 0 ? {} : { left: [...left.values()].map(leftFile) }),
    blocked: blockedPaths(left),
  };
  const filesWith = (kept: ReadonlySet<string>): UndoneFile[] =>
    found.map((each) => fileOf(world, each, kept));
  if (selection.preview === true)
    return { ok: true, ...told, files: filesWith(foldersInUse(world, plan.steps)) };
  await keepNeeded(world, found);
  const several = await worldFor(
    world,
    found.length,
    areIndependent(found.map(({ step }) => step)) ? 'together' : 'in order',
  );
  selection.signal?.throwIfAborted();
  const outcome = await apply(several, knowledge, {
    plans: found.length === 0 ? [] : [await planOf(several, knowledge, found)],
    locked,
    undo: selection.rewind === undefined ? plan : { ...plan, rewindTo: selection.rewind.turn },
  });
  if (!outcome.ok) return { ...outcome, blocked: [] };
  const { change, stayed: kept } = outcome;
  if (change === undefined && kept.size > 0) {
    const folder = found.find(({ step }) => kept.has(step.key));
    return unblocked(inUse(folder === undefined ? '' : world.workspace.shownAt(folder.step)));
  }
  return { ok: true, ...(change === undefined ? {} : { change }), ...told, files: filesWith(kept) };
}

/** The refusal of an undo that would replace an index on which git is at work; undefined if there is none. */
function gitAtWork(world: World, { plan }: UndoPlans): Refusal | undefined {
  const lock = plan.steps
    .filter(({ key }) => isGitIndex(key))
    .map(({ key, relative }) => ({ key: `${key}.lock`, relative: `${relative}.lock` }))
    .find(({ key }) => isThere(world, key));
  if (lock === undefined) return undefined;
  const path = world.workspace.shownAt(lock);
  const reason = 'git is at work there, or has left its lock';
  return { code: 'BUSY', action: 'undo', path, next: 'retry_later', detail: { reason } };
}

function isThere({ workspace }: World, key: string): boolean {
  const outcome = workspace.locate(key, 'undo', 'parents');
  if (outcome.ok) outcome.located.place.dir.close();
  return outcome.ok && outcome.located.exists;
}

function leftFile(refusal: Refusal): LeftFile {
  const { path, code } = refusal;
  return { path, code, reason: reasonOf(refusal) ?? code };
}

interface CheckedPlan {
  readonly plan: UndoPlan;
  readonly found: readonly FoundChange[];
}

/**
 * The plan that fits the present files. A partial undo leaves out the paths that do not fit, until
 * the rest does.
 */
async function checkedPlan(
  world: World,
  knowledge: Knowledge,
  { plans, selection, left }: LockedUndo,
): Promise<UndoOutcome<CheckedPlan>> {
  let planned: UndoOutcome<UndoPlans> = { ok: true, ...plans };
  for (;;) {
    if (!planned.ok) return planned;
    const checked = await checkPlans(world, planned, selection);
    const blocked = checked.ok ? blockedBy(takenFolders(world, checked, selection)) : checked;
    if (blocked === undefined || leaveBlocked(blocked, { selection, left }) === 'same')
      return blocked ?? checked;
    planned = await plan(world, knowledge, { selection, left });
  }
}

/** The paths where the undo would put a file or link in the place of a folder in which other entries stay. */
function takenFolders(
  world: World,
  { plan, found }: CheckedPlan,
  { preview, partial }: UndoSelection,
): readonly BlockedPath[] {
  // Without one of these options, the step itself finds the entries.
  if (preview !== true && partial !== true) return [];
  const kept = foldersInUse(world, plan.steps);
  const taken = found.filter(({ step }) => kept.has(step.key) && step.after.kind !== 'absent');
  return taken.map(({ step }) => ({ key: step.key, refusal: inUse(world.workspace.shownAt(step)) }));
}

/**
 * The first plan that fits the present files. Only the last plan may merge: `plan`, or `instead` if
 * there are two.
 */
async function checkPlans(
  world: World,
  { plan, instead }: UndoPlans,
  selection: UndoSelection,
): Promise<UndoOutcome<CheckedPlan>> {
  if (instead !== undefined) {
    const checked = await checkSteps(world, plan.steps, { ...selection, merge: false, partial: false });
    if (checked.ok) return { ...checked, plan };
  }
  const last = instead ?? plan;
  const checked = await checkSteps(world, last.steps, selection);
  return checked.ok ? { ...checked, plan: last } : checked;
}

/**
 * Stores present bytes that a step restores at another path, because an earlier step may remove the
 * file that holds them.
 */
async function keepNeeded(world: World, found: readonly FoundChange[]): Promise<void> {
  const present = presentBytes(found);
  for (const { step } of found) {
    if (step.after.kind !== 'file' || sameState(step.before, step.after)) continue;
    const { fingerprint } = step.after;
    const bytes = present.get(fingerprint.sha256);
    if (bytes !== undefined) await keepBytesOf(world, step.relative, { bytes, fingerprint });
  }
}

/** The plan of an undo. */
export async function planOf(
  world: World,
  knowledge: Knowledge,
  found: readonly FoundChange[],
): Promise<ChangePlan> {
  const seen = new SeenBefore(
    knowledge,
    found.map(({ step }) => step),
  );
  const deltas = found.map((each) => deltaOf(world, each));
  const sightings: Sighting[] = [];
  const tombstones: string[] = [];
  for (const { step } of found) {
    const before = seen.of(step);
    const { known, moving = [] } = before instanceof Promise ? await before : before;
    sightings.push(...sightingsAfter(world, step, { known, moving }));
    if (step.after.kind === 'absent') tombstones.push(step.key);
    else for (const { key } of moving) tombstones.push(key);
  }
  const path = deltas[0]?.path ?? world.workspace.named('', '');
  const result = { path: path.given, changed: true, created: false, sizeBytes: 0, notices: [] };
  return { action: 'undo', path, deltas, result, sightings, tombstones };
}

function deltaOf(world: World, { step, stamp, mode: presentMode }: FoundChange): PlannedDelta {
  const path = { ...world.workspace.named(step.key, step.relative), given: world.workspace.shownAt(step) };
  const sinceUs = stamp && microseconds(stamp.ctimeNs);
  return { ...step, path, stamp, presentMode, sinceUs, mode: 'asBefore' };
}

/**
 * The sightings after a step. If the session has not seen the restored bytes, it only knows that the
 * file exists: it may edit the file, but not overwrite it.
 */
function sightingsAfter(
  world: World,
  { key, after, movedFrom: from }: UndoDelta,
  { known, moving }: { readonly known: Sighting | undefined; readonly moving: readonly Sighting[] },
): readonly Sighting[] {
  if (from !== undefined) return movedSightings(moving, { from: from.key, to: key });
  if (known !== undefined) return [{ ...known, stamp: undefined, racy: true }];
  if (after.kind !== 'file') return [];
  const unseen = {
    coverage: NOTHING,
    totalLines: undefined,
    flags: NO_FLAGS,
    how: 'write',
    lost: 'forgotten',
  } as const;
  return [
    { key, fingerprint: after.fingerprint, stamp: undefined, racy: true, ...unseen, atMs: world.now() },
  ];
}

function inUse(path: string): Refusal {
  const detail = { reason: 'another program or session has put something into it since that change' };
  return { code: 'STALE', action: 'undo', path, next: 'list', detail };
}

function fileOf(world: World, { step, merged }: FoundChange, kept: ReadonlySet<string>): UndoneFile {
  const path = world.workspace.shownAt(step);
  if (kept.has(step.key)) return { path, did: 'kept' };
  if (merged !== undefined) return { path, did: 'merged' };
  if (step.movedFrom !== undefined) return { path, did: 'moved-back' };
  if (step.after.kind === 'absent') return { path, did: 'removed' };
  return { path, did: step.before.kind === 'absent' ? 'recreated' : 'restored' };
}
