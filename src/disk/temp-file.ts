import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  fsyncSync,
  lstatSync,
  openSync,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf } from '../model/errno.ts';
import type { Place } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import type { DiskContext } from './context.ts';
import type { NativeFiles } from './native.ts';
import { modeOf } from './stats.ts';

const writeAsync = promisify(write);
const fsyncAsync = promisify(fsync);

const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const SYNC_BYTES = 1 << 20;
const SPECIAL_BITS = 0o7000;
/** The newer setuid: like it, nothing for bytes an agent wrote. */
const CAPABILITIES = 'security.capability';
/** Signatures of the old bytes; on new ones they would make the file unreadable. */
const OF_THE_BYTES = new Set(['security.ima', 'security.evm']);

/** New bytes beside their target, complete and synced, not yet published. */
export interface TempFile {
  /** For the next system call only. */
  readonly path: string;
  readonly name: string;
  readonly fd: number;
  /** As they were when its bytes had been written. */
  readonly stats: BigIntStats;
  /** What could not be carried over from the file it will replace. */
  readonly notices: readonly Notice[];
}

/** What new bytes look like: the file they replace and its descriptor, or a mode of their own, or both. */
export type Likeness =
  | { readonly kind: 'replaces'; readonly stats: BigIntStats; readonly fd: number; readonly mode?: number }
  | { readonly kind: 'new'; readonly mode?: number };

/** Writes a complete temporary file beside the target. On failure nothing is left and the error goes up. */
export async function writeTemp(
  context: DiskContext,
  place: Place,
  content: { readonly bytes: Uint8Array; readonly like: Likeness },
): Promise<TempFile> {
  context.trace?.('temp-open');
  const name = context.litter.tempName(dirname(place.path.absolute));
  const path = `${place.dir.prefix}/${name}`;
  const replaces = content.like.kind === 'replaces';
  // Private until it has the mode of what it replaces: a 0600 secret is never readable for a moment.
  const fd = openSync(path, CREATE, replaces ? 0o600 : 0o666);
  try {
    context.trace?.('temp-write');
    await writeAll(fd, content.bytes);
    context.trace?.('temp-attributes');
    const made = { fd, stats: fstatSync(fd, { bigint: true }) };
    const notices = applyLikeness(context, made, content.like);
    context.trace?.('temp-sync');
    await sync(context, fd, content.bytes.byteLength);
    return { path, name, fd, stats: made.stats, notices };
  } catch (error) {
    closeSync(fd);
    removeQuietly(context, path);
    throw error;
  }
}

/** A temporary file that was written ahead of its publication and closed: a batch holds no descriptor per file. */
export type Staged = Pick<TempFile, 'name' | 'stats' | 'notices'>;

/** Writes a temporary file beside its target and closes it. `openStaged` goes on with it, `dropStaged` gives it up. */
export async function stageTemp(
  context: DiskContext,
  place: Place,
  content: { readonly bytes: Uint8Array; readonly like: Likeness },
): Promise<Staged> {
  const { fd, name, stats, notices } = await writeTemp(context, place, content);
  closeSync(fd);
  return { name, stats, notices };
}

/** Undefined if what has that name is another file: someone has moved the folder or taken the file. */
export function openStaged({ dir }: Place, { name, stats, notices }: Staged): TempFile | undefined {
  const path = `${dir.prefix}/${name}`;
  if (inodeAt(path) !== stats.ino) return undefined;
  const fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if (fstatSync(fd, { bigint: true }).ino === stats.ino) return { path, name, fd, stats, notices };
  closeSync(fd);
  return undefined;
}

/** Removes a staged file that was not published. */
export function dropStaged({ dir }: Place, { name, stats }: Staged): void {
  const path = `${dir.prefix}/${name}`;
  if (inodeAt(path) === stats.ino) unlinkSync(path);
}

function inodeAt(path: string): bigint | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

/** The failure that led here is the one to report. */
function removeQuietly(context: DiskContext, path: string): void {
  try {
    unlinkSync(path);
  } catch {
    context.litter.doubt();
  }
}

/** Removes our temporary file, and only that: the same name may hold the old file by now. */
export function discard(temp: TempFile): void {
  if (lstatSync(temp.path, { bigint: true, throwIfNoEntry: false })?.ino === temp.stats.ino)
    unlinkSync(temp.path);
}

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  const small = bytes.byteLength <= SYNC_BYTES;
  for (let done = 0; done < bytes.byteLength; ) {
    const left = bytes.byteLength - done;
    done += small ? writeSync(fd, bytes, done, left) : (await writeAsync(fd, bytes, done, left)).bytesWritten;
  }
}

async function sync(context: DiskContext, fd: number, size: number): Promise<void> {
  if (context.durability === 'none') return;
  if (size <= SYNC_BYTES) fsyncSync(fd);
  else await fsyncAsync(fd);
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
  // After the owner: changing it clears bits. Special bits are not carried over to bytes an agent wrote.
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

/** Extended attributes and access lists; without the native helper nobody can tell whether there are any. */
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
    // A file system without attributes has none to lose.
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
