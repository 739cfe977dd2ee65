import { hash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { errnoOf, isMissing } from '../../model/errno.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { Durability } from '../../model/policy.ts';
import { damagedImage } from '../image-fault.ts';
import type { ImageUsage, PackRequest } from '../images.ts';
import { readStart, SMALL_BYTES } from './bytes.ts';
import {
  COPY_MODE,
  type ImageFolder,
  moveUnlessTaken,
  removeIfThere,
  setAside,
  statsOf,
  writeNewSmall,
} from './folder.ts';

/** A smaller file takes one block of the disk, however much it is compressed. */
const MIN_BYTES = 4096;
/** Fewer bytes saved are not worth another file. */
const MIN_SAVED = 0.1;
/** Whoever has a replaced file open for longer than this does not write to it by accident. */
const UNWRITTEN_MS = 24 * 3_600_000;
/** Other work goes on after so many images. */
const PACKED_AT_ONCE = 4;

/**
 * The bytes of a compressed image; undefined if there is none. Deflate, not zstd: programs of other Node versions share the
 * state folder, and not all of them can read zstd.
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

/** Where an image is in its compressed form. One being removed still counts until it is. */
export function packedFile(folder: ImageFolder, sha256: string): string | undefined {
  return [folder.packed(sha256), folder.packedGone(sha256)].find((file) => statsOf(file) !== undefined);
}

/**
 * Compresses images that nobody writes into any more: our own copies, and displaced files after a day, unless a process still
 * has them open. Returns how many, and how many bytes that saved. A reader finds the image under one name or the other at every moment.
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

interface Packing {
  readonly nowMs: number;
  readonly durability: Durability;
  /** Undefined: it cannot be told which files are open, so displaced ones stay as they are. */
  readonly open: ReadonlySet<string> | undefined;
}

/** The files that processes have open, as far as this user may look; undefined where the system does not say. */
function openInodes(): ReadonlySet<string> | undefined {
  if (process.platform !== 'linux') return undefined;
  const open = new Set<string>();
  for (const pid of namesOf('/proc').filter((name) => /^\d+$/.test(name)))
    for (const fd of namesOf(`/proc/${pid}/fd`)) {
      const stats = unlessHidden(() => statSync(`/proc/${pid}/fd/${fd}`, { throwIfNoEntry: false }));
      if (stats?.isFile() === true) open.add(inodeOf(stats));
    }
  return open;
}

function namesOf(folder: string): readonly string[] {
  return unlessHidden(() => readdirSync(folder)) ?? [];
}

/** Undefined for a process that has ended or is another user's. */
function unlessHidden<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

function inodeOf({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`;
}

/** Like `pack`; 0 as well if another process removes or compresses the image at the same time. */
function packUnlessGone(folder: ImageFolder, sha256: string, packing: Packing): number {
  try {
    return pack(folder, sha256, packing);
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

/** The bytes saved; 0 if the image stays as it is. */
function pack(folder: ImageFolder, sha256: string, { nowMs, durability, open }: Packing): number {
  const image = folder.image(sha256);
  const stats = statsOf(image);
  if (stats === undefined || stats.size < MIN_BYTES || stats.size > SMALL_BYTES) return 0;
  const isOurs = (stats.mode & 0o777) === COPY_MODE;
  if (!isOurs && (stats.ctimeMs > nowMs - UNWRITTEN_MS || open?.has(inodeOf(stats)) !== false)) return 0;
  const { bytes } = readStart(image, stats.size);
  // A late writer was at it: it stays as it is, for others to tell of.
  if (hash('sha256', bytes) !== sha256) return 0;
  const small = deflateRawSync(bytes);
  if (small.byteLength > stats.size * (1 - MIN_SAVED)) return 0;
  const temp = folder.temp();
  writeNewSmall(temp, small, durability);
  moveUnlessTaken(temp, folder.packed(sha256));
  if (durability === 'full') folder.sync(folder.packed(sha256), durability);
  return removePlain(folder, sha256, stats) ? stats.size - small.byteLength : 0;
}

/** Removes the image that was compressed, and no other: meanwhile a file that was displaced just now may have taken its name. */
function removePlain(
  folder: ImageFolder,
  sha256: string,
  { ino, mtimeMs }: { readonly ino: number; readonly mtimeMs: number },
): boolean {
  // A name that goes with its process: the compressed bytes are there already.
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
