import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  ftruncate,
  lstatSync,
  openSync,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { errnoOf, unlessErrno } from '../model/fault.ts';
import type { Place } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import type { Content } from './content.ts';
import type { DiskContext, NativeFiles } from './context.ts';
import { tempName } from './names.ts';
import { modeOf, type Opened } from './read.ts';

const fsyncAsync = promisify(fsync);
const writeAsync = promisify(write);
const ftruncateAsync = promisify(ftruncate);

const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const PERMISSIONS = 0o777;
/** Smaller content is written synchronously, which takes less time than a trip to the thread pool. */
const SYNC_BYTES = 1 << 20;
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

/** The sources of a new file's owner, mode and attributes. */
interface Likeness {
  /** The file that the new one replaces. */
  readonly old?: Opened | undefined;
  /** Has priority over the mode of `old`. */
  readonly mode?: number | undefined;
}

/** Writes a complete temporary file beside the target. On failure removes it and throws the error. */
export async function writeTemp(
  context: DiskContext,
  place: Place,
  { content, ...like }: Likeness & { readonly content: Content },
): Promise<TempFile> {
  context.trace?.('temp-open');
  const name = tempName(context, place.path, 'new');
  const path = `${place.dir.prefix}/${name}`;
  // A replacement is private until it gets its final mode, so that other users cannot read a 0600
  // secret, even briefly.
  const fd = openSync(path, CREATE, like.old === undefined ? 0o666 : 0o600);
  try {
    context.trace?.('temp-write');
    const writing = writeContent(fd, content);
    if (writing !== undefined) await writing;
    context.trace?.('temp-attributes');
    const stats = fstatSync(fd, { bigint: true });
    const notices = takeOver(context, { fd, stats }, like);
    context.trace?.('temp-sync');
    if (context.durability !== 'none') await fsyncAsync(fd);
    return { path, name, fd, stats, notices };
  } catch (error) {
    closeSync(fd);
    // Ignore errors, because the caller reports the original failure.
    unlessErrno(() => unlinkSync(path));
    throw error;
  }
}

/** Writes the content to an empty file. Returns a promise only if it waits. */
function writeContent(fd: number, content: Content): Promise<void> | undefined {
  const { bytes } = content;
  if (bytes === undefined) return writeChunks(fd, content.chunks());
  if (bytes.byteLength > SYNC_BYTES) return writeAt(fd, bytes, 0);
  for (let done = 0; done < bytes.byteLength; ) done += writeSync(fd, bytes, done);
  return undefined;
}

/**
 * Writes chunks to an empty file. Leaves holes for chunks of zeros, so that a sparse file stays
 * sparse.
 */
async function writeChunks(fd: number, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  let size = 0;
  for await (const chunk of chunks) {
    if (!isZero(chunk)) await writeAt(fd, chunk, size);
    size += chunk.byteLength;
  }
  await ftruncateAsync(fd, size);
}

async function writeAt(fd: number, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength; ) {
    const left = bytes.byteLength - done;
    done += (await writeAsync(fd, bytes, done, left, position + done)).bytesWritten;
  }
}

/**
 * True if all bytes are 0. Compares the bytes with themselves, shifted by one: this is the fastest
 * test that needs no second buffer.
 */
function isZero(chunk: Uint8Array): boolean {
  if (chunk[0] !== 0) return chunk.byteLength === 0;
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return bytes.subarray(1).equals(bytes.subarray(0, -1));
}

/**
 * A temporary file that was written and closed before its publication, so that a batch needs no
 * open descriptor per file.
 */
export type Staged = Pick<TempFile, 'name' | 'stats' | 'notices'>;

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

/**
 * Removes our temporary file if the temporary name still belongs to it. After an exchange with the
 * target's name, the temporary name belongs to the old file.
 */
export function discard(temp: TempFile): void {
  if (inodeAt(temp.path) === temp.stats.ino) unlinkSync(temp.path);
}

function takeOver(
  context: DiskContext,
  temp: Pick<TempFile, 'fd' | 'stats'>,
  { old, mode }: Likeness,
): Notice[] {
  const { fd } = temp;
  if (old === undefined) {
    if (mode !== undefined) fchmodSync(fd, mode & PERMISSIONS);
    return [];
  }
  const notices: Notice[] = copyOwner(temp, old.stats);
  const attributes = copyAttributes(context, old.fd, fd);
  if (attributes.lost) notices.push({ kind: 'xattrs-lost' });
  const oldMode = modeOf(old.stats);
  // Set the mode after the owner, because changing the owner clears mode bits. Setuid, setgid and
  // sticky bits are never carried over to bytes that an agent wrote.
  fchmodSync(fd, (mode ?? oldMode) & PERMISSIONS);
  const dropped = [...specialBits(oldMode), ...attributes.privileges];
  if (dropped.length > 0) notices.push({ kind: 'mode-bits-dropped', bits: dropped.join(', ') });
  return notices;
}

function specialBits(mode: number): string[] {
  if ((mode & ~PERMISSIONS) === 0) return [];
  const names = [mode & 0o4000 ? 'setuid' : '', mode & 0o2000 ? 'setgid' : '', mode & 0o1000 ? 'sticky' : ''];
  return names.filter((name) => name !== '');
}

function copyOwner({ fd, stats: own }: Pick<TempFile, 'fd' | 'stats'>, like: BigIntStats): Notice[] {
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
