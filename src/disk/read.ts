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
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { errnoOf } from '../model/errno.ts';
import { type Fingerprint, type Stamp, sameStamp } from '../model/fingerprint.ts';
import { at, type FileKind, type Place } from '../model/path.ts';
import type { FileSystemClock } from './clock.ts';
import { fingerprintOf } from './hash.ts';
import { kindOf, stampOf } from './stats.ts';

const readAsync = promisify(read);
const closeAsync = promisify(close);

/** O_NONBLOCK: should a FIFO be swapped in after the type was checked, opening it does not hang. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
/** A handle that names a file without opening it (Linux). */
const O_PATH = 0o10000000;
/** Below this a read costs less than a trip to the thread pool. */
const SYNC_BYTES = 1 << 20;
/** As much as one read can ask for, on every Node. */
const MAX_BYTES = 2 ** 31 - 1;
/** A file that changes during this many reads in a row is taken as it was last read, and marked racy. */
const MAX_TRIES = 4;

/** Bytes of a file with the identity and the times they had, all from one handle. */
export interface Snapshot {
  readonly bytes: Buffer;
  readonly fingerprint: Fingerprint;
  readonly stamp: Stamp;
  readonly stats: BigIntStats;
  /** Equal stamps prove nothing for this one; see FileSystemClock. */
  readonly racy: boolean;
}

/** Why a place could not be opened for reading. `swapped`: it became a link after it was located; locate again. */
export type Unreadable =
  | { readonly problem: 'missing' }
  | { readonly problem: 'swapped' }
  | { readonly problem: 'kind'; readonly kind: FileKind }
  | { readonly problem: 'too-large'; readonly size: number }
  | { readonly problem: 'denied'; readonly errno: string };

export interface ReadLimits {
  /** Undefined: nobody will go by the stamp alone, and the snapshot is racy without asking. */
  readonly clock: FileSystemClock | undefined;
  /** Default: what fits into one piece of memory. */
  readonly maxBytes?: number;
  /** What a look at the place just showed: a small file that still is this one is read with two looks less. */
  readonly seen?: BigIntStats;
  /** An earlier, not racy reading: if the stamp is still the same, its fingerprint is taken and nothing is hashed. */
  readonly known?: { readonly stamp: Stamp; readonly fingerprint: Fingerprint } | undefined;
}

type Openable = Pick<Place, 'dir' | 'name' | 'opensOwn'>;

/** An open file, and what it was when it was opened. */
export interface Opened {
  readonly fd: number;
  readonly stats: BigIntStats;
}

/**
 * Opens a regular file without following a link. Anything else is refused before it is opened: opening a FIFO wakes
 * whoever waits to write into it, opening a device can do anything. Whoever gets the descriptor closes it.
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

/** The same for what a look just showed to be a regular file: what has come in its place since is opened, and refused. */
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
 * Opens a file for reading although its permissions keep its owner, this user, from it. They are changed for the moment
 * of opening, through a handle: another file that takes the name meanwhile is not concerned.
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
 * Reads a whole file with its fingerprint and stamp from one handle; again if it changed meanwhile.
 * The bytes are one state of the file unless a writer outpaced every try, which `racy` then covers.
 */
export function readSnapshot(place: Place, limits: ReadLimits): Snapshot | Promise<Snapshot | Unreadable> {
  const { seen } = limits;
  return (seen && readUnchanged(place, seen, limits)) ?? readSettled(place, limits);
}

/** A small file that after the reading is what a look before it showed; undefined sends it the long way. */
function readUnchanged(place: Place, seen: BigIntStats, limits: ReadLimits): Snapshot | undefined {
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
  const fingerprint = knownFingerprint(limits, stamp) ?? fingerprintOf(bytes);
  return { bytes, fingerprint, stamp, stats, racy };
}

function knownFingerprint({ known }: Pick<ReadLimits, 'known'>, stamp: Stamp): Fingerprint | undefined {
  return known !== undefined && sameStamp(known.stamp, stamp) ? known.fingerprint : undefined;
}

/** Reads from the beginning to the end of file; a file of the expected size costs one system call. */
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
