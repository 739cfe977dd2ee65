import { setTimeout } from 'node:timers/promises';
import { fingerprintOfRetained, listRetained } from '../disk/retained.ts';
import { type Begun, recoverChange } from '../journal/recovery.ts';
import type { UndoStep } from '../journal/undo-steps.ts';
import { Ledger } from '../ledger/ledger.ts';
import { type Effect, type PendingChange, sameContent } from '../model/entry.ts';
import { errnoOf } from '../model/errno.ts';
import { Fault, nothingChanged } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Basis } from '../store/store.ts';
import { settleByBytes } from './foreign/settle.ts';
import { outermostKeys } from './keys.ts';
import { restoreStep } from './restore-step.ts';
import { ABSENT, sideAt } from './step.ts';
import type { World } from './world.ts';

/** An exiting process loses its locks a moment before it is seen to be gone. */
const DYING_MS = 100;
/** A change announced without a lock, whose files have changed, is settled by any process after this time. */
const ABANDONED_MS = 10 * 60_000;
/**
 * While the files are unchanged, the announcing program may still wait for the user's permission. After this time it is
 * taken for dead.
 */
const FORGOTTEN_MS = 24 * 60 * 60_000;

/**
 * Settles the changes of processes that died midway. Completed changes are journalled, with before-images found among
 * the displaced files. Changes that were only begun are reverted.
 */
export async function recoverWorld(world: World): Promise<void> {
  // Collect orphans before cleaning up. If a process dies between the two, the next start handles it.
  const orphans: PendingChange[] = [];
  for (const pending of await world.store.pending({ here: true }))
    if (await isOrphan(world, pending)) orphans.push(pending);
  world.cleanUp();
  for (const orphan of orphans) await recoverOne(world, orphan);
}

/** True if no process will settle this change. A change announced without a lock may outlive its process. */
async function isOrphan(world: World, { owner, foreign, entry }: PendingChange): Promise<boolean> {
  if (foreign?.hold === 'none') return world.now() - entry.atMs > ABANDONED_MS;
  return !(await world.isAlive(owner));
}

/**
 * Locks keys for a change. First settles changes that a dead process left there, so that the journal keeps the order of
 * events. A pending change whose lock we now hold is no longer running. With a ledger, the sightings of these keys are
 * fetched in the same round trip and cached while the lock is held.
 */
export async function lockKeys(
  world: World,
  keys: readonly string[],
  ledger?: Ledger,
): Promise<(() => void) | undefined> {
  const release = await world.locks.acquire(keys, world.policy.lockTimeoutMs);
  return release && lookUnder(world, keys, { release, ledger });
}

/** The release of locks, and what the change judged under them must confirm when it is announced. */
export interface Held {
  readonly basis?: Basis;
  release(): void;
}

/**
 * Like `lockKeys`, without a round trip if the store remembers what the session has seen. Then nothing is known of
 * pending changes: the announcement must confirm the basis.
 */
export async function lockRemembered(
  world: World,
  keys: readonly string[],
  ledger: Ledger,
): Promise<Held | undefined> {
  const locked = await world.locks.acquire(keys, world.policy.lockTimeoutMs);
  if (locked === undefined) return undefined;
  const remembered = ledger.fetched.remembered(keys);
  if (remembered === undefined) return heldBy(await lookUnder(world, keys, { release: locked, ledger }));
  const unhold = ledger.fetched.hold(keys, remembered.sightings);
  const release = (): void => {
    unhold();
    locked();
  };
  return { basis: remembered.basis, release };
}

/** Like `lockRemembered`, always by what the store says. */
export async function lockLooked(
  world: World,
  keys: readonly string[],
  ledger: Ledger,
): Promise<Held | undefined> {
  return heldBy(await lockKeys(world, keys, ledger));
}

function heldBy(release: (() => void) | undefined): Held | undefined {
  return release && { release };
}

/** Settles pending changes at locked keys and fetches what the session has seen of them. Returns the release. */
async function lookUnder(
  world: World,
  keys: readonly string[],
  { release, ledger }: { release(): void; readonly ledger: Ledger | undefined },
): Promise<(() => void) | undefined> {
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
    // A program announced without a lock may overwrite the bytes just written: store them immediately.
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

/**
 * The fault for a pending change that cannot be settled, for example because of too many open files. The caller's
 * change cannot go on.
 */
function settlingFailed(error: unknown): unknown {
  const reason = errnoOf(error);
  if (reason === undefined) return error;
  const message = `a change that another process left unfinished cannot be settled: ${reason}`;
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
  // Another process holds the lock and has settled the change, or will.
  if (release === undefined) return;
  try {
    // Another process has settled the change already, and the files may have changed since.
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

/** Settles another program's change, but never reverts it: that program may have continued from it. */
function settleForeignLeft(world: World, pending: PendingChange): Promise<void> {
  const { entry, foreign } = pending;
  const waits = foreign?.hold === 'none' && world.now() - entry.atMs <= FORGOTTEN_MS;
  const ledger = new Ledger({ store: world.store, session: entry.session, policy: world.policy });
  return settleByBytes({ world, ledger }, pending, { untouched: waits ? 'leave' : 'settle' });
}

async function isPending({ store }: World, { change }: PendingChange): Promise<boolean> {
  return (await store.pending({ change })).length > 0;
}

/**
 * Stores before-images that are still among the displaced files. One search for all: a folder may have held very many
 * files.
 */
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
    // Link, do not move: another process may have displaced a file with the same bytes a moment ago.
    await world.images.keepLink(retained.file, found).catch((error: unknown) => {
      // The file is gone because that other process has just stored it as an image.
      if (fingerprintOfRetained(retained) !== undefined) throw error;
    });
    wanted.delete(found.sha256);
  }
}

/**
 * Reverts begun effects, newest first. Files that changed since or cannot be restored stay; the journal records them.
 */
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
    // Restore the file that the move replaced, now that its path is free.
    await run(world, { ...stepBack(item), expect: ABSENT });
  }
}

/** True if the file has neither the content before the change nor the content after it: another program wrote it. */
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
