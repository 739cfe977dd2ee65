import { setTimeout } from 'node:timers/promises';
import type { PendingChange } from '../model/entry.ts';
import { nothingChanged } from '../model/fault.ts';
import type { FileIntent } from '../model/intent.ts';
import { LIMITS } from '../model/limits.ts';
import { invalidArgument, type Outcome, type Refusal, refused } from '../model/verdict.ts';
import type { AtLocked } from '../store/store.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { HOST_POLL_MS, isHostWriting } from './host-writes.ts';
import { settleLeft } from './recover.ts';
import type { World } from './world.ts';

/**
 * The longest time that one change waits for hosts, if several of them write one after the other.
 * Clients end a hook after 10 seconds, and some then let the call pass.
 */
const HOSTS_WAIT_MS = 5000;

/** A change that gives a file another path, other permissions, or both, and perhaps other text. */
export type Relocation = Extract<FileIntent, { kind: 'edit' | 'insert' | 'move' }>;

/**
 * Keys of the paths that the moves of a batch leave free (`left`) and of those that they fill
 * (`filled`).
 */
export interface BatchMoves {
  readonly left: ReadonlySet<string>;
  readonly filled: ReadonlySet<string>;
}

/** The source and destination of a change, or undefined if the file stays at its path. */
export function routeOf(change: FileIntent): { readonly from: string; readonly to: string } | undefined {
  if (change.kind === 'move') return { from: change.source, to: change.destination };
  if (change.kind !== 'edit' && change.kind !== 'insert') return undefined;
  return change.moveTo === undefined ? undefined : { from: change.path, to: change.moveTo };
}

const NO_MOVES: BatchMoves = { left: new Set(), filled: new Set() };

/** Collects the paths from which and to which a batch moves files. */
export function batchMoves(world: World, changes: readonly FileIntent[]): BatchMoves {
  const routes = changes.flatMap((change) => routeOf(change) ?? []);
  if (routes.length === 0) return NO_MOVES;
  const keyOf = (path: string): string[] => {
    const resolved = world.workspace.resolve(path, 'status', 'parents');
    return resolved.ok ? [resolved.path.key] : [];
  };
  return {
    left: new Set(routes.flatMap(({ from }) => keyOf(from))),
    filled: new Set(routes.flatMap(({ to }) => keyOf(to))),
  };
}

/**
 * True if a change must be done as a relocation: write the bytes at the new path and remove the old
 * file. A move that is independent of the batch's other changes is a plain rename.
 */
export function isRelocation(world: World, change: FileIntent, moves: BatchMoves): boolean {
  if (change.kind === 'insert') return change.moveTo !== undefined;
  if (change.kind === 'edit') return change.moveTo !== undefined || change.executable !== undefined;
  if (change.kind !== 'move' || moves.left.size < 2) return false;
  const own = batchMoves(world, [change]);
  const meets = (keys: ReadonlySet<string>, others: ReadonlySet<string>): boolean =>
    [...keys].some((key) => others.has(key));
  return meets(own.left, moves.filled) || meets(own.filled, moves.left);
}

/**
 * The keys of all files that the changes touch, for locking. Refuses a batch with two changes of
 * one file: the second would be judged without the first. Also refuses changes in a folder that the
 * batch moves, deletes or replaces.
 */
export function keysOf(world: World, changes: readonly FileIntent[]): Outcome<{ keys: readonly string[] }> {
  const [only] = changes;
  if (only !== undefined && changes.length === 1 && only.kind !== 'move' && routeOf(only) === undefined) {
    // Usually the name alone gives the key. Keys for links and missing folders are locked later, when they are known.
    const key = world.workspace.keyOf(only.path);
    return { ok: true, keys: key === undefined ? [] : [key] };
  }
  const touched = changes.flatMap((change) =>
    pathsOf(change).flatMap((path, index) => {
      const found = keyOf(world, path, change);
      return found === undefined ? [] : [{ ...found, path, change, role: roleOf(change, index) }];
    }),
  );
  if (changes.length > 1) {
    const roles = new Map<string, Role[]>();
    for (const each of touched) {
      const known = roles.get(each.key) ?? [];
      if (!maySharePlace(known, each.role)) return refused(twice(each, TWICE));
      roles.set(each.key, [...known, each.role]);
    }
    const inside = insideAnother(touched);
    if (inside !== undefined) return refused(inside);
  }
  return { ok: true, keys: touched.flatMap(lockedBy) };
}

function lockedBy({ key, folder }: Pick<Touched, 'key' | 'folder'>): readonly string[] {
  return folder === undefined ? [key] : [key, folder];
}

/**
 * The delta of a change on a path. `leaves`: the file leaves the path. `comes`: a file arrives
 * there. `changes`: the file changes in place.
 */
type Role = 'leaves' | 'comes' | 'changes';

function roleOf(change: FileIntent, index: number): Role {
  if (routeOf(change) === undefined) return 'changes';
  return index === 0 ? 'leaves' : 'comes';
}

/**
 * True if a batch may contain another change of this path. That is allowed only if one file leaves
 * the path and another file arrives there.
 */
function maySharePlace(known: readonly Role[], role: Role): boolean {
  if (known.length === 0) return true;
  return known.length === 1 && role !== 'changes' && !known.includes('changes') && !known.includes(role);
}

interface Touched {
  readonly key: string;
  /** Key of the outermost missing folder that must be made for this path. */
  readonly folder: string | undefined;
  readonly path: string;
  readonly change: FileIntent;
}

/**
 * The refusal for a path below a folder that another change of the batch moves, removes or replaces
 * by a file.
 */
function insideAnother(touched: readonly Touched[]): Refusal | undefined {
  const byKey = new Map(touched.map((each) => [each.key, each.change]));
  for (const { key, path, change } of touched) {
    for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
      const around = byKey.get(key.slice(0, end));
      if (around !== undefined && around !== change && around.kind !== 'mkdir')
        return twice({ path, change }, INSIDE[around.kind]);
    }
  }
  return undefined;
}

const TWICE = 'the batch changes this file twice; join the changes into one, or send two batches';

const GOES = 'the batch moves or deletes the folder that contains it; send two batches';

const BECOMES_A_FILE = 'the batch replaces the folder that contains it by a file';

const INSIDE: Readonly<Record<Exclude<FileIntent['kind'], 'mkdir'>, string>> = {
  move: GOES,
  delete: GOES,
  write: BECOMES_A_FILE,
  edit: BECOMES_A_FILE,
  insert: BECOMES_A_FILE,
};

export function pathsOf(change: FileIntent): readonly string[] {
  const route = routeOf(change);
  if (route !== undefined) return [route.from, route.to];
  return 'path' in change ? [change.path] : [];
}

/**
 * The lock key of a path. A link that is deleted or moved has its own key; a link that is written through has its
 * target's key.
 */
function keyOf(world: World, path: string, change: FileIntent): Pick<Touched, 'key' | 'folder'> | undefined {
  const links = change.kind === 'delete' || routeOf(change) !== undefined ? 'parents' : 'all';
  const resolved = world.workspace.resolve(path, 'status', links);
  return resolved.ok ? { key: resolved.path.key, folder: missingFolder(resolved) } : undefined;
}

/** The key of the outermost missing folder above a path; undefined if the parent folder exists. */
export function missingFolder(
  resolved: Extract<ReturnType<Workspace['resolve']>, { readonly ok: true }>,
): string | undefined {
  if (resolved.exists || resolved.missing.length < 2) return undefined;
  return resolved.path.key
    .split('/')
    .slice(0, 1 - resolved.missing.length)
    .join('/');
}

function twice({ path, change }: Pick<Touched, 'path' | 'change'>, reason: string): Refusal {
  const action = change.kind === 'write' ? 'overwrite' : change.kind;
  return invalidArgument(action, path, reason);
}

/** The session for which files are locked, and what happens to changes that were left unfinished there. */
interface LockedFor {
  readonly session?: string | undefined;
  /** Default: `settle`. The caller of `leave` records what happened there itself. */
  readonly unfinished?: 'settle' | 'leave';
  /** If given, what the session was shown of the files is fetched, and kept while they are locked. */
  readonly knowledge?: Knowledge | undefined;
}

/**
 * Locks keys for a change, and completes the records of changes that dead processes left unfinished
 * there. First waits for hosts of other sessions that are about to write there, so that the written
 * bytes are attributed to those sessions. Undefined if a lock was not free in time.
 */
export async function lockKeys(
  world: World,
  keys: readonly string[],
  { knowledge, session = knowledge?.session, unfinished = 'settle' }: LockedFor = {},
): Promise<(() => void) | undefined> {
  const giveUpMs = world.now() + HOSTS_WAIT_MS;
  for (;;) {
    const unlock = await world.locks.acquire(keys, LIMITS.lockTimeoutMs);
    if (unlock === undefined) return undefined;
    let found: AtLocked;
    try {
      found = await world.store.atLocked(keys, knowledge?.session);
    } catch (error) {
      unlock();
      throw unfinished === 'leave' ? error : nothingChanged(error);
    }
    const { left, seen } = found;
    const isHostAbout = left.some((each) => isHostWriting(world, each, session));
    const isWaiting = isHostAbout && world.now() < giveUpMs;
    if (left.length === 0 || (unfinished === 'leave' && !isWaiting))
      return holding(knowledge, { keys, seen, unlock });
    unlock();
    if (!isWaiting) return settleAndLock(world, keys, left);
    await setTimeout(HOST_POLL_MS);
  }
}

function holding(
  knowledge: Knowledge | undefined,
  { keys, seen, unlock }: Pick<AtLocked, 'seen'> & { readonly keys: readonly string[]; unlock(): void },
): () => void {
  if (knowledge === undefined) return unlock;
  const drop = knowledge.hold(keys, seen);
  return () => {
    drop();
    unlock();
  };
}

async function settleAndLock(
  world: World,
  keys: readonly string[],
  left: readonly PendingChange[],
): Promise<(() => void) | undefined> {
  await settleLeft(world, left, keys);
  const release = await world.locks.acquire(keys, LIMITS.lockTimeoutMs);
  if (release === undefined) return undefined;
  return () => {
    release();
    // Store the new bytes now: another program, whose change is pending without a lock, may
    // overwrite them soon.
    if (left.some(({ host }) => host?.hold === 'none')) world.images.flush();
  };
}
