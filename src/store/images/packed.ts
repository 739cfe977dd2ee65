import { hash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { isMissing, unlessErrno } from '../../model/fault.ts';
import { type Fingerprint, inodeOf } from '../../model/fingerprint.ts';
import type { Durability } from '../../model/policy.ts';
import { damagedImage, type ImagePurpose, type ImageUsage, type PackRequest } from '../images.ts';
import { readStart, SMALL_BYTES } from './bytes.ts';
import {
  COPY_MODE,
  type ImageFolder,
  moveUnlessTaken,
  removeIfThere,
  setAside,
  shardOf,
  statsOf,
  writeNewSmall,
} from './folder.ts';

/**
 * Smaller images (stored file contents) are not compressed: they take one disk block in any case.
 */
const MIN_BYTES = 4096;
/** Minimum share of bytes saved; less is not worth another file. */
const MIN_SAVED = 0.1;
/**
 * A stored file from the workspace is compressed only if it has not changed for this time. Until
 * then, a program that opened it in the workspace may still write to it.
 */
const UNWRITTEN_MS = 24 * 3_600_000;
/** Number of stored files compressed before other work gets a turn. */
const PACKED_AT_ONCE = 4;

/**
 * The bytes of a compressed image (a stored file content), or undefined if there is none. Uses
 * deflate, not zstd: other Node versions share the state folder, and not all of them can read zstd.
 */
export function readPacked(folder: ImageFolder, { sha256, size }: Fingerprint): Uint8Array | undefined {
  const file = packedFile(folder, sha256);
  if (file === undefined) return undefined;
  let bytes: Uint8Array;
  try {
    bytes = inflateRawSync(readFileSync(file), { maxOutputLength: Math.max(1, size) });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw damagedImage(sha256, file);
  }
  if (bytes.byteLength !== size || hash('sha256', bytes) !== sha256) throw damagedImage(sha256, file);
  return bytes;
}

/**
 * Path of the compressed form of a stored file; for reading, also while it is being removed.
 * Undefined if there is none.
 */
export function packedFile(
  folder: ImageFolder,
  sha256: string,
  purpose: ImagePurpose = 'read',
): string | undefined {
  const names = [folder.packed(sha256), ...(purpose === 'read' ? [folder.packedGone(sha256)] : [])];
  return names.find((file) => statsOf(file) !== undefined);
}

/**
 * Compresses images (stored file contents): our own copies at once, files from the workspace after
 * a day if no process has them open. Returns the number of compressed images and the bytes saved.
 * Concurrent readers always find the compressed or the uncompressed form.
 */
export async function packImages(
  folder: ImageFolder,
  { nowMs, signal, durability }: PackRequest & { readonly durability: Durability },
): Promise<ImageUsage> {
  let [count, bytes] = [0, 0];
  const open = openInodes();
  for (const { sha256, paths } of folder.names()) {
    if (signal?.aborted === true) break;
    const image = folder.image(sha256);
    const saved = paths.includes(image) ? packUnlessGone(folder, sha256, { nowMs, durability, open }) : 0;
    if (saved <= 0) continue;
    count += 1;
    bytes += saved;
    if (count % PACKED_AT_ONCE === 0) await setImmediate();
  }
  return { count, bytes };
}

interface PackOptions {
  readonly nowMs: number;
  readonly durability: Durability;
  /**
   * The inodes that processes have open. Undefined if they are unknown: stored files that came from
   * the workspace then stay uncompressed.
   */
  readonly open: ReadonlySet<string> | undefined;
}

/**
 * The inodes that processes have open, as far as this user may see them. Undefined if the system does not report them.
 */
function openInodes(): ReadonlySet<string> | undefined {
  if (process.platform !== 'linux') return undefined;
  const open = new Set<string>();
  for (const pid of namesOf('/proc').filter((name) => /^\d+$/.test(name)))
    for (const fd of namesOf(`/proc/${pid}/fd`)) {
      const stats = unlessErrno(() => statSync(`/proc/${pid}/fd/${fd}`, { throwIfNoEntry: false }));
      if (stats?.isFile() === true) open.add(inodeOf(stats));
    }
  return open;
}

function namesOf(folder: string): readonly string[] {
  return unlessErrno(() => readdirSync(folder)) ?? [];
}

/**
 * Like `pack`, but also returns 0 if another process removes or compresses the stored file at the
 * same time.
 */
function packUnlessGone(folder: ImageFolder, sha256: string, packing: PackOptions): number {
  try {
    return pack(folder, sha256, packing);
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

/** Compresses one stored file and returns the bytes saved, or 0 if the file stays uncompressed. */
function pack(folder: ImageFolder, sha256: string, { nowMs, durability, open }: PackOptions): number {
  const image = folder.image(sha256);
  const stats = statsOf(image);
  if (stats === undefined || stats.size < MIN_BYTES || stats.size > SMALL_BYTES) return 0;
  const isOurs = (stats.mode & 0o777) === COPY_MODE;
  if (!isOurs && (stats.ctimeMs > nowMs - UNWRITTEN_MS || open?.has(inodeOf(stats)) !== false)) return 0;
  const { bytes } = readStart(image, stats.size);
  // Do not compress a stored file that a program has changed because it still has the file open.
  // `setAsideLate` reports the change later.
  if (hash('sha256', bytes) !== sha256) return 0;
  const small = deflateRawSync(bytes);
  if (small.byteLength > stats.size * (1 - MIN_SAVED)) return 0;
  const temp = folder.temp();
  writeNewSmall(temp, small, durability);
  // Replace a compressed form that is there already: a power cut may have damaged it.
  renameSync(temp, folder.packed(sha256));
  if (durability === 'full') folder.sync(folder.packed(sha256), durability);
  return removePlain(folder, sha256, stats) ? stats.size - small.byteLength : 0;
}

/**
 * Removes the uncompressed form of a stored file after compression. Returns false if another file
 * with the same bytes has taken its name meanwhile; that file stays.
 */
function removePlain(
  folder: ImageFolder,
  sha256: string,
  { ino, mtimeMs }: { readonly ino: number; readonly mtimeMs: number },
): boolean {
  // First rename the file to a temporary name, under which no other process can replace it. If this
  // process dies now, the compressed form remains.
  const [image, aside] = [folder.image(sha256), folder.ready(folder.temp())];
  if (!setAside(image, aside)) return false;
  const stats = statsOf(aside);
  if (stats?.ino === ino && stats.mtimeMs === mtimeMs) {
    removeIfThere(aside);
    return true;
  }
  moveUnlessTaken(aside, image);
  return false;
}

/**
 * Removes images (stored file contents) that are no longer needed. First hides each image, so that
 * a process with the same bytes stores them again. Then calls `needed` and puts back the images
 * that a change already relies on.
 */
export async function removeImages(
  folder: ImageFolder,
  hashes: readonly string[],
  needed: () => Promise<ReadonlySet<string>>,
): Promise<ImageUsage> {
  for (const sha256 of hashes) {
    setAside(folder.image(sha256), folder.gone(sha256));
    setAside(folder.packed(sha256), folder.packedGone(sha256));
  }
  const kept = await needed();
  const doomed = new Set<string>();
  for (const sha256 of hashes) {
    if (kept.has(sha256)) putBack(folder, sha256);
    else doomed.add(sha256);
  }
  const removed = discard(folder, doomed);
  folder.sweepTemps();
  return removed;
}

function putBack(folder: ImageFolder, sha256: string): void {
  const gone = folder.gone(sha256);
  if (statsOf(gone) !== undefined) moveUnlessTaken(gone, folder.image(sha256));
  const packed = folder.packedGone(sha256);
  if (statsOf(packed) !== undefined) moveUnlessTaken(packed, folder.packed(sha256));
}

function discard(folder: ImageFolder, doomed: ReadonlySet<string>): ImageUsage {
  let [count, bytes] = [0, 0];
  const shards = new Set([...doomed].map(shardOf));
  for (const { sha256, paths } of folder.names(shards)) {
    if (!doomed.has(sha256)) continue;
    count++;
    for (const path of paths) {
      // Leave a file with its regular name: a process has stored this content again meanwhile.
      if (path === folder.image(sha256) || path === folder.packed(sha256)) continue;
      bytes += statsOf(path)?.size ?? 0;
      removeIfThere(path);
    }
  }
  return { count, bytes };
}
