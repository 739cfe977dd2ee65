import { fingerprintIfStill } from '../disk/hash-file.ts';
import { inspect, linkTarget } from '../disk/list.ts';
import { readSnapshot, type Snapshot, type Unreadable } from '../disk/read.ts';
import { type Conflict, conflict } from '../disk/replace.ts';
import { modeOf, stampOf } from '../disk/stats.ts';
import type { Side } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import { at, type Place, type ResolvedPath } from '../model/path.ts';
import type { Refusal } from '../model/verdict.ts';
import type { Located } from '../workspace/workspace.ts';
import type { World } from './world.ts';

export interface FoundSide {
  readonly side: Side;
  /** The bytes of a file, unless it is too large to load. */
  readonly snapshot?: Snapshot;
  /** The stamp of a file, if an equal stamp proves equal bytes. */
  readonly stamp?: Stamp;
}

/**
 * The present state at a key. A key below a file or a link is absent, even if the link's target is a folder. Throws if
 * the state cannot be determined or the key is not in this workspace.
 */
export async function sideAt(world: World, key: string): Promise<Side> {
  return (await foundAt(world, key)).side;
}

/** The present state at a key, with the bytes of a file. Throws like `sideAt`. */
export async function foundAt(world: World, key: string): Promise<FoundSide> {
  const outcome = world.workspace.locate(key, 'undo', 'parents');
  if (!outcome.ok && outcome.refusal.detail?.errno === 'ENOTDIR') return { side: ABSENT };
  if (!outcome.ok) throw new Fault('IO_FAILED', `cannot read ${key}: ${outcome.refusal.code}`, { path: key });
  try {
    const { root, key: found } = outcome.located.place.path;
    if (!world.workspace.stands(root))
      throw new Fault('IO_FAILED', `cannot read ${key}: ${root} was moved`, { path: key });
    return found === key ? await sideOfLocated(world, outcome.located) : { side: ABSENT };
  } finally {
    outcome.located.place.dir.close();
  }
}

/**
 * The state of a located path, with the bytes of a file of up to `maxBytes` (default: the most that can be loaded).
 * Larger files are hashed in bounded memory.
 */
export async function sideOfLocated(world: World, located: Located, maxBytes?: number): Promise<FoundSide> {
  if (!located.exists) return { side: ABSENT };
  const { stats, place } = located;
  if (stats.isDirectory()) return { side: { kind: 'directory', mode: Number(stats.mode & 0o777n) } };
  if (stats.isSymbolicLink()) return { side: { kind: 'link', target: linkTarget(place) ?? '' } };
  const file = await fileAt(world, place, maxBytes);
  if (!('problem' in file)) return file;
  const reason = file.problem === 'slow' ? slowReason(world) : file.problem;
  throw new Fault('IO_FAILED', `cannot read ${place.path.given}: ${reason}`, { path: place.path.given });
}

/** `slow`: the file could not be hashed within `maxReadMs`. `changing`: other programs write it. */
export type UnknownFile = Unreadable | { readonly problem: 'slow' | 'changing' };

/** Like `sideOfLocated`, for a regular file. Returns the reason if its state cannot be determined. */
export async function fileAt(
  world: World,
  place: Place,
  maxBytes?: number,
): Promise<FoundSide | UnknownFile> {
  const limits = { clock: world.disk.clock, ...(maxBytes === undefined ? {} : { maxBytes }) };
  const snapshot = await readSnapshot(place, limits);
  if ('problem' in snapshot) return snapshot.problem === 'too-large' ? largeFileAt(world, place) : snapshot;
  const { racy, stamp } = snapshot;
  return { side: sideOf(snapshot), snapshot, ...(racy ? {} : { stamp }) };
}

async function largeFileAt(world: World, place: Place): Promise<FoundSide | UnknownFile> {
  const stats = inspect(place.dir, place.name);
  if (stats === undefined) return { problem: 'missing' };
  const racy = world.disk.clock.isRacy(stats, at(place));
  const stamp = stampOf(stats);
  try {
    const fingerprint = await fingerprintIfStill(place, stamp, AbortSignal.timeout(world.policy.maxReadMs));
    if (fingerprint === undefined) return { problem: 'changing' };
    return { side: fileSide(fingerprint, modeOf(stats), 'kept'), ...(racy ? {} : { stamp }) };
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') return { problem: 'slow' };
    throw error;
  }
}

/** The refusal of a change of a file whose state cannot be determined. */
export function unknownFile(
  world: World,
  { action, path }: Pick<Refusal, 'action' | 'path'>,
  problem: UnknownFile,
): Refusal {
  const refusal = { code: 'UNVERIFIABLE', action, path, next: 'read_again' } as const;
  if (problem.problem === 'slow')
    return { ...refusal, next: 'ask_human', detail: { reason: slowReason(world) } };
  return problem.problem === 'denied' ? { ...refusal, detail: { errno: problem.errno } } : refusal;
}

function slowReason({ policy }: World): string {
  return `its bytes could not be read within ${policy.maxReadMs} ms (maxReadMs)`;
}

export const ABSENT: Side = { kind: 'absent' };

/** The side of a file. `image`: whether the store holds its bytes. */
export function fileSide(fingerprint: Fingerprint, mode: number, image: 'kept' | 'none'): Side {
  return { kind: 'file', fingerprint, mode, kept: image === 'kept' };
}

/** The side of a file that was read. Its bytes will be kept as an image. */
export function sideOf(snapshot: Snapshot): Side {
  return fileSide(snapshot.fingerprint, modeOf(snapshot.stats), 'kept');
}

/**
 * Resolves a path again that was vetted before, and runs an action there. Returns a conflict if the path can no longer
 * be reached.
 */
export async function atPath<T>(
  world: World,
  path: ResolvedPath,
  work: (place: Place) => T | Promise<T>,
): Promise<T | Conflict> {
  const outcome = world.workspace.locate(path.absolute, 'undo', 'parents');
  if (!outcome.ok) return conflict('changed');
  const { place } = outcome.located;
  try {
    return place.path.key === path.key ? await work(place) : conflict('changed');
  } finally {
    place.dir.close();
  }
}

/** The bytes at a key before they are overwritten, or undefined if they cannot be read. */
export async function snapshotAt(world: World, key: string): Promise<Snapshot | undefined> {
  const outcome = world.workspace.locate(key, 'overwrite', 'parents');
  if (!outcome.ok) return undefined;
  try {
    const snapshot = await readSnapshot(outcome.located.place, { clock: world.disk.clock });
    return 'problem' in snapshot ? undefined : snapshot;
  } finally {
    outcome.located.place.dir.close();
  }
}
