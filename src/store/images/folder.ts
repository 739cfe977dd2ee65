import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errnoOf, isMissing, isTaken } from '../../model/errno.ts';
import type { Durability } from '../../model/policy.ts';
import { isAlive, ownerOfThisProcess } from '../owner.ts';
import { sync, syncAll, syncIfThere } from './durable.ts';

/** Only our own copies have it; a retained inode keeps the mode it had in the workspace. */
export const COPY_MODE = 0o400;

const OPEN_TO_OTHERS = 0o077;

/** What `link` answers where it cannot or may not: other file system, not our file, too many names, no such thing here. */
const UNLINKABLE: ReadonlySet<string | undefined> = new Set([
  'EXDEV',
  'EPERM',
  'EMLINK',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
]);

/** An inode comes here within moments after its last comparison; one that was last written long before is as it was. */
const MOMENT_MS = 2000;
/** Of one image and one process; the oldest gives way to the next. */
const MAX_TWINS = 16;

export interface ImageNames {
  readonly sha256: string;
  readonly paths: readonly string[];
}

/**
 * The folder of images and the steps that change it; each leaves a name with all of its bytes or no name at all.
 * `a/HASH` is an image, `a/HASH.packed` a compressed one, `a/HASH.gone` and `a/HASH.packed-gone` those being removed, `a/HASH.late-…` one that a late writer changed
 * (`a/HASH.told-…` when the journal says so), `a/HASH.twin-…` another file that held the same bytes and that someone may still
 * have open, `tmp/PID-START-…` one being written.
 */
export class ImageFolder {
  readonly path: string;
  readonly #owner = ownerOfThisProcess();
  readonly #synced = new Set<string>();
  #twins = 0;

  constructor(path: string) {
    this.path = path;
  }

  image(sha256: string): string {
    return join(this.path, shardOf(sha256), sha256);
  }

  gone(sha256: string): string {
    return `${this.image(sha256)}.gone`;
  }

  /** The compressed form of an image; see `packImages`. */
  packed(sha256: string): string {
    return `${this.image(sha256)}.packed`;
  }

  packedGone(sha256: string): string {
    return `${this.image(sha256)}.packed-gone`;
  }

  late(sha256: string): string {
    return `${this.image(sha256)}.late-${randomUUID()}`;
  }

  /** The same, once it was told of. */
  told(sha256: string): string {
    return `${this.image(sha256)}.told-${randomUUID()}`;
  }

  /** Where a file stays whose name another one with the same bytes takes; few names, used in turn. */
  twin(sha256: string): string {
    this.#twins = (this.#twins + 1) % MAX_TWINS;
    return `${this.image(sha256)}.twin-${this.#owner.replace(':', '-')}-${this.#twins}`;
  }

  /** A name nobody else uses, on the same file system as the images. */
  temp(): string {
    return join(this.path, 'tmp', `${this.#owner.replace(':', '-')}-${randomUUID()}`);
  }

  /** The same name, in a folder that is there. */
  ready(temp: string): string {
    mkdirSync(dirname(temp), { recursive: true, mode: 0o700 });
    return temp;
  }

  /** Brings an image and its name to the disk, as far as asked. */
  sync(image: string, durability: Durability): void {
    if (durability === 'none') return;
    sync(image);
    if (durability === 'file') return;
    const shard = dirname(image);
    sync(shard);
    // The shard's own name, once: it may be new.
    if (this.#synced.has(shard)) return;
    sync(this.path);
    this.#synced.add(shard);
  }

  /** Files first, then the folders that name them: several at once, and each folder once. */
  async syncAll(hashes: readonly string[]): Promise<void> {
    const images = [...new Set(hashes)].map((sha256) => this.image(sha256));
    const shards = [...new Set(images.map(dirname))];
    await syncAll(images);
    await syncAll(shards);
    if (shards.every((shard) => this.#synced.has(shard))) return;
    await syncIfThere(this.path);
    for (const shard of shards) this.#synced.add(shard);
  }

  makePrivate(sha256: string): void {
    const image = this.image(sha256);
    const stats = statsOf(image);
    if (stats === undefined || (stats.mode & OPEN_TO_OTHERS) === 0) return;
    try {
      chmodSync(image, 0o600);
    } catch (error) {
      // Another process may have moved it, or it is another user's: the folder around it is private anyway.
      if (errnoOf(error) === undefined) throw error;
    }
  }

  /** All names of each image; only of those in these shards, if given. */
  *names(shards?: ReadonlySet<string>): Generator<ImageNames> {
    for (const shard of namesIn(this.path)) {
      if (!/^[0-9a-f]$/.test(shard) || shards?.has(shard) === false) continue;
      const grouped = new Map<string, string[]>();
      for (const name of namesIn(join(this.path, shard))) {
        const sha256 = /^[0-9a-f]{64}(?=$|\.)/.exec(name)?.[0];
        if (sha256 === undefined) continue;
        const paths = grouped.get(sha256) ?? [];
        grouped.set(sha256, paths);
        paths.push(join(this.path, shard, name));
      }
      for (const [sha256, paths] of grouped) yield { sha256, paths };
    }
  }

  /** Removes what writers that died in the middle have left. */
  sweepTemps(): void {
    for (const name of namesIn(join(this.path, 'tmp'))) {
      const [pid, start] = name.split('-');
      if (!isAlive(`${pid}:${start}`)) removeIfThere(join(this.path, 'tmp', name));
    }
  }
}

/** The sub-folder of an image. Few, for making a folder takes as long as many changes; a folder holds many names as well. */
export function shardOf(sha256: string): string {
  return sha256.slice(0, 1);
}

/** Writes a new file and syncs it if asked to; leaves none behind when it fails. */
export async function writeNew(
  file: string,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  how: { readonly durability: Durability; readonly mode: number },
): Promise<void> {
  const handle = await open(file, 'wx', how.mode);
  try {
    for await (const chunk of chunks) await handle.writeFile(chunk);
    if (how.durability !== 'none') await handle.sync();
  } catch (error) {
    removeIfThere(file);
    throw error;
  } finally {
    await handle.close();
  }
}

/** The same for few bytes: without the thread pool it takes a quarter of the time. */
export function writeNewSmall(file: string, bytes: Uint8Array, durability: Durability): void {
  const fd = inFolder(file, () => openSync(file, 'wx', COPY_MODE));
  try {
    for (let done = 0; done < bytes.byteLength; ) done += writeSync(fd, bytes, done);
    if (durability !== 'none') fsyncSync(fd);
  } catch (error) {
    removeIfThere(file);
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Gives a file a second name, in place of what has that name; false where that cannot be. */
export function tryReplace(from: string, to: string, temp: string): boolean {
  try {
    if (statsOf(to) === undefined) return tryLink(from, to);
  } catch (error) {
    if (!isTaken(error)) throw error;
  }
  return tryLink(from, temp) && tryRename(temp, to);
}

/** Gives a file a second name; false where that cannot be. A name that is taken throws. */
export function tryLink(from: string, to: string): boolean {
  try {
    inFolder(to, () => linkSync(from, to));
    return true;
  } catch (error) {
    if (UNLINKABLE.has(errnoOf(error))) return false;
    throw error;
  }
}

/** Gives a file another name, replacing what has it; false when it is on another file system. */
export function tryRename(from: string, to: string): boolean {
  try {
    inFolder(to, () => renameSync(from, to));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EXDEV') return false;
    throw error;
  }
}

/** Gives a file another name; false if it is not there (any more). */
export function setAside(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Moves a file to a name unless that is taken, in which case what has the name stays and the file goes. */
export function moveUnlessTaken(from: string, to: string): void {
  try {
    if (!tryLink(from, to)) renameSync(from, to);
  } catch (error) {
    if (!isTaken(error)) throw error;
  }
  removeIfThere(from);
}

export function statsOf(file: string): Stats | undefined {
  return lstatSync(file, { throwIfNoEntry: false });
}

export function isLongUnwritten({ ctimeMs, mtimeMs }: Stats): boolean {
  return ctimeMs - mtimeMs > MOMENT_MS;
}

export function removeIfThere(file: string): void {
  try {
    unlinkSync(file);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Makes the folder only when it turns out to be missing: it nearly always is there. */
function inFolder<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!isMissing(error)) throw error;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    return work();
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
