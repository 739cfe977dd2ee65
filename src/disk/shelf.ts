import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { errnoOf, isMissing, unlessMissing } from '../model/fault.ts';
import type { Expected } from './content.ts';
import type { DiskContext } from './context.ts';
import { copyOut, fingerprintOfOpen } from './held-files.ts';

/**
 * A displaced file on the shelf: a change has replaced or removed it. It stays there for a day,
 * because a program may still have it open and write into it.
 */
interface ShelfFile {
  readonly file: string;
  readonly size: number;
  /** When the file was put on the shelf. */
  readonly sinceMs: number;
  /** The bytes that it held then. Undefined for bytes that no change of ours has displaced. */
  readonly sha256: string | undefined;
  /** Set for a copy that was made because a program wrote into the displaced file. */
  readonly isLate: boolean;
}

/** Name prefix of files with a late write that the journal has reported. */
const TOLD = 'told-';
const DISPLACED = /^(\d+)-([0-9a-f]{64})-/;
const LATE = /-late-([0-9a-f]{64})$/;
/**
 * A file's bytes are compared right before it is displaced. If its last write was longer than this
 * before, the bytes still match: file systems have coarse clocks.
 */
const MOMENT_MS = 2000;

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

/**
 * Moves a file that a change replaces or removes onto the shelf, and returns its new path. `ours`:
 * this process has just written it, so it is deleted if there is no room to keep it.
 */
export function displace(
  context: DiskContext,
  from: string,
  { ours, expected }: { readonly ours?: true | undefined; readonly expected: Pick<Expected, 'fingerprint'> },
): string {
  return ours ? retainOrDrop(context, from) : retain(context, from, expected.fingerprint.sha256);
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
  let copy: ReturnType<typeof copyOut>;
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

/** The files on the shelf. */
export function filesOnShelf(context: DiskContext): readonly ShelfFile[] {
  return namesIn(context.retained).flatMap((name) => {
    if (name.startsWith(TOLD)) return [];
    const file = join(context.retained, name);
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats === undefined || !stats.isFile()) return [];
    const late = LATE.exec(name)?.[1];
    const sha256 = late ?? DISPLACED.exec(name)?.[2];
    return [{ file, size: stats.size, sinceMs: stats.ctimeMs, sha256, isLate: late !== undefined }];
  });
}

/** True if a program has written into a displaced file. False if that is not known. */
export function isWritten({ file, sha256, isLate }: ShelfFile): boolean {
  if (isLate || sha256 === undefined) return isLate;
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined || stats.ctimeMs - stats.mtimeMs > MOMENT_MS) return false;
  const now = hashOnShelf(file);
  return now !== undefined && now !== sha256;
}

/** The hash of a file on the shelf; undefined if another process has moved it since it was listed. */
function hashOnShelf(file: string): string | undefined {
  const fd = unlessMissing(() =>
    openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK),
  );
  if (fd === undefined) return undefined;
  try {
    return fingerprintOfOpen(fd).sha256;
  } finally {
    closeSync(fd);
  }
}

/**
 * Gives a file with a late write the name under which it is reported, so that only one process
 * reports it, and only once. Returns the new path; undefined if another process was faster.
 */
export function takeToTell(context: DiskContext, file: string): string | undefined {
  const told = join(context.retained, `${TOLD}${basename(file)}`);
  try {
    renameSync(file, told);
    return told;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Undoes `takeToTell`, if the late write could not be reported. */
export function giveBackToTell(told: string, file: string): void {
  unlessMissing(() => renameSync(told, file));
}

/** Removes what has been on the shelf since before `beforeMs`, except bytes that no change of ours displaced. */
export function clearShelf(context: DiskContext, beforeMs: number): void {
  for (const { file, sinceMs, sha256 } of filesOnShelf(context))
    if (sha256 !== undefined && sinceMs < beforeMs) unlinkIfThere(file);
}

/**
 * Files that no change displaced, or with a reported late write, older than `beforeMs`. Two programs
 * that changed a file at once leave such files.
 */
export function leftoversOnShelf(context: DiskContext, beforeMs: number): readonly ShelfFile[] {
  const told = namesIn(context.retained).flatMap((name) => {
    const file = join(context.retained, name);
    const stats = name.startsWith(TOLD) ? lstatSync(file, { throwIfNoEntry: false }) : undefined;
    if (stats === undefined) return [];
    return [{ file, size: stats.size, sinceMs: stats.ctimeMs, sha256: undefined, isLate: false }];
  });
  const strays = filesOnShelf(context).filter(({ sha256 }) => sha256 === undefined);
  return [...strays, ...told].filter(({ sinceMs }) => sinceMs < beforeMs);
}

/** Removes every file on the shelf that holds, or held when it got there, bytes with one of these hashes. */
export function purgeShelf(context: DiskContext, hashes: ReadonlySet<string>): void {
  for (const name of namesIn(context.retained)) {
    const file = join(context.retained, name);
    const known = /[0-9a-f]{64}/.exec(name)?.[0] ?? '';
    if (hashes.has(known) || hashes.has(hashOnShelf(file) ?? '')) unlinkIfThere(file);
  }
}

export function dropFromShelf({ file }: ShelfFile): void {
  unlinkIfThere(file);
}

/** Removes one of our own files. No error if another process has already removed it. */
function unlinkIfThere(path: string): void {
  unlessMissing(() => unlinkSync(path));
}

/** The names in a folder; empty if the folder does not exist. */
function namesIn(folder: string): string[] {
  return unlessMissing(() => readdirSync(folder)) ?? [];
}

/** A displaced file is watched for this time. By then an editor that had it open has usually saved it. */
const WATCHED_MS = 60_000;
const LOOK_EVERY_MS = 400;
const MAX_WATCHED = 64;

interface WatchedFile {
  readonly file: string;
  readonly written: string;
  readonly untilMs: number;
}

/** Looks at the files that were displaced last, and calls `onWrite` when a program has written into one. */
export class LateWatch {
  readonly #onWrite: () => Promise<void>;
  #files: WatchedFile[] = [];
  #timer: NodeJS.Timeout | undefined;
  #noting: Promise<void> = Promise.resolve();

  constructor(onWrite: () => Promise<void>) {
    this.#onWrite = onWrite;
  }

  watch(file: string): void {
    const written = writtenAt(file);
    if (written === undefined) return;
    this.#files.push({ file, written, untilMs: Date.now() + WATCHED_MS });
    if (this.#files.length > MAX_WATCHED) this.#files.shift();
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#noting;
  }

  #look(): void {
    const nowMs = Date.now();
    const watched = this.#files.length;
    this.#files = this.#files.filter(({ file, written }) => writtenAt(file) === written);
    if (this.#files.length < watched) this.#noting = this.#noting.then(this.#onWrite);
    this.#files = this.#files.filter(({ untilMs }) => untilMs > nowMs);
    if (this.#files.length === 0) this.#stop();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Changes when a program writes into the file; undefined if the file is gone. */
function writtenAt(file: string): string | undefined {
  const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.mtimeNs}:${stats.size}`;
}
