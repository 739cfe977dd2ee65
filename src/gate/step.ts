import { BATCH_FILES, batchContext, severalContext } from '../disk/context.ts';
import { inspect, linkTarget } from '../disk/list.ts';
import { fingerprintIfStill } from '../disk/page.ts';
import { modeOf, readSnapshot, type Snapshot, stampOf, type Unreadable } from '../disk/read.ts';
import { type Conflict, conflict } from '../disk/replace.ts';
import { type Awaitable, andThen, MAX_TIMER_MS } from '../model/awaitable.ts';
import type { Effect, Side } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import { at, foldersAbove, type Place, type ResolvedPath } from '../model/path.ts';
import type { Policy } from '../model/policy.ts';
import type { ChangeResult, Notice } from '../model/results.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Action, Refusal } from '../model/verdict.ts';
import type { AdoptedStats, KeptTree, TreeFile } from '../store/images.ts';
import type { Found, Located } from '../workspace/workspace.ts';
import type { World } from './world.ts';

/** One allowed change, ready to run under the lock. */
export interface Step {
  readonly action: Action;
  readonly path: ResolvedPath;
  /**
   * The planned effects, which are stored before any file is touched. Empty if nothing will change.
   */
  readonly effects: readonly Effect[];
  /** The file's bytes after the step, if it writes one file. */
  readonly bytes?: Uint8Array;
  /** The lines of `bytes` that count as seen. */
  readonly seen?:
    | Pick<Sighting, 'coverage' | 'totalLines' | 'flags' | 'how' | 'pages' | 'unplaced'>
    | undefined;
  /** Like `seen`, for an answer without the notices about other programs' changes. */
  readonly untold?: Pick<Sighting, 'coverage' | 'unplaced'> | undefined;
  /** Further result fields of an edit, as far as they are already known. */
  readonly more?: Pick<ChangeResult, 'replaced' | 'tier' | 'inserted' | 'diff'> | undefined;
  /** Notices known before the step runs. They are also part of the result. */
  readonly notices?: readonly Notice[];
  /**
   * The expected result, with a bounded diff: for dry runs, and for the question whether the user
   * approves.
   */
  preview?(): Pick<ChangeResult, 'diff' | 'sizeBytes' | 'replaced' | 'inserted'>;
  /**
   * Writes new bytes to temporary files before `run`. A batch syncs the files of all steps
   * together. `alone`: the change has no other step.
   */
  stage?(how?: 'alone'): Promise<void>;
  /**
   * True if `stage` changes nothing that other programs use. It may then run while the planned
   * change is being stored.
   */
  readonly stagesEarly?: boolean;
  /** Removes the temporary files of `stage` that were not renamed to their final names. */
  unstage?(): void | Promise<void>;
  /** Changes the disk. After a conflict or a Fault nothing of this step remains, unless `isLeft` returns true. */
  run(): Promise<Done | Conflict>;
  /** Called after all steps have run, last step first. */
  finish?(): void;
  /**
   * True if something could not be reverted after a conflict or a Fault. The change then stays
   * pending until a process that locks one of its files completes its record.
   */
  isLeft?(): boolean;
  /**
   * Reverts the step, because a later step failed or the change could not be recorded. Returns false if another program
   * has changed the file since.
   */
  revert(): Promise<boolean>;
  /** Closes the folders that the step holds open. */
  close(): void;
}

export interface Done {
  readonly ok: true;
  /** The real effects, if they differ from the planned ones. */
  readonly effects?: readonly Effect[];
  /** The key of a folder that should be removed but is still in use. */
  readonly stayed?: string;
  readonly result: Omit<ChangeResult, 'change'>;
  /** Records of what the session has seen of the files, after the step. */
  readonly sightings: readonly Sighting[];
  /** Keys of files that the session knows to be gone. */
  readonly tombstones: readonly string[];
  /** Replaced and removed files, already moved out of the workspace. They are stored for an undo. */
  readonly displaced: readonly Displaced[];
  /**
   * Syncs the folder that holds the new name. The caller runs this while it stores the old files.
   * Undefined if the folder is synced already.
   */
  readonly syncNames?: (() => Promise<void>) | undefined;
}

export interface Displaced {
  /** The path outside the workspace to which the file was moved. */
  readonly file: string;
  readonly sha256: string;
  readonly size: number;
  /** The file's bytes, if they are in memory. */
  readonly bytes?: Uint8Array;
  /** The file's stats after it left the workspace, if they are known. */
  readonly stats?: AdoptedStats | undefined;
  /**
   * Set if the file left the workspace together with its whole folder. An undo can then read the
   * file in the moved folder.
   */
  readonly tree?: (Pick<TreeFile, 'name' | 'stamp'> & Pick<KeptTree, 'folder'>) | undefined;
}

export interface DoneStep {
  readonly step: Step;
  readonly outcome: Done;
}

/**
 * Returns the `World` (store, disk, policy) for a change of `files` files. Many files are synced
 * together, except with `in order`: then each is complete before the next is written. The steps and
 * `carryOut` must get the same `World`.
 */
export function worldFor(
  world: World,
  files: number,
  how: 'together' | 'in order' = 'together',
): Awaitable<World> {
  const { disk } = world;
  if (files < 2 || disk.batch !== undefined) return world;
  if (how === 'in order' || files < BATCH_FILES) return { ...world, disk: severalContext(disk) };
  return disk.sync
    .works(disk.retained)
    .then((isBatch) => ({ ...world, disk: isBatch ? batchContext(disk) : severalContext(disk) }));
}

/** Policy settings that one call may change for itself. */
export type CallSettings = Partial<Pick<Policy, 'seen' | 'staleness'>>;

export function withSettings(world: World, settings: CallSettings | undefined): World {
  return settings === undefined ? world : { ...world, policy: { ...world.policy, ...settings } };
}

type Refused = Pick<Step, 'action' | 'path'>;

/**
 * The refusal if another program changed the file between the last check and our change. Nothing of
 * our change was done. The refusal names the files that were moved out of the workspace and kept.
 */
export function conflictRefusal(step: Refused, conflict: Conflict): Refusal {
  const refusal = refusalOf(step, conflict);
  if (conflict.retained.length === 0) return refusal;
  return { ...refusal, detail: { ...refusal.detail, kept: conflict.retained } };
}

function refusalOf(step: Refused, conflict: Conflict): Refusal {
  const base = { action: step.action, path: step.path.given };
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

export interface FoundSide {
  readonly side: Side;
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
export async function sideAt(world: World, key: string): Promise<Side> {
  return (await foundAt(world, key)).side;
}

/** The present state at a key, with the bytes of a file. Throws like `sideAt`. */
export async function foundAt(world: World, key: string): Promise<FoundSide> {
  const outcome = world.workspace.locate(key, 'undo', 'parents');
  if (!outcome.ok && isBelowNoFolder(world, key)) return { side: ABSENT };
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

/** True if a file or a link is in the place of a folder above the key. */
function isBelowNoFolder({ workspace }: World, key: string): boolean {
  for (const folder of foldersAbove([key])) {
    const outcome = workspace.locate(folder, 'undo', 'parents');
    if (!outcome.ok) continue;
    const { located } = outcome;
    located.place.dir.close();
    if (located.place.path.key === folder && located.exists && !located.stats.isDirectory()) return true;
  }
  return false;
}

/**
 * The state of a located path, with the bytes of a file of up to `maxBytes` (default: the most that can be loaded).
 * Larger files are hashed in bounded memory.
 */
export function sideOfLocated(world: World, located: Located, maxBytes?: number): Awaitable<FoundSide> {
  if (!located.exists) return { side: ABSENT };
  const { stats, place } = located;
  if (stats.isDirectory()) return { side: { kind: 'directory', mode: Number(stats.mode & 0o777n) } };
  if (stats.isSymbolicLink()) return { side: { kind: 'link', target: linkTarget(place) ?? '' } };
  return andThen(fileAt(world, place, { maxBytes, seen: stats }), (file) => {
    if (!('problem' in file)) return file;
    const reason = file.problem === 'slow' ? slowReason(world) : file.problem;
    throw new Fault('IO_FAILED', `cannot read ${place.path.given}: ${reason}`, { path: place.path.given });
  });
}

/** `slow`: the file could not be hashed within `maxReadMs`. `changing`: other programs write it. */
export type UnknownFile = Unreadable | { readonly problem: 'slow' | 'changing' };

/**
 * Like `sideOfLocated`, for a regular file. Returns the reason if its state cannot be determined.
 * `seen`: the caller's lstat result.
 */
export function fileAt(
  world: World,
  place: Place,
  { maxBytes, seen }: { readonly maxBytes?: number | undefined; readonly seen?: Found['stats'] } = {},
): Awaitable<FoundSide | UnknownFile> {
  const limits = { ...(maxBytes === undefined ? {} : { maxBytes }), ...(seen === undefined ? {} : { seen }) };
  const reading = readSnapshot(place, { clock: world.disk.clock, ...limits });
  return andThen<Snapshot | Unreadable, FoundSide | UnknownFile>(reading, (snapshot) => {
    if ('problem' in snapshot) return snapshot.problem === 'too-large' ? largeFileAt(world, place) : snapshot;
    const { racy, stamp } = snapshot;
    const side = sideOf(snapshot);
    return racy ? { side, snapshot } : { side, snapshot, stamp };
  });
}

async function largeFileAt(world: World, place: Place): Promise<FoundSide | UnknownFile> {
  const stats = inspect(place.dir, place.name);
  if (stats === undefined) return { problem: 'missing' };
  const racy = world.disk.clock.isRacy(stats, at(place));
  const stamp = stampOf(stats);
  try {
    const limitMs = Math.min(world.policy.maxReadMs, MAX_TIMER_MS);
    const fingerprint = await fingerprintIfStill(place, stamp, AbortSignal.timeout(limitMs));
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

/**
 * The state of a file, with the fields in the journal's order. `kept`: the file's bytes are stored
 * for an undo. `none`: they are not stored.
 */
export function fileSide(fingerprint: Fingerprint, mode: number, image: 'kept' | 'none'): Side {
  return { fingerprint, kept: image === 'kept', kind: 'file', mode };
}

/** The state of a file that was read. Its bytes will be stored for an undo. */
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

/** The bytes at a key that a change will overwrite, or undefined if they cannot be read. */
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
