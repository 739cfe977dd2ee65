import {
  chmodSync,
  closeSync,
  constants,
  type Dirent,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { errnoOf, isMissing, unlessMissing } from '../model/fault.ts';
import type { DiskContext } from './context.ts';
import { fingerprintOfOpen } from './held-files.ts';
import { KEPT_FOLDER } from './publication.ts';

/**
 * A displaced file on the shelf: a change has replaced or removed it. It stays there for a day,
 * because a program may still have it open and write into it.
 */
export interface ShelfFile {
  readonly file: string;
  readonly size: number;
  /** When the file was put on the shelf. */
  readonly sinceMs: number;
  /** The bytes that it held then. Undefined for bytes that no change of ours has displaced. */
  readonly sha256: string | undefined;
  /** Set for a copy that was made because a program wrote into the displaced file. */
  readonly isLate: boolean;
}

/** A folder on the shelf, which a change has removed with its contents. */
export interface ShelfFolder {
  readonly folder: string;
  readonly sinceMs: number;
  /** The change that removed it. Undefined if the change was not completed. */
  readonly change: string | undefined;
}

/** Name prefix of files with a late write that the journal has reported. */
const TOLD = 'told-';
const DISPLACED = /^(\d+)-([0-9a-f]{64})-/;
const LATE = /-late-([0-9a-f]{64})$/;
const FOLDER = new RegExp(`^${KEPT_FOLDER}(\\d+)-[0-9a-f-]{36}(?:\\.(\\w+))?$`);
/**
 * A file's bytes are compared right before it is displaced. If its last write was longer than this
 * before, the bytes still match: file systems have coarse clocks.
 */
const MOMENT_MS = 2000;
/** Number of entries removed before other tasks may run. */
const REMOVED_AT_ONCE = 64;

/** The files on the shelf, without those in folders. */
export function filesOnShelf(context: DiskContext): readonly ShelfFile[] {
  return namesIn(context.retained).flatMap((name) => {
    if (name.startsWith(KEPT_FOLDER) || name.startsWith(TOLD)) return [];
    const file = join(context.retained, name);
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats === undefined || !stats.isFile()) return [];
    const late = LATE.exec(name)?.[1];
    const sha256 = late ?? DISPLACED.exec(name)?.[2];
    return [{ file, size: stats.size, sinceMs: stats.ctimeMs, sha256, isLate: late !== undefined }];
  });
}

export function foldersOnShelf(context: DiskContext): readonly ShelfFolder[] {
  return namesIn(context.retained).flatMap((name) => {
    const found = FOLDER.exec(name);
    if (found === null) return [];
    return [{ folder: join(context.retained, name), sinceMs: Number(found[1]), change: found[2] }];
  });
}

/** Notes in a folder's name which change removed it. */
export function nameChange(folder: string, change: string): void {
  unlessMissing(() => renameSync(folder, `${folder}.${change}`));
}

/** The paths, relative to a folder on the shelf, of the files that were written about when it got there or later. */
export function writtenIn({ folder, sinceMs }: ShelfFolder): readonly string[] {
  return filesBelow(folder, '').filter((name) => {
    const stats = lstatSync(join(folder, name), { throwIfNoEntry: false });
    return stats !== undefined && stats.mtimeMs >= sinceMs - MOMENT_MS;
  });
}

function filesBelow(folder: string, prefix: string): string[] {
  return entriesIn(join(folder, prefix)).flatMap((entry) => {
    const name = `${prefix}${entry.name}`;
    if (entry.isDirectory()) return filesBelow(folder, `${name}/`);
    return entry.isFile() ? [name] : [];
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
export function hashOnShelf(file: string): string | undefined {
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
  const told = join(
    context.retained,
    `${TOLD}${file.slice(context.retained.length + 1).replaceAll('/', '-')}`,
  );
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

/** Removes displaced files and folders that have been on the shelf since before `beforeMs`. */
export async function clearShelf(context: DiskContext, beforeMs: number): Promise<void> {
  for (const { file, sinceMs, sha256 } of filesOnShelf(context))
    if (sha256 !== undefined && sinceMs < beforeMs) unlinkIfThere(file);
  for (const { folder, sinceMs } of foldersOnShelf(context)) if (sinceMs < beforeMs) await removeAll(folder);
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
  for (const name of filesBelow(context.retained, '')) {
    const file = join(context.retained, name);
    const known = /[0-9a-f]{64}/.exec(name)?.[0] ?? '';
    if (hashes.has(known) || hashes.has(hashOnShelf(file) ?? '')) unlinkIfThere(file);
  }
}

export function dropFromShelf({ file }: ShelfFile): void {
  unlinkIfThere(file);
}

/** Removes a folder that a change has taken out of the workspace. Ignores system errors: the next call tries again. */
async function removeAll(folder: string): Promise<void> {
  try {
    chmodSync(folder, 0o700);
    let count = 0;
    for (const entry of entriesIn(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) await removeAll(path);
      else unlinkIfThere(path);
      count += 1;
      if (count % REMOVED_AT_ONCE === 0) await setImmediate();
    }
    rmdirSync(folder);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/** Removes one of our own files. No error if another process has already removed it. */
function unlinkIfThere(path: string): void {
  unlessMissing(() => unlinkSync(path));
}

function entriesIn(folder: string): Dirent[] {
  return unlessMissing(() => readdirSync(folder, { withFileTypes: true })) ?? [];
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
