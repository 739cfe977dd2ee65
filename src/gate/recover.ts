import { setTimeout } from 'node:timers/promises';
import {
  ABSENT,
  byPath,
  type Delta,
  endsOf,
  joinMoves,
  type State,
  sameContent,
  sameState,
} from '../model/delta.ts';
import type { NewChangeEntry, PendingChange } from '../model/entry.ts';
import { errnoOf, Fault, nothingChanged } from '../model/fault.ts';
import { LIMITS } from '../model/limits.ts';
import type { Store } from '../store/store.ts';
import { Knowledge } from '../views/knowledge.ts';
import { applyDelta, areTempsCleared, closeFolder, isOpenFolder } from './apply-delta.ts';
import { sideAt } from './found.ts';
import { keysToSettle, settleByBytes, settlePart } from './host/settle.ts';
import type { World } from './world.ts';

/**
 * Time to wait for a process to end: it loses its locks a moment before other processes see that it
 * is gone.
 */
const DYING_MS = 100;

/**
 * From this age on, any process may record the result of a change that a hook stored without a
 * lock, if the change's files have changed.
 */
const ABANDONED_MS = 10 * 60_000;

/**
 * At this age, a change that a hook stored without a lock is given up if its files are unchanged.
 * Until then, the host may still wait for the user's permission.
 */
const FORGOTTEN_MS = 24 * 60 * 60_000;

/**
 * Completes the records of changes whose processes died. Finished changes get a journal entry. Changes that were only begun are reverted.
 */
export async function recoverWorld(world: World): Promise<void> {
  // If a process dies after this, the next start of Lookfirst handles its changes.
  const orphans: PendingChange[] = [];
  for (const pending of await world.store.pending({ here: true }))
    if (await isOrphan(world, pending)) orphans.push(pending);
  for (const orphan of orphans) await recoverOne(world, orphan);
}

/**
 * True if no process will record this change's result any more. For a change that was announced
 * without a lock, its age decides: the client may make it after the announcing process has ended.
 */
async function isOrphan(world: World, { owner, host, entry }: PendingChange): Promise<boolean> {
  if (host?.hold === 'none') return world.now() - entry.atMs > ABANDONED_MS;
  return !(await world.isAlive(owner));
}

/**
 * Records the results of changes at these keys that other processes left unfinished. A command that
 * may still run stays pending: only its changes at these keys are recorded.
 */
export async function settleLeft(
  world: World,
  left: readonly PendingChange[],
  keys: readonly string[],
): Promise<void> {
  const running = left.filter((pending) => mayStillRun(world, pending));
  try {
    // Oldest first: of two edits of one file, the earlier one was probably made first.
    for (const pending of left.toSorted((one, other) => one.entry.atMs - other.entry.atMs)) {
      if (running.includes(pending)) continue;
      if (pending.host?.hold !== 'none') await untilGone(world, pending.owner);
      await recoverOne(world, pending);
    }
    // Commands come last: a write that is in the journal by then is not recorded as theirs.
    for (const pending of running) await recordSoFar(world, pending, keys);
  } catch (error) {
    throw settlingFailed(error);
  }
}

/** True for a host's shell command that began so recently that its end may still be reported. */
function mayStillRun(world: World, { entry, host }: PendingChange): boolean {
  return host?.command !== undefined && world.now() - entry.atMs <= ABANDONED_MS;
}

async function recordSoFar(world: World, pending: PendingChange, keys: readonly string[]): Promise<void> {
  const release = await world.locks.acquire(keys, LIMITS.lockTimeoutMs);
  if (release === undefined) return;
  try {
    await settlePart(world, pending, keys);
  } finally {
    release();
  }
}

/**
 * The error for an unfinished change whose result cannot be recorded, for example because of too
 * many open files. The caller's change cannot go on.
 */
function settlingFailed(error: unknown): unknown {
  const reason = errnoOf(error);
  if (reason === undefined) return nothingChanged(error);
  const message = `a change that another process left unfinished cannot be completed or reverted: ${reason}`;
  return new Fault('IO_FAILED', message, { cause: error, reason });
}

async function untilGone(world: World, owner: string): Promise<void> {
  const deadline = Date.now() + DYING_MS;
  while (owner !== world.owner && Date.now() < deadline && (await world.isAlive(owner))) await setTimeout(1);
}

async function recoverOne(world: World, pending: PendingChange): Promise<void> {
  const deltas = byPath(pending.entry.deltas);
  const release = await world.locks.acquire(keysToSettle(world, pending), LIMITS.lockTimeoutMs);
  // Stop if another process holds the lock: it has recorded the change's result, or will.
  if (release === undefined) return;
  try {
    // Stop if another process has recorded the change's result already: the files may have changed
    // since.
    if (!(await isPending(world, pending))) return;
    if (pending.host !== undefined) return await settleHostLeft(world, pending);
    // The record of the change is the list of its temporary files: it stays until they are removed.
    const named = { ...world, disk: { ...world.disk, change: pending.change } };
    const paths = deltas.map(({ key, relative }) => world.workspace.named(key, relative));
    if (!paths.map((path) => areTempsCleared(named, { path })).every((isClear) => isClear)) return;
    await recoverChange(
      {
        store: world.store,
        sideOf: (key) => sideAt(world, key),
        takeBack: (begun) => takeBack(named, begun),
        now: world.now,
      },
      pending,
    );
  } finally {
    release();
  }
}

/**
 * Records the result of another program's change. Never reverts it: the program may rely on the
 * change.
 */
function settleHostLeft(world: World, pending: PendingChange): Promise<void> {
  const { entry, host } = pending;
  const waits = host?.hold === 'none' && world.now() - entry.atMs <= FORGOTTEN_MS;
  const knowledge = new Knowledge({ store: world.store, session: entry.session, policy: world.policy });
  return settleByBytes({ world, knowledge }, pending, { untouched: waits ? 'leave' : 'settle' });
}

async function isPending({ store }: World, { change }: PendingChange): Promise<boolean> {
  return (await store.pending({ change })).length > 0;
}

/**
 * Reverts begun deltas, newest first. Leaves files that another program has changed or that cannot
 * be restored. The journal then records them.
 */
async function takeBack(world: World, begun: readonly StartedDelta[]): Promise<void> {
  const moved = new Set<string>();
  for (const item of begun.toReversed()) {
    if (moved.has(item.delta.key) || isSomeoneElses(item)) continue;
    const source = begun.find(({ delta, state }) => isSource(delta, item.delta) && state === 'done');
    if (source === undefined) {
      await run(world, deltaBack(item));
      continue;
    }
    moved.add(source.delta.key);
    const { key, relative } = item.delta;
    await run(world, { ...deltaBack(source), movedFrom: { key, relative } });
    // Restore the file that the move replaced, now that its path is free.
    await run(world, { ...deltaBack(item), before: ABSENT });
  }
}

/** True for the removal half of a move. */
function isSource({ key, after }: Delta, { movedFrom }: Delta): boolean {
  return movedFrom?.key === key && after.kind === 'absent';
}

/** True if the file has neither the content before the change nor the content after it: another program wrote it. */
function isSomeoneElses({ delta, current, state }: StartedDelta): boolean {
  return state === 'done' && !sameContent(delta.after, current);
}

async function run(world: World, delta: Delta): Promise<void> {
  const path = world.workspace.named(delta.key, delta.relative);
  const restored = { ...delta, path, mode: 'asBefore' as const };
  try {
    const applied = await applyDelta(world, restored);
    if (applied.ok && isOpenFolder(restored)) await closeFolder(world, restored);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
}

function deltaBack({ delta, current }: StartedDelta): Delta {
  const { key, relative, before } = delta;
  return { key, relative, before: current, after: before };
}

/** A delta that a dead process began. */
interface StartedDelta {
  readonly delta: Delta;
  /** The current state of the path. */
  readonly current: State;
  /**
   * `done`: the path has left its old state. `gap`: the old file is gone and the new one is not
   * there yet.
   */
  readonly state: 'done' | 'gap';
}

interface RecoveryOptions {
  readonly store: Store;
  /** The current state at a key. Throws if it cannot be determined. */
  readonly sideOf: (key: string) => Promise<State>;
  /**
   * Restores the state before a change that was only begun, except where other programs changed it
   * since.
   */
  readonly takeBack: (begun: readonly StartedDelta[]) => Promise<void>;
  readonly now: () => number;
}

/**
 * Completes the record of a change whose process died: journals it if it was done, reverts it if it
 * was only begun. The caller must hold the locks of the change. If two processes recover the same
 * change, only one records it.
 */
export async function recoverChange(
  options: RecoveryOptions,
  { change, entry, locked }: PendingChange,
): Promise<void> {
  const announced = byPath(entry.deltas);
  let begun = await lookAt(options, announced);
  if (begun !== undefined && locked !== undefined && isOnlyBegun(announced, begun)) {
    await options.takeBack(begun);
    begun = (await lookAt(options, announced))?.filter(({ delta }) => !isMadeFolder(delta));
  }
  // A file could not be read, so the change stays pending.
  if (begun === undefined) return;
  const deltas = joinMoves(begun.map(asItIs));
  await options.store.record({
    ifPending: change,
    settle: [change],
    ...(deltas.length === 0
      ? {}
      : { entries: [{ ...entryFor(entry, deltas), atMs: options.now(), recovered: true }] }),
  });
}

/** The deltas that were begun, in order; undefined if the state of one cannot be read. */
async function lookAt(
  { sideOf }: RecoveryOptions,
  deltas: readonly Delta[],
): Promise<StartedDelta[] | undefined> {
  const begun: StartedDelta[] = [];
  /**
   * The first delta that was not begun. Effects run in order, so a later delta counts as begun
   * only if its path has the planned content, or was emptied for the move that is `stopped`.
   */
  let stopped: Delta | undefined;
  for (const delta of deltas) {
    let current: State;
    try {
      current = await sideOf(delta.key);
    } catch {
      return undefined;
    }
    if (isUntouched(delta, current)) {
      if (!isIdle(delta)) stopped ??= delta;
    } else if (isGap(delta, current, deltas) && (stopped === undefined || isSource(stopped, delta)))
      begun.push({ delta, current, state: 'gap' });
    else if (stopped === undefined || sameContent(delta.after, current))
      begun.push({ delta, current, state: 'done' });
  }
  return begun;
}

function isOnlyBegun(announced: readonly Delta[], begun: readonly StartedDelta[]): boolean {
  if (begun.length === 0) return false;
  return begun.length < meant(announced).length || begun.some(({ state }) => state === 'gap');
}

/** The deltas whose planned result differs from the state before them. */
function meant(deltas: readonly Delta[]): readonly Delta[] {
  return deltas.filter((delta) => !isIdle(delta));
}

/**
 * True if the path is as it was before the change. False also if another process changed the path,
 * so that it is neither as before nor as planned. Such a delta is recorded, so that a later undo
 * detects the difference.
 */
function isUntouched({ before, after }: Delta, current: State): boolean {
  return sameContent(before, after) ? sameState(before, current) : sameContent(before, current);
}

/**
 * True if the planned result equals the state before the change. For another program's change, that
 * can mean that its result was not known in advance.
 */
function isIdle({ before, after }: Delta): boolean {
  return sameState(before, after);
}

/**
 * True if nothing exists at the path because the process died in the middle of the delta.
 * Replacing a file leaves no such gap. A move, or a change of kind, first removes the old entry.
 */
function isGap(delta: Delta, current: State, deltas: readonly Delta[]): boolean {
  const { before, after } = delta;
  if (current.kind !== 'absent' || before.kind === 'absent' || after.kind === 'absent') return false;
  return (
    before.kind !== after.kind ||
    (delta.movedFrom !== undefined && deltas.some((other) => isSource(other, delta)))
  );
}

/**
 * True for a folder that the change created. If it still exists after the change was reverted,
 * other programs use it. The folder then stays, and the journal does not record it as created.
 */
function isMadeFolder({ before, after }: Delta): boolean {
  return before.kind === 'absent' && after.kind === 'directory';
}

/**
 * The delta for the journal. If the result of another program's change was not known in advance,
 * the current state becomes the result.
 */
function asItIs({ delta, current }: StartedDelta): Delta {
  return isIdle(delta)
    ? { ...delta, after: current.kind === 'file' ? { ...current, kept: false } : current }
    : delta;
}

/**
 * The journal entry for the deltas that were done. If the change was an undo, only their keys are
 * recorded as undone.
 */
function entryFor(entry: NewChangeEntry, deltas: readonly Delta[]): NewChangeEntry {
  const { undone } = entry;
  if (undone === undefined || deltas.length === entry.deltas.length) return { ...entry, deltas };
  return { ...entry, deltas, undone: { ...undone, keys: deltas.flatMap(endsOf) } };
}
