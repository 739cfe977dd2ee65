import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  lstatSync,
  openSync,
  unlinkSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { errnoOf, unlessErrno } from '../model/fault.ts';
import type { Place } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import { type Content, smallBytes, writeContent, writeNow } from './content.ts';
import type { DiskContext, NativeFiles } from './context.ts';
import { modeOf } from './read.ts';
import { tempName } from './temp-names.ts';

const fsyncAsync = promisify(fsync);

const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const SPECIAL_BITS = 0o7000;
/** File capabilities grant privileges like setuid, so they are not carried over to bytes an agent wrote. */
const CAPABILITIES = 'security.capability';
/**
 * Attributes that contain signatures of the old bytes. If they were copied to a file with other
 * bytes, the system would refuse to read that file.
 */
const OF_THE_BYTES = new Set(['security.ima', 'security.evm']);

/** A complete file beside its target, not yet published. It is synced unless durability is `none`. */
export interface TempFile {
  /**
   * This path leads through an open handle of the folder, so it is valid only while that handle is
   * open.
   */
  readonly path: string;
  readonly name: string;
  readonly fd: number;
  /** The stats right after the bytes were written. */
  readonly stats: BigIntStats;
  /** Notices about properties that the new file could not take over from the file it replaces. */
  readonly notices: readonly Notice[];
}

/**
 * The source of a new file's owner, mode and attributes: the file that it replaces, if there is
 * one. `mode`, if given, has priority over that file's mode.
 */
type Likeness =
  | { readonly kind: 'replaces'; readonly stats: BigIntStats; readonly fd: number; readonly mode?: number }
  | { readonly kind: 'new'; readonly mode?: number };

/** The content of a temporary file, and the attributes to set. */
interface NewTemp {
  readonly content: Content;
  readonly like: Likeness;
}

/** Writes a complete temporary file beside the target. On failure removes it and throws the error. */
export async function writeTemp(
  context: DiskContext,
  place: Place,
  { content, like }: NewTemp,
): Promise<TempFile> {
  const opened = openTemp(context, place, like);
  try {
    context.trace?.('temp-write');
    await writeContent(opened.fd, content);
    const temp = finishedTemp(context, opened, like);
    if (context.durability !== 'none') await fsyncAsync(temp.fd);
    return temp;
  } catch (error) {
    drop(opened);
    throw error;
  }
}

/** Like `writeTemp`, without waiting. Undefined if the file is large or must be synced. */
export function writeTempNow(
  context: DiskContext,
  place: Place,
  { content, like }: NewTemp,
): TempFile | undefined {
  const bytes = context.durability === 'none' ? smallBytes(content) : undefined;
  if (bytes === undefined) return undefined;
  const opened = openTemp(context, place, like);
  try {
    context.trace?.('temp-write');
    writeNow(opened.fd, bytes);
    return finishedTemp(context, opened, like);
  } catch (error) {
    drop(opened);
    throw error;
  }
}

type OpenTemp = Pick<TempFile, 'path' | 'name' | 'fd'>;

function openTemp(context: DiskContext, place: Place, like: Likeness): OpenTemp {
  context.trace?.('temp-open');
  const name = tempName(context, place.path, 'new');
  const path = `${place.dir.prefix}/${name}`;
  return { path, name, fd: openSync(path, CREATE, firstMode(like)) };
}

/** Gives a written file its owner, mode and attributes. */
function finishedTemp(context: DiskContext, opened: OpenTemp, like: Likeness): TempFile {
  context.trace?.('temp-attributes');
  const made = { fd: opened.fd, stats: fstatSync(opened.fd, { bigint: true }) };
  const notices = applyLikeness(context, made, like);
  context.trace?.('temp-sync');
  return { ...opened, stats: made.stats, notices };
}

function drop({ path, fd }: OpenTemp): void {
  closeSync(fd);
  removeQuietly(path);
}

/**
 * The mode with which a temporary file is created. A replacement is private until it gets its final
 * mode, so that other users cannot read a 0600 secret, even briefly.
 */
function firstMode({ kind }: Likeness): number {
  return kind === 'replaces' ? 0o600 : 0o666;
}

/**
 * A temporary file that was written and closed before its publication, so that a batch needs no
 * open descriptor per file.
 */
export type Staged = Pick<TempFile, 'name' | 'stats' | 'notices'>;

/** Writes a temporary file beside its target and closes it. Continue with `openStaged` or `dropStaged`. */
export async function stageTemp(context: DiskContext, place: Place, temp: NewTemp): Promise<Staged> {
  const { fd, name, stats, notices } = await writeTemp(context, place, temp);
  closeSync(fd);
  return { name, stats, notices };
}

/** True if the owner of a file with this mode can open it again, as `openStaged` does. */
export function canBeStaged(mode: number): boolean {
  const both = constants.S_IRUSR | constants.S_IWUSR;
  return (mode & both) === both;
}

/**
 * Opens a temporary file that was written earlier. Undefined if its name is free or belongs to
 * another entry.
 */
export function openStaged({ dir }: Place, { name, stats, notices }: Staged): TempFile | undefined {
  const path = `${dir.prefix}/${name}`;
  if (inodeAt(path) !== stats.ino) return undefined;
  const fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if (fstatSync(fd, { bigint: true }).ino === stats.ino) return { path, name, fd, stats, notices };
  closeSync(fd);
  return undefined;
}

/** Removes a temporary file that was not published. */
export function dropStaged({ dir }: Place, { name, stats }: Staged): void {
  const path = `${dir.prefix}/${name}`;
  if (inodeAt(path) === stats.ino) unlinkSync(path);
}

/** The inode at a path; undefined if nothing is there. Does not follow a link. */
export function inodeAt(path: string): bigint | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

/** Removes a file and ignores errors, because the caller reports the original failure. */
function removeQuietly(path: string): void {
  unlessErrno(() => unlinkSync(path));
}

/**
 * Removes our temporary file if the temporary name still belongs to it. After an exchange with the
 * target's name, the temporary name belongs to the old file.
 */
export function discard(temp: TempFile): void {
  if (inodeAt(temp.path) === temp.stats.ino) unlinkSync(temp.path);
}

interface Made {
  readonly fd: number;
  readonly stats: BigIntStats;
}

function applyLikeness(context: DiskContext, made: Made, like: Likeness): Notice[] {
  const { fd } = made;
  if (like.kind === 'new') {
    if (like.mode !== undefined) fchmodSync(fd, like.mode & ~SPECIAL_BITS);
    return [];
  }
  const notices: Notice[] = copyOwner(made, like.stats);
  const attributes = copyAttributes(context, like.fd, fd);
  if (attributes.lost) notices.push({ kind: 'xattrs-lost' });
  const mode = modeOf(like.stats);
  // Set the mode after the owner, because changing the owner clears mode bits. Setuid, setgid and
  // sticky bits are never carried over to bytes that an agent wrote.
  fchmodSync(fd, (like.mode ?? mode) & ~SPECIAL_BITS);
  const dropped = [...specialBits(mode), ...attributes.privileges];
  if (dropped.length > 0) notices.push({ kind: 'mode-bits-dropped', bits: dropped.join(', ') });
  return notices;
}

function specialBits(mode: number): string[] {
  const names = [mode & 0o4000 ? 'setuid' : '', mode & 0o2000 ? 'setgid' : '', mode & 0o1000 ? 'sticky' : ''];
  return names.filter((name) => name !== '');
}

function copyOwner({ fd, stats: own }: Made, like: BigIntStats): Notice[] {
  if (own.uid === like.uid && own.gid === like.gid) return [];
  try {
    fchownSync(fd, Number(like.uid), Number(like.gid));
    return [];
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [{ kind: 'owner-changed' }];
  }
}

/**
 * Copies extended attributes and access lists. `lost`: at least one could not be copied.
 * `privileges`: attributes that are never copied, because they grant privileges. Without the native
 * helper, copies nothing, because Node cannot read attributes.
 */
function copyAttributes(
  context: DiskContext,
  from: number,
  to: number,
): { readonly lost: boolean; readonly privileges: readonly string[] } {
  const { native } = context;
  if (native === undefined) return { lost: false, privileges: [] };
  const privileges: string[] = [];
  let lost = false;
  for (const name of attributeNames(native, from)) {
    if (name === CAPABILITIES) privileges.push('capabilities');
    else if (!OF_THE_BYTES.has(name) && !copyAttribute(native, { name, from, to })) lost = true;
  }
  return { lost, privileges };
}

function attributeNames(native: NativeFiles, fd: number): readonly string[] {
  try {
    return [...native.listAttrsSync(fd)];
  } catch (error) {
    // Return no names if the file system does not support attributes.
    if (errnoOf(error) === 'ENOTSUP') return [];
    throw error;
  }
}

function copyAttribute(native: NativeFiles, copy: { name: string; from: number; to: number }): boolean {
  try {
    const value = native.getAttrSync(copy.from, copy.name);
    if (value !== null) native.setAttrSync(copy.to, copy.name, value);
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}
