import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errnoOf, Fault, unlessMissing } from '../../model/fault.ts';

const MAX_BYTES = 32 << 20;

/** A user's configuration file as it was read. */
export interface ConfigFile {
  /** The path of the real file, after following links. */
  readonly path: string;
  /** The file's text, including a byte order mark; undefined if there is no file. */
  readonly text: string | undefined;
  /** True if the file's mode lets no user write it. */
  readonly isReadOnly: boolean;
}

/** Reads a file, or returns the reason why it cannot be edited. Throws a Fault on an I/O error. */
export function readConfig(path: string): ConfigFile | { readonly reason: string } {
  try {
    const real = target(path);
    const stats = unlessMissing(() => lstatSync(real));
    const bytes = stats === undefined ? undefined : bytesOf(real, stats);
    if (stats === undefined || bytes === undefined) return { path: real, text: undefined, isReadOnly: false };
    if (typeof bytes === 'string') return { reason: bytes };
    if (!isUtf8(bytes)) return { reason: 'it is not UTF-8 text' };
    return { path: real, text: bytes.toString('utf8'), isReadOnly: (stats.mode & 0o222) === 0 };
  } catch (error) {
    throw failure('read', path, error);
  }
}

/** The text of a file; undefined if there is no file, or it cannot be edited. */
export function configText(path: string): string | undefined {
  const file = readConfig(path);
  return 'reason' in file ? undefined : file.text;
}

/**
 * Replaces the file in one step and keeps its mode and owner. Removes it if `text` is undefined.
 * Returns false without a change if another program has changed the file since it was read.
 * `private`: only the owner can read a file that is created here.
 */
export function writeConfig(
  file: ConfigFile,
  text: string | undefined,
  access: 'as-usual' | 'private' = 'as-usual',
): boolean {
  try {
    return text === undefined ? remove(file) : replace(file, text, access);
  } catch (error) {
    throw failure('write', file.path, error);
  }
}

/** The folders that must be created before this file can be created, innermost first. */
export function missingFolders(path: string): readonly string[] {
  const folder = dirname(path);
  if (folder === path || unlessMissing(() => lstatSync(folder)) !== undefined) return [];
  return [folder, ...missingFolders(folder)];
}

/** Removes a folder if it is empty. */
export function removeEmptyFolder(path: string): void {
  try {
    unlessMissing(() => rmdirSync(path));
  } catch (error) {
    if (!KEPT.has(errnoOf(error) ?? '')) throw failure('write', path, error);
  }
}

/** Error codes of `rmdir` for a folder that stays: it is not empty, is in use, or was replaced by a file. */
const KEPT: ReadonlySet<string> = new Set(['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EBUSY']);

function failure(what: 'read' | 'write', path: string, error: unknown): Fault {
  const why = errnoOf(error);
  const cures: Readonly<Record<string, string>> = {
    EACCES: ': give this user the permission',
    ELOOP: ': its links lead back to themselves',
  };
  const cure = cures[why ?? ''] ?? '';
  const message = `cannot ${what} ${path}${why === undefined ? '' : ` (${why}${cure})`}`;
  return new Fault('IO_FAILED', message, { cause: error, path });
}

/** Follows the links of a path, even if the file at their end does not exist. */
function target(path: string): string {
  const real = unlessMissing(() => realpathSync(path));
  if (real !== undefined) return real;
  const link = unlessMissing(() => lstatSync(path));
  return link?.isSymbolicLink() ? target(resolve(dirname(path), readlinkSync(path))) : path;
}

function bytesOf(path: string, stats: Stats): Buffer | string | undefined {
  if (!stats.isFile()) return 'it is not a file';
  if (stats.size > MAX_BYTES) return `it is larger than ${MAX_BYTES} bytes`;
  return unlessMissing(() => readFileSync(path));
}

function replace(file: ConfigFile, text: string, access: 'as-usual' | 'private'): boolean {
  const { path } = file;
  const before = unlessMissing(() => lstatSync(path));
  const isPrivate = access === 'private';
  for (const folder of missingFolders(path).toReversed()) makeFolder(folder, isPrivate ? 0o700 : 0o777);
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  // Keep the temporary file private until it gets the mode of the file that it replaces.
  const handle = openSync(temporary, 'wx', before === undefined && !isPrivate ? 0o666 : 0o600);
  let kept = false;
  try {
    writeFileSync(handle, text);
    if (before !== undefined) takeAfter(handle, before);
    fsyncSync(handle);
    kept = isAsRead(file);
    if (kept) renameSync(temporary, path);
  } finally {
    closeSync(handle);
    if (unlessMissing(() => lstatSync(temporary)) !== undefined) unlinkSync(temporary);
  }
  return kept;
}

/** Creates one folder. Not recursive, because Node's recursive `mkdir` never returns in /proc. */
function makeFolder(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}

function remove(file: ConfigFile): boolean {
  if (!isAsRead(file)) return false;
  if (file.text !== undefined) unlinkSync(file.path);
  return true;
}

function isAsRead({ path, text }: ConfigFile): boolean {
  return unlessMissing(() => readFileSync(path))?.toString('utf8') === text;
}

function takeAfter(handle: number, { mode, uid, gid }: Stats): void {
  const made = fstatSync(handle);
  // Set the owner before the mode, because changing the owner clears bits of the mode.
  if (made.uid !== uid || made.gid !== gid) fchownSync(handle, uid, gid);
  fchmodSync(handle, mode & 0o7777);
}
