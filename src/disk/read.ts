import { hash } from 'node:crypto';
import {
  type BigIntStats,
  chmodSync,
  close,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  read,
  readSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { errnoOf } from '../model/fault.ts';
import { type Fingerprint, type Stamp, sameStamp } from '../model/fingerprint.ts';
import { at, type FileKind, type Place } from '../model/path.ts';
import { type LegacyCodecs, provideLegacyCodecs } from '../text/decode.ts';
import type { FileSystemClock } from './file-system.ts';

const readAsync = promisify(read);

const closeAsync = promisify(close);

/** O_NONBLOCK: the open call does not hang if the file becomes a FIFO after its type was checked. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Opens a handle to a file without opening its content (Linux). */
const O_PATH = 0o10000000;

/** Smaller files are read synchronously, which takes less time than a trip to the thread pool. */
const SYNC_BYTES = 1 << 20;

/** The most bytes that one read call accepts, on every Node version. */
const MAX_BYTES = 2 ** 31 - 1;

/**
 * If the file changes during this many reads in a row, the last read is returned and marked as
 * `racy`.
 */
const MAX_TRIES = 4;

const require = createRequire(import.meta.url);

// Provides the decoders of legacy encodings for the whole program, because every text is read by
// this module before it is decoded. They load on first use.
provideLegacyCodecs(() => ({
  analyse: (require('chardet') as Pick<LegacyCodecs, 'analyse'>).analyse,
  iconv: require('iconv-lite') as LegacyCodecs['iconv'],
}));

/** The bytes of a file with their hash (fingerprint) and stat fields (stamp), from one handle. */
export interface Snapshot {
  readonly bytes: Buffer;
  readonly fingerprint: Fingerprint;
  readonly stamp: Stamp;
  readonly stats: BigIntStats;
  /**
   * True if the file may get other bytes while its stat fields (stamp) stay equal; see
   * FileSystemClock.
   */
  readonly racy: boolean;
}

/**
 * The reason a place could not be opened for reading. `swapped`: a link has taken the name since
 * the path was resolved, and the caller must resolve the path again.
 */
export type Unreadable =
  | { readonly problem: 'missing' }
  | { readonly problem: 'swapped' }
  | { readonly problem: 'kind'; readonly kind: FileKind }
  | { readonly problem: 'too-large'; readonly size: number }
  | { readonly problem: 'denied'; readonly errno: string };

export interface ReadLimits {
  /**
   * Checks whether a file's stat fields (stamp) prove its bytes. Undefined if no caller relies on
   * the stamp; the snapshot is then marked racy without a check.
   */
  readonly clock: FileSystemClock | undefined;
  /** Larger files are refused. Default: the most bytes that one read call accepts. */
  readonly maxBytes?: number;
  /** The caller's lstat result. Saves two stat calls for small unchanged files. */
  readonly seen?: BigIntStats;
  /**
   * Stat fields (stamp) and fingerprint from an earlier read, if that stamp can be trusted. If the
   * file still has this stamp, the fingerprint is reused instead of hashing the file again.
   */
  readonly known?: { readonly stamp: Stamp; readonly fingerprint: Fingerprint } | undefined;
}

type Openable = Pick<Place, 'dir' | 'name' | 'opensOwn'>;

/** An open file with its stats at opening time. */
export interface Opened {
  readonly fd: number;
  readonly stats: BigIntStats;
}

/**
 * Opens a regular file without following links; the caller closes the descriptor. Refuses anything
 * else before opening it: opening a FIFO wakes a waiting writer, and opening a device can have any
 * effect.
 */
export function openRegular(place: Openable): Opened | Unreadable {
  try {
    const stats = lstatSync(at(place));
    if (stats.isSymbolicLink()) return { problem: 'swapped' };
    if (!stats.isFile()) return { problem: 'kind', kind: kindOf(stats) };
  } catch (error) {
    return whyNot(error);
  }
  return openLooked(place);
}

/**
 * Like `openRegular`, for a place that the caller has just seen to be a regular file. If another
 * kind of file has taken the name since, opens and closes that file once, and reports its kind.
 */
export function openLooked(place: Openable): Opened | Unreadable {
  let fd: number;
  try {
    fd = place.opensOwn === true ? openOwn(place) : openSync(at(place), READ);
  } catch (error) {
    return whyNot(error);
  }
  try {
    const stats = fstatSync(fd, { bigint: true });
    if (stats.isFile()) return { fd, stats };
    closeSync(fd);
    return { problem: 'kind', kind: kindOf(stats) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Opens a file of this user although its mode denies reading. Adds the read bit during the open
 * call, through a handle, so that another file that takes the name is not affected.
 */
function openOwn(place: Openable): number {
  try {
    return openSync(at(place), READ);
  } catch (error) {
    if (errnoOf(error) !== 'EACCES' || process.platform !== 'linux') throw error;
    const handle = openSync(at(place), O_PATH | constants.O_NOFOLLOW);
    try {
      const stats = fstatSync(handle);
      if (!stats.isFile() || stats.uid !== process.geteuid?.()) throw error;
      const same = `/proc/self/fd/${handle}`;
      chmodSync(same, (stats.mode & 0o7777) | constants.S_IRUSR);
      try {
        return openSync(same, constants.O_RDONLY | constants.O_NONBLOCK);
      } finally {
        chmodSync(same, stats.mode & 0o7777);
      }
    } finally {
      closeSync(handle);
    }
  }
}

function whyNot(error: unknown): Unreadable {
  const errno = errnoOf(error);
  switch (errno) {
    case undefined:
      throw error;
    case 'ENOENT':
      return { problem: 'missing' };
    case 'ELOOP':
      return { problem: 'swapped' };
    case 'ENXIO':
      return { problem: 'kind', kind: 'socket' };
    case 'EISDIR':
      return { problem: 'kind', kind: 'directory' };
    default:
      return { problem: 'denied', errno };
  }
}

/**
 * Reads a whole file with its fingerprint and stamp from one handle. Retries if the file changes
 * meanwhile. The bytes are one state of the file, unless a writer outpaced every retry; then `racy`
 * is true.
 */
export async function readSnapshot(place: Place, limits: ReadLimits): Promise<Snapshot | Unreadable> {
  return readNow(place, limits) ?? readSettled(place, limits);
}

/**
 * Reads a small file without waiting. Undefined if the file is not small or cannot be read, or if its
 * stats after the read differ from `seen`. The caller then uses `readSnapshot`.
 */
export function readNow(place: Place, limits: ReadLimits): Snapshot | undefined {
  const { seen } = limits;
  if (seen === undefined) return undefined;
  const size = Number(seen.size);
  if (!seen.isFile() || size > SYNC_BYTES || size > (limits.maxBytes ?? SYNC_BYTES)) return undefined;
  let fd: number | undefined;
  try {
    const racy = isRacy(limits, seen, place);
    fd = openSync(at(place), READ);
    const bytes = readAllSync(fd, size);
    const after = fstatSync(fd, { bigint: true });
    if (bytes.byteLength !== size || !sameStamp(seen, after)) return undefined;
    return snapshotOf(bytes, after, { limits, racy });
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

async function readSettled(place: Place, limits: ReadLimits): Promise<Snapshot | Unreadable> {
  const opened = openRegular(place);
  if ('problem' in opened) return opened;
  const { fd } = opened;
  try {
    for (let before = opened.stats, tries = 1; ; tries += 1) {
      const size = Number(before.size);
      if (size > (limits.maxBytes ?? MAX_BYTES)) return { problem: 'too-large', size };
      const racy = isRacy(limits, before, place);
      const bytes = size <= SYNC_BYTES ? readAllSync(fd, size) : await readAll(fd, size);
      const after = fstatSync(fd, { bigint: true });
      const settled = sameStamp(stampOf(before), stampOf(after)) && bytes.byteLength === size;
      if (settled) return snapshotOf(bytes, after, { limits, racy });
      if (tries === MAX_TRIES) return snapshotOf(bytes, after, { limits: {}, racy: true });
      await setImmediate();
      before = after;
    }
  } finally {
    if (Number(opened.stats.size) <= SYNC_BYTES) closeSync(fd);
    else await closeAsync(fd);
  }
}

function isRacy({ clock }: ReadLimits, stats: BigIntStats, place: Place): boolean {
  return clock === undefined || clock.isRacy(stats, at(place));
}

function snapshotOf(
  bytes: Buffer,
  stats: BigIntStats,
  { limits, racy }: { limits: Pick<ReadLimits, 'known'>; racy: boolean },
): Snapshot {
  const stamp = stampOf(stats);
  const { known } = limits;
  if (known !== undefined && sameStamp(known.stamp, stamp))
    return { bytes, fingerprint: known.fingerprint, stamp, stats, racy };
  return { bytes, fingerprint: fingerprintOf(bytes), stamp, stats, racy };
}

/**
 * Reads the first `expected` bytes of the file, or fewer if the file is shorter. If `expected` is
 * 0, reads to the end of the file. A file of the expected size costs one system call.
 */
export function readAllSync(fd: number, expected: number): Buffer {
  let buffer: Buffer = Buffer.allocUnsafe(Math.max(expected, 1));
  let filled = 0;
  for (;;) {
    const count = readSync(fd, buffer, filled, buffer.byteLength - filled, filled);
    filled += count;
    if (count === 0 || filled === expected) return buffer.subarray(0, filled);
    if (filled === buffer.byteLength) buffer = grown(buffer);
  }
}

async function readAll(fd: number, expected: number): Promise<Buffer> {
  let buffer: Buffer = Buffer.allocUnsafeSlow(Math.max(expected, 1));
  let filled = 0;
  for (;;) {
    const { bytesRead } = await readAsync(fd, buffer, filled, buffer.byteLength - filled, filled);
    filled += bytesRead;
    if (bytesRead === 0 || filled === expected) return buffer.subarray(0, filled);
    if (filled === buffer.byteLength) buffer = grown(buffer);
  }
}

function grown(buffer: Buffer): Buffer {
  const larger = Buffer.allocUnsafeSlow(buffer.byteLength * 2);
  buffer.copy(larger);
  return larger;
}

const CHUNK_BYTES = 1 << 18;

/** The bytes of a regular file in chunks. */
export function chunksAt(place: Place): AsyncIterable<Uint8Array> | Unreadable {
  const opened = openRegular(place);
  return 'problem' in opened ? opened : chunksOf(opened.fd);
}

/** Closes the file at the end. */
async function* chunksOf(fd: number): AsyncGenerator<Uint8Array> {
  try {
    for (let at = 0; ; ) {
      const chunk = new Uint8Array(CHUNK_BYTES);
      const { bytesRead } = await readAsync(fd, chunk, 0, CHUNK_BYTES, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    closeSync(fd);
  }
}

export function fingerprintOf(bytes: Uint8Array): Fingerprint {
  return { sha256: hash('sha256', bytes, 'hex'), size: bytes.byteLength };
}

export function stampOf(stats: BigIntStats): Stamp {
  return { dev: stats.dev, ino: stats.ino, size: stats.size, mtimeNs: stats.mtimeNs, ctimeNs: stats.ctimeNs };
}

export function kindOf(
  stats: Pick<BigIntStats, 'isFile' | 'isDirectory' | 'isSymbolicLink' | 'isFIFO' | 'isSocket'>,
): FileKind {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  if (stats.isSymbolicLink()) return 'link';
  if (stats.isFIFO()) return 'fifo';
  return stats.isSocket() ? 'socket' : 'device';
}

/** Permission bits, including setuid, setgid and sticky. */
export function modeOf(stats: BigIntStats): number {
  return Number(stats.mode) & 0o7777;
}

/**
 * True if the mode grants write permission to no user. Checks the bits, not access(2): root can
 * write everything, but should not.
 */
export function isReadOnly(stats: BigIntStats): boolean {
  return (Number(stats.mode) & 0o222) === 0;
}
