import { randomUUID } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { errnoOf, isMissing } from '../model/fault.ts';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import { at, type Place } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import { type Content, type Expected, fingerprintOfContent, holdsContent } from './content.ts';
import type { DiskContext } from './context.ts';
import { moveIfFree } from './free-name.ts';
import { type Copied, copyOut } from './held-files.ts';
import { modeOf, readAllSync, stampOf } from './read.ts';
import type { Staged, TempFile } from './temp-file.ts';

/**
 * The input for putting a new file in the place of an old one: the target, the new file, and the
 * old file held open.
 */
export interface Publication {
  readonly place: Place;
  readonly temp: TempFile;
  readonly old: { readonly fd: number; readonly stats: BigIntStats };
  readonly expected: Expected;
  readonly intended: Content;
  /** Set if the replaced file is one that this process has just written. */
  readonly ours?: true;
}

export type Published =
  /**
   * `displaced`: the current path of the old file. `left`: stats of the old file, read after it
   * lost its name.
   */
  | { readonly ok: true; readonly displaced: string; readonly left?: BigIntStats }
  /**
   * Another process changed the file before us, and its version keeps the name. `retained`: paths
   * of files that now lie outside the workspace, because they could not be put back.
   */
  | { readonly ok: false; readonly retained: readonly string[] };

/** The fields of a publication that describe its new file. */
export type New = Pick<Publication, 'place' | 'temp' | 'intended'>;

/** Makes the replaced file readable for its owner, because an undo must be able to read it. */
export function letOwnerRead({ place, old }: Pick<Publication, 'place' | 'old'>): void {
  const mode = modeOf(old.stats);
  if (place.opensOwn === true && (mode & constants.S_IRUSR) === 0)
    fchmodSync(old.fd, mode | constants.S_IRUSR);
}

/**
 * After a failure, renames our published file away from the target's name. If another process has
 * given that name to its own file meanwhile, that file stays.
 */
export function withdraw(context: DiskContext, publication: New): void {
  const { place, temp } = publication;
  try {
    renameSync(at(place), temp.path);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  if (lstatSync(temp.path, { bigint: true }).ino === temp.stats.ino) keepOurs(context, publication);
  else if (!moveIfFree(temp.path, at(place))) retain(context, temp.path);
}

/**
 * Keeps our own file outside the workspace after it lost the target's name: a process that opened
 * it under that name may still write into it. Returns its path if a process has already written
 * into it, otherwise an empty list.
 */
export function keepOurs(context: DiskContext, publication: New): string[] {
  const { temp, intended } = publication;
  const named = lstatSync(temp.path, { bigint: true, throwIfNoEntry: false })?.ino === temp.stats.ino;
  const touched = !holdsContent(temp.fd, intended);
  if (named) {
    const kept = touched ? retain(context, temp.path) : retainOrDrop(context, temp.path);
    return touched ? [kept] : [];
  }
  if (!touched) return [];
  const { size } = fstatSync(temp.fd, { bigint: true });
  return [retainBytes(context, readAllSync(temp.fd, Number(size)))];
}

/**
 * After a failure, deletes our own file if its bytes are unchanged. Otherwise another process wrote
 * into it: the file stays, and `clearTemps` moves it out of the workspace.
 */
export function discardOurs({ temp, intended }: New): void {
  if (lstatSync(temp.path, { bigint: true, throwIfNoEntry: false })?.ino !== temp.stats.ino) return;
  if (holdsContent(temp.fd, intended)) unlinkSync(temp.path);
}

/**
 * Moves one of this process's own files out of the workspace and returns its new path. If that
 * fails, for example because the disk is full, deletes the file and returns an empty text.
 */
export function retainOrDrop(context: DiskContext, path: string): string {
  try {
    return retain(context, path);
  } catch {
    unlinkSync(path);
    return '';
  }
}

/**
 * Unsynced content of fewer bytes is written within one tick of the file system's clock. So
 * `mayHideWrites` need not read that clock for it.
 */
const WORTH_ASKING_BYTES = 1n << 19n;

/**
 * New content. `staged`: the temporary file beside the target that already holds it, if there is
 * one.
 */
export type NewContent = Content & { readonly staged?: Staged };

export interface Committed {
  readonly ok: true;
  readonly fingerprint: Fingerprint;
  readonly stamp: Stamp;
  /** True if the stat fields in `stamp` may belong to bytes that another process wrote. */
  readonly racy: boolean;
  readonly mode: number;
  /** The current path of the file that was replaced or removed, outside the workspace. */
  readonly displaced?: string;
  /** Stats of the replaced or removed file, read after it lost its name. */
  readonly left?: BigIntStats | undefined;
  readonly notices: readonly Notice[];
}

/**
 * True if another process could write to the file right after us and the file's stats would not
 * show it, because both writes get the same time. Call it just before publishing. Always true for
 * small unsynced content, which is written within one clock tick.
 */
export function mayHideWrites(context: DiskContext, { dir }: Place, { stats }: TempFile): boolean {
  const quick = context.durability === 'none' && stats.size < WORTH_ASKING_BYTES;
  return quick || context.clock.isRacy(stats, `${dir.prefix}/.`);
}

/**
 * The record of a published file. Its fingerprint comes from the intended bytes, never from reading
 * the file again.
 */
export function committed(
  temp: TempFile,
  { content, hidesWrites }: { readonly content: Content; readonly hidesWrites: boolean },
): Committed {
  const stats = fstatSync(temp.fd, { bigint: true });
  return {
    ok: true,
    fingerprint: fingerprintOfContent(content),
    stamp: stampOf(stats),
    racy: hidesWrites || stats.mtimeNs !== temp.stats.mtimeNs || stats.size !== temp.stats.size,
    mode: modeOf(stats),
    notices: [],
  };
}

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Moves a file out of the workspace onto the shelf, and returns its new path. Processes that still
 * have it open then write into the moved file. `sha256`: its bytes, if a change displaces it. Across
 * file systems, the file is copied, and the original stays open to notice late writes.
 */
export function retain(context: DiskContext, from: string, sha256?: string): string {
  context.trace?.('retain');
  const to = freshName(context, sha256);
  try {
    inFolder(context, () => renameSync(from, to));
  } catch (error) {
    if (errnoOf(error) !== 'EXDEV') throw error;
    retainCopy(context, from, to);
  }
  return to;
}

/** Runs `work`. If the `retained` folder was deleted, recreates it and runs `work` again. */
function inFolder<T>(context: DiskContext, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!isMissing(error)) throw error;
    mkdirSync(context.retained, { recursive: true, mode: 0o700 });
    return work();
  }
}

function retainCopy(context: DiskContext, from: string, to: string): void {
  const fd = openSync(from, READ);
  let copy: Copied;
  try {
    copy = copyOut(fd, to);
    syncFile(context, to);
    unlinkSync(from);
  } catch (error) {
    closeSync(fd);
    rmSync(to, { force: true });
    throw error;
  }
  context.held.hold(fd, copy);
}

/** Writes bytes to a new file in the `retained` folder and returns its path. */
export function retainBytes(context: DiskContext, bytes: Uint8Array): string {
  const to = freshName(context);
  const fd = inFolder(context, () => openSync(to, 'wx', 0o600));
  try {
    for (let done = 0; done < bytes.byteLength; ) done += writeSync(fd, bytes, done);
    if (context.durability !== 'none') fsyncSync(fd);
  } catch (error) {
    unlinkSync(to);
    throw error;
  } finally {
    closeSync(fd);
  }
  return to;
}

function freshName(context: DiskContext, sha256?: string): string {
  // Make every name unique, because a process and its workers share the folder: an equal name would
  // overwrite a kept file.
  const bytes = sha256 === undefined ? '' : `${sha256}-`;
  return join(context.retained, `${Date.now()}-${bytes}${randomUUID()}`);
}

function syncFile(context: DiskContext, path: string): void {
  if (context.durability === 'none') return;
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
