import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsync,
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
import { dirname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, isMissing, isTaken, unlessMissing } from '../../model/fault.ts';
import type { Durability } from '../../model/policy.ts';
import type { WholeSync } from '../images.ts';
import { isAlive, ownerOfThisProcess } from '../owner.ts';

/**
 * Mode of images (stored file contents) that are our own copies. Files that were moved here from
 * the workspace have other modes.
 */
export const COPY_MODE = 0o400;

const OPEN_TO_OTHERS = 0o077;

/**
 * Errors of `link` if linking is impossible or forbidden: other file system, foreign owner, too
 * many hard links, not supported.
 */
const UNLINKABLE: ReadonlySet<string | undefined> = new Set([
  'EXDEV',
  'EPERM',
  'EMLINK',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
]);

/**
 * A file's bytes are compared with its fingerprint at most this many milliseconds before the file
 * moves to the images (stored files). So if the last write was longer than that before the move,
 * the bytes still match. Files in `KeptTrees` are compared again before they become images.
 */
const MOMENT_MS = 2000;
/** Maximum number of synced files to remember; beyond it, all are forgotten. Each takes about 200 bytes. */
const MAX_DURABLE = 10_000;
/**
 * Maximum number of twins (other files with the same bytes) per stored file and process. A new twin replaces the
 * oldest.
 */
const MAX_TWINS = 16;

interface ImageNames {
  readonly sha256: string;
  readonly paths: readonly string[];
}

/**
 * The folder of images (stored file contents) and the operations that change it. Each operation
 * leaves a complete file under a name, or none.
 * - `a/HASH`: an image
 * - `a/HASH.packed`: a compressed image
 * - `a/HASH.gone`, `a/HASH.packed-gone`: an image being removed
 * - `a/HASH.late-…`: an image that a program changed; `a/HASH.told-…` once that is reported
 * - `a/HASH.twin-…`: another file with the same bytes, which a program may still have open
 * - `tmp/PID-START-…`: a file being written
 * - `trees/FOLDER`: a list of files in a folder that left the workspace; they are images too, see
 *   `KeptTrees`
 */
export class ImageFolder {
  readonly path: string;
  readonly #owner = ownerOfThisProcess();
  readonly #synced = new Set<string>();
  /** The stored files whose bytes and name are synced, by path, each with its `versionOf` at that time. */
  readonly #durable = new Map<string, string>();
  #twins = 0;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Path of an image (a stored file content). Built without `join`, which would examine every character: every change
   * needs the path several times.
   */
  image(sha256: string): string {
    return `${this.path}${sep}${shardOf(sha256)}${sep}${sha256}`;
  }

  gone(sha256: string): string {
    return `${this.image(sha256)}.gone`;
  }

  /** Path of the compressed form of a stored file; see `packImages`. */
  packed(sha256: string): string {
    return `${this.image(sha256)}.packed`;
  }

  packedGone(sha256: string): string {
    return `${this.image(sha256)}.packed-gone`;
  }

  late(sha256: string): string {
    return `${this.image(sha256)}.late-${randomUUID()}`;
  }

  /** A new path for a stored file that a program changed, used when the change is reported. */
  told(sha256: string): string {
    return `${this.image(sha256)}.told-${randomUUID()}`;
  }

  /**
   * A second path for a stored file, whose first path goes to another file with the same bytes.
   * After `MAX_TWINS` calls, the oldest second path is used again.
   */
  twin(sha256: string): string {
    this.#twins = (this.#twins + 1) % MAX_TWINS;
    return `${this.image(sha256)}.twin-${this.#owner.replace(':', '-')}-${this.#twins}`;
  }

  isTwin(path: string, sha256: string): boolean {
    return path.startsWith(`${this.image(sha256)}.twin-`);
  }

  /** A unique path on the same file system as the stored files. */
  temp(): string {
    return join(this.path, 'tmp', `${this.#owner.replace(':', '-')}-${randomUUID()}`);
  }

  /** Returns `temp` after making its folder. */
  ready(temp: string): string {
    mkdirSync(dirname(temp), { recursive: true, mode: 0o700 });
    return temp;
  }

  /** Syncs a stored file and its name to the disk, as far as `durability` requires. */
  sync(image: string, durability: Durability): void {
    if (durability === 'none') return;
    sync(image);
    if (durability === 'file') return;
    const shard = dirname(image);
    sync(shard);
    // Sync the subfolder's own name once, because the subfolder may be new.
    if (this.#synced.has(shard)) return;
    sync(this.path);
    this.#synced.add(shard);
  }

  /**
   * Syncs files in parallel, and each of their folders once. Skips files that this process has
   * already synced: a session may sync all files it has seen before every command.
   */
  async syncAll(hashes: readonly string[], whole?: WholeSync): Promise<void> {
    const found = [...new Set(hashes)].map((sha256) => {
      const image = this.image(sha256);
      return { image, version: versionOf(image) };
    });
    const unsynced = found.filter(
      ({ image, version }) => version !== undefined && this.#durable.get(image) !== version,
    );
    if (unsynced.length === 0) return;
    if (whole === undefined || unsynced.length < whole.from || !(await whole.sync()))
      await this.#syncEach(unsynced.map(({ image }) => image));
    if (this.#durable.size > MAX_DURABLE) this.#durable.clear();
    for (const { image, version } of unsynced) this.#durable.set(image, version ?? '');
  }

  async #syncEach(images: readonly string[]): Promise<void> {
    const shards = [...new Set(images.map(dirname))];
    const isKnown = shards.every((shard) => this.#synced.has(shard));
    await syncAll([...images, ...shards, ...(isKnown ? [] : [this.path])]);
    for (const shard of shards) this.#synced.add(shard);
  }

  makePrivate(sha256: string, known: bigint | undefined): void {
    const image = this.image(sha256);
    const mode = known ?? statsOf(image)?.mode ?? 0;
    if ((Number(mode) & OPEN_TO_OTHERS) === 0) return;
    try {
      chmodSync(image, 0o600);
    } catch (error) {
      // Ignore the error: another process has moved the file, or another user owns it. The folder
      // is private, so other users cannot open the file.
      if (errnoOf(error) === undefined) throw error;
    }
  }

  /** All names of each stored file, optionally only in the given subfolders. */
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

  /** Removes temporary files of writers that died. */
  sweepTemps(): void {
    for (const name of namesIn(join(this.path, 'tmp'))) {
      const [pid, start] = name.split('-');
      if (!isAlive(`${pid}:${start}`)) removeIfThere(join(this.path, 'tmp', name));
    }
  }
}

/**
 * The subfolder of a stored file, named after the first digit of its hash. There are only 16
 * subfolders, because creating one takes as long as changing many files.
 */
export function shardOf(sha256: string): string {
  return sha256.slice(0, 1);
}

/** Writes a new file and syncs it if required. Removes it on failure. */
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

/** Like `writeNew`, for few bytes: without the thread pool it takes a quarter of the time. */
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

/**
 * Makes `to` a hard link to the file `from`, and replaces an existing file `to`. Returns false if
 * hard links are impossible there.
 */
export function tryReplace(from: string, to: string, temp: string): boolean {
  try {
    if (statsOf(to) === undefined) return tryLink(from, to);
  } catch (error) {
    if (!isTaken(error)) throw error;
  }
  return tryLink(from, temp) && tryRename(temp, to);
}

/**
 * Makes `to` a hard link to a file. Returns false if hard links are impossible there; throws if the
 * name is taken.
 */
export function tryLink(from: string, to: string): boolean {
  try {
    inFolder(to, () => linkSync(from, to));
    return true;
  } catch (error) {
    if (UNLINKABLE.has(errnoOf(error))) return false;
    throw error;
  }
}

/**
 * Renames a file and replaces an existing file `to`. Returns false if `to` is on another file
 * system.
 */
export function tryRename(from: string, to: string): boolean {
  try {
    inFolder(to, () => renameSync(from, to));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EXDEV') return false;
    throw error;
  }
}

/** Renames a file. Returns false if it does not exist. */
export function setAside(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Renames a file. If a file with the new name exists, keeps that one and removes the other. */
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
  unlessMissing(() => unlinkSync(file));
}

/** Runs `work`. If the file's folder is missing, creates the folder and runs `work` again. */
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
  return unlessMissing(() => readdirSync(folder)) ?? [];
}

/**
 * Inode and modification time of a stored file; undefined if there is none. If they have changed,
 * the file must be synced again. Equal values do not prove equal bytes, but a stored file is never
 * rewritten in place.
 */
function versionOf(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.ino}:${stats.mtimeNs}`;
}

/** Syncs a file's bytes, or a folder's list of names, to the disk. */
export function sync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

const fsyncAsync = promisify(fsync);

/**
 * Like `sync`, but waits for the disk without blocking other tasks. Skips a path that does not
 * exist.
 */
async function syncIfThere(path: string): Promise<void> {
  const fd = openIfThere(path);
  if (fd === undefined) return;
  try {
    await fsyncAsync(fd);
  } finally {
    closeSync(fd);
  }
}

function openIfThere(path: string): number | undefined {
  return unlessMissing(() => openSync(path, 'r'));
}

/** Number of files open at the same time for syncing: a change of many files must not use up the descriptors. */
const SYNCED_AT_ONCE = 8;

/** Like `syncIfThere`, for many paths. */
async function syncAll(paths: readonly string[]): Promise<void> {
  for (let start = 0; start < paths.length; start += SYNCED_AT_ONCE)
    await Promise.all(paths.slice(start, start + SYNCED_AT_ONCE).map(syncIfThere));
}
