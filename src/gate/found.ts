import { inspect, linkTarget } from '../disk/list.ts';
import { fingerprintIfStill } from '../disk/page.ts';
import { modeOf, readSnapshot, type Snapshot, stampOf, type Unreadable } from '../disk/read.ts';
import { type Conflict, conflict } from '../disk/replace.ts';
import { ABSENT, type State } from '../model/delta.ts';
import { Fault } from '../model/fault.ts';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import { at, foldersAbove, type Place, type ResolvedPath, topOf } from '../model/path.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import { MAX_TIMER_MS } from '../model/waiting.ts';
import type { Found, Located } from '../workspace/workspace.ts';
import type { World } from './world.ts';

export interface FoundState {
  readonly side: State;
  /** The bytes of a file, unless it is too large to load. */
  readonly snapshot?: Snapshot;
  /** Stat fields of the file. Set only if unchanged fields prove unchanged bytes. */
  readonly stamp?: Stamp;
}

/**
 * The present state at a key (a canonical path). A key below a file or a link is absent, wherever
 * the link leads. Throws if the state cannot be determined or the key is not in this
 * workspace.
 */
export async function sideAt(world: World, key: string): Promise<State> {
  return (await foundAt(world, key)).side;
}

/** The present state at a key, with the bytes of a file. Throws like `sideAt`. */
export async function foundAt(world: World, key: string): Promise<FoundState> {
  const outcome = world.workspace.locate(key, 'undo', 'parents');
  if (!outcome.ok && isBelowNoFolder(world, key)) return { side: ABSENT };
  if (!outcome.ok) throw new Fault('IO_FAILED', `cannot read ${key}: ${outcome.refusal.code}`, { path: key });
  try {
    const { root, key: found } = outcome.located.place.path;
    if (!world.workspace.stands(root))
      throw new Fault('IO_FAILED', `cannot read ${key}: ${root} was moved`, { path: key });
    return found === key ? await stateOfLocated(world, outcome.located) : { side: ABSENT };
  } finally {
    outcome.located.place.dir.close();
  }
}

/**
 * The present state at a key. Undefined if it cannot be read, for example without permission or if
 * it is a FIFO. One such file must not keep the changes of all others from being recorded.
 */
export async function readableAt(world: World, key: string): Promise<FoundState | undefined> {
  try {
    return await foundAt(world, key);
  } catch (error) {
    const { roots } = world.workspace;
    if (error instanceof Fault && roots.every((root) => world.workspace.stands(root))) return undefined;
    throw error;
  }
}

/** True if a file or a link is in the place of a folder above the key. */
export function isBelowNoFolder({ workspace }: World, key: string): boolean {
  for (const folder of foldersAbove([key])) {
    const found = workspace.resolve(folder, 'undo', 'parents');
    if (found.ok && found.path.key === folder && found.exists && !found.stats.isDirectory()) return true;
  }
  return false;
}

/**
 * The state of a located path, with the bytes of a file of up to `maxBytes` (default: the most that can be loaded).
 * Larger files are hashed in bounded memory.
 */
export async function stateOfLocated(world: World, located: Located, maxBytes?: number): Promise<FoundState> {
  if (!located.exists) return { side: ABSENT };
  const { stats, place } = located;
  const unread = stateWithoutBytes(located);
  if (unread !== undefined) return { side: unread };
  const file = await fileAt(world, place, { maxBytes, seen: stats });
  if (!('problem' in file)) return file;
  const reason = file.problem === 'slow' ? slowReason() : file.problem;
  throw new Fault('IO_FAILED', `cannot read ${place.path.given}: ${reason}`, { path: place.path.given });
}

/** The state of a folder or a link. Undefined for everything else. */
export function stateWithoutBytes({ stats, place }: Found): State | undefined {
  if (stats.isDirectory()) return { kind: 'directory', mode: Number(stats.mode & 0o777n) };
  return stats.isSymbolicLink() ? { kind: 'link', target: linkTarget(place) ?? '' } : undefined;
}

/** `slow`: the file could not be hashed within `maxReadMs`. `changing`: other programs write it. */
export type UnknownFile = Unreadable | { readonly problem: 'slow' | 'changing' };

/**
 * Like `stateOfLocated`, for a regular file. Returns the reason if its state cannot be determined.
 * `seen`: the caller's lstat result.
 */
export async function fileAt(
  world: World,
  place: Place,
  { maxBytes, seen }: { readonly maxBytes?: number | undefined; readonly seen?: Found['stats'] } = {},
): Promise<FoundState | UnknownFile> {
  const limits = { ...(maxBytes === undefined ? {} : { maxBytes }), ...(seen === undefined ? {} : { seen }) };
  const snapshot = await readSnapshot(place, { clock: world.disk.clock, ...limits });
  if ('problem' in snapshot) return snapshot.problem === 'too-large' ? largeFileAt(world, place) : snapshot;
  const { racy, stamp } = snapshot;
  const side = sideOf(snapshot);
  return racy ? { side, snapshot } : { side, snapshot, stamp };
}

async function largeFileAt(world: World, place: Place): Promise<FoundState | UnknownFile> {
  const stats = inspect(place.dir, place.name);
  if (stats === undefined) return { problem: 'missing' };
  const racy = world.disk.clock.isRacy(stats, at(place));
  const stamp = stampOf(stats);
  try {
    const limitMs = Math.min(LIMITS.maxReadMs, MAX_TIMER_MS);
    const fingerprint = await fingerprintIfStill(place, stamp, AbortSignal.timeout(limitMs));
    if (fingerprint === undefined) return { problem: 'changing' };
    return { side: fileState(fingerprint, modeOf(stats), 'kept'), ...(racy ? {} : { stamp }) };
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') return { problem: 'slow' };
    throw error;
  }
}

/** The refusal of a change of a file whose state cannot be determined. */
export function unknownFile(
  { action, path }: Pick<Refusal, 'action' | 'path'>,
  problem: UnknownFile,
): Refusal {
  const refusal = { code: 'UNVERIFIABLE', action, path, next: 'read_again' } as const;
  if (problem.problem === 'slow') return { ...refusal, next: 'ask_human', detail: { reason: slowReason() } };
  return problem.problem === 'denied' ? { ...refusal, detail: { errno: problem.errno } } : refusal;
}

function slowReason(): string {
  return `its bytes could not be read within ${LIMITS.maxReadMs} ms`;
}

/**
 * The state of a file, with the fields in the journal's order. `kept`: the file's bytes are stored
 * for an undo. `none`: they are not stored.
 */
export function fileState(fingerprint: Fingerprint, mode: number, image: 'kept' | 'none'): State {
  return { fingerprint, kept: image === 'kept', kind: 'file', mode };
}

/** The state of a file that was read. Its bytes will be stored for an undo. */
export function sideOf(snapshot: Snapshot): State {
  return fileState(snapshot.fingerprint, modeOf(snapshot.stats), 'kept');
}

/**
 * Resolves a path again that was vetted before, and runs an action there. Returns a conflict if the path can no longer
 * be reached.
 */
export function atPath<T>(
  world: World,
  { absolute, key }: ResolvedPath,
  work: (place: Place) => T | Promise<T>,
): Promise<T | Conflict> {
  return world.workspace.at<T | Conflict>(
    { path: absolute, action: 'undo', links: 'parents' },
    ({ place }) => (place.path.key === key ? work(place) : conflict('changed')),
    () => conflict('changed'),
  );
}

/** The bytes at a key that a change will overwrite, or undefined if they cannot be read. */
export function snapshotAt(world: World, key: string): Promise<Snapshot | undefined> {
  const read = async ({ place }: Located): Promise<Snapshot | undefined> => {
    const snapshot = await readSnapshot(place, { clock: world.disk.clock });
    return 'problem' in snapshot ? undefined : snapshot;
  };
  return world.workspace.at({ path: key, action: 'overwrite', links: 'parents' }, read, () => undefined);
}

/** The session's sighting of a file's present bytes. The rest says which of them it has seen. */
export function presentSighting(
  world: World,
  { fingerprint, stamp, racy }: Snapshot,
  seen: Omit<Sighting, 'fingerprint' | 'stamp' | 'racy' | 'atMs'>,
): Sighting {
  return { ...seen, fingerprint, stamp, racy, atMs: world.now() };
}

/** True if something is at a key. */
export function existsAt({ workspace }: World, key: string): boolean {
  const resolved = workspace.resolve(key, 'undo', 'parents');
  return resolved.ok && resolved.exists;
}

/** Lets commands and undo reach a path outside the workspace. False if that is not possible. */
export function reachOutside({ workspace }: World, path: string): boolean {
  const top = topOf(path);
  return top !== undefined && workspace.adopt(top) === 'there';
}
