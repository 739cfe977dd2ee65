import { setTimeout } from 'node:timers/promises';
import { fingerprintOfRetained, listRetained } from '../disk/retained.ts';
import { type Begun, recoverChange } from '../journal/recovery.ts';
import { sameContent } from '../journal/side.ts';
import type { UndoStep } from '../journal/undo-steps.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { Effect, PendingChange } from '../model/entry.ts';
import { errnoOf } from '../model/errno.ts';
import { Fault, nothingChanged } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Sighting } from '../model/sighting.ts';
import { settleByBytes } from './foreign/settle.ts';
import { outermostKeys } from './keys.ts';
import { restoreStep } from './restore-step.ts';
import { sideAt } from './side-at.ts';
import { ABSENT } from './sides.ts';
import type { World } from './world.ts';

/** A process on its way out loses its locks a moment before it is seen to be gone. */
const DYING_MS = 100;
/** A change announced without a lock, whose files have changed, is settled by any process after this time. */
const ABANDONED_MS = 10 * 60_000;
/** Its program may still wait for a user's permission while the files are unchanged; after this time it will not come. */
const FORGOTTEN_MS = 24 * 60 * 60_000;

/**
 * Settles the changes of processes that died in the middle: what was done goes into the journal, with the before-image
 * that may still lie among the displaced files; what was only begun is taken back.
 */
export async function recoverWorld(world: World): Promise<void> {
  // Before the cleaning up: whoever dies between the two is the next start's.
  const orphans: PendingChange[] = [];
  for (const pending of await world.store.pending({ here: true }))
    if (await isOrphan(world, pending)) orphans.push(pending);
  world.cleanUp();
  for (const orphan of orphans) await recoverOne(world, orphan);
}

/** A change that nobody will settle any more. One that is announced without a lock outlives its process. */
async function isOrphan(world: World, { owner, foreign, entry }: PendingChange): Promise<boolean> {
  if (foreign?.hold === 'none') return world.now() - entry.atMs > ABANDONED_MS;
  return !(await world.isAlive(owner));
}

/**
 * Locks keys for a change, and first settles what a dead process has left there, so that the journal tells everything in
 * the order it happened. A change that was announced under a lock that we now have is no longer being made. With a ledger,
 * its sightings of these keys are fetched in the same round trip and held as long as the lock.
 */
export async function lockKeys(
  world: World,
  keys: readonly string[],
  ledger?: Ledger,
): Promise<(() => void) | undefined> {
  const release = await world.locks.acquire(keys, world.policy.lockTimeoutMs);
  if (release === undefined) return undefined;
  let left: readonly PendingChange[];
  let seen: ReadonlyMap<string, Sighting> | undefined;
  try {
    [left, seen] = await Promise.all([world.store.pending({ keys, here: true }), ledger?.recallMany(keys)]);
  } catch (error) {
    release();
    throw nothingChanged(error);
  }
  if (left.length === 0) {
    const unhold = seen && ledger?.fetched.hold(keys, seen);
    return () => {
      unhold?.();
      release();
    };
  }
  release();
  try {
    for (const pending of left) await settleLeft(world, pending);
  } catch (error) {
    throw settlingFailed(error);
  }
  const again = await world.locks.acquire(keys, world.policy.lockTimeoutMs);
  if (again === undefined) return undefined;
  return () => {
    again();
    // A program that was announced without a lock may overwrite what was just written: keep it at once.
    if (left.some(({ foreign }) => foreign?.hold === 'none')) void world.baselines.settled();
  };
}

async function settleLeft(world: World, pending: PendingChange): Promise<void> {
  if (pending.foreign?.hold !== 'none') {
    await untilGone(world, pending.owner);
    world.cleanUp();
  }
  await recoverOne(world, pending);
}

/** Too many open files, say: whoever wants to go on from what was left cannot. */
function settlingFailed(error: unknown): unknown {
  const reason = errnoOf(error);
  if (reason === undefined) return error;
  const message = `what another process has left there cannot be settled: ${reason}`;
  return new Fault('IO_FAILED', message, { cause: error, reason });
}

async function untilGone(world: World, owner: string): Promise<void> {
  const deadline = Date.now() + DYING_MS;
  while (owner !== world.owner && Date.now() < deadline && (await world.isAlive(owner))) await setTimeout(1);
}

async function recoverOne(world: World, pending: PendingChange): Promise<void> {
  const effects = pending.entry.effects ?? [];
  const keys = outermostKeys([...(pending.locked ?? []), ...effects.map(({ key }) => key)]);
  const release = await world.locks.acquire(keys, world.policy.lockTimeoutMs);
  // Someone is at work there, and has settled it before or will.
  if (release === undefined) return;
  try {
    // Whoever was faster has settled it, and others have gone on from there.
    if (!(await isPending(world, pending))) return;
    if (pending.foreign !== undefined) return await settleForeignLeft(world, pending);
    await findImages(world, effects);
    await recoverChange(
      {
        store: world.store,
        sideOf: (key) => sideAt(world, key),
        takeBack: (begun) => takeBack(world, begun),
        now: world.now,
      },
      pending,
    );
  } finally {
    release();
  }
}

/** Another program's change is never taken back: that program may have gone on from it. */
function settleForeignLeft(world: World, pending: PendingChange): Promise<void> {
  const { entry, foreign } = pending;
  const waits = foreign?.hold === 'none' && world.now() - entry.atMs <= FORGOTTEN_MS;
  const ledger = new Ledger({ store: world.store, session: entry.session, policy: world.policy });
  return settleByBytes({ world, ledger }, pending, { untouched: waits ? 'leave' : 'settle' });
}

async function isPending({ store }: World, { change }: PendingChange): Promise<boolean> {
  return (await store.pending({ change })).length > 0;
}

/** Before-images that still lie among the displaced files, looked for in one go: a folder may have held very many. */
async function findImages(world: World, effects: readonly Effect[]): Promise<void> {
  const wanted = new Map<string, Fingerprint>();
  for (const { before } of effects)
    if (before.kind === 'file' && !(await world.images.has(before.fingerprint.sha256)))
      wanted.set(before.fingerprint.sha256, before.fingerprint);
  if (wanted.size === 0) return;
  const sizes = new Set([...wanted.values()].map(({ size }) => size));
  for (const retained of listRetained(world.disk)) {
    if (!sizes.has(retained.size)) continue;
    const found = wanted.get(fingerprintOfRetained(retained)?.sha256 ?? '');
    if (found === undefined) continue;
    // Not taken away: another process may have displaced a file with the same bytes this very moment.
    await world.images.keepLink(retained.file, found).catch((error: unknown) => {
      // That other process has just taken it over: then it is among the images.
      if (fingerprintOfRetained(retained) !== undefined) throw error;
    });
    wanted.delete(found.sha256);
  }
}

/** Newest first. What someone has changed since, or what cannot be brought back now, is left to the journal. */
async function takeBack(world: World, begun: readonly Begun[]): Promise<void> {
  const moved = new Set<string>();
  for (const item of begun.toReversed()) {
    if (moved.has(item.effect.key) || isSomeoneElses(item)) continue;
    const source = begun.find(({ effect, state }) => effect.movedTo === item.effect.key && state === 'done');
    if (source === undefined) {
      await run(world, stepBack(item));
      continue;
    }
    moved.add(source.effect.key);
    const from = { key: item.effect.key, relative: item.effect.relative };
    await run(world, { ...stepBack(source), from });
    // What the move has replaced comes back to the place that is free now.
    await run(world, { ...stepBack(item), expect: ABSENT });
  }
}

/** Neither what was there before nor what the change was to put there. */
function isSomeoneElses({ effect, current, state }: Begun): boolean {
  return state === 'done' && !sameContent(effect.after, current);
}

async function run(world: World, step: UndoStep): Promise<void> {
  try {
    await restoreStep(world, step, { path: world.workspace.named(step.key, step.relative) }).run();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
}

function stepBack({ effect, current }: Begun): UndoStep {
  const { key, relative, before } = effect;
  return { key, relative, expect: current, restore: before };
}
