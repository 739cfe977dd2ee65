import { createHash, hash } from 'node:crypto';
import {
  closeSync,
  constants,
  createReadStream,
  fsync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  utimesSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, Fault, isMissing, isTaken, unlessMissing } from '../../model/fault.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { Durability } from '../../model/policy.ts';
import { changedWhileKept, damagedImage, type KeptImage, missingImage } from '../images.ts';
import { ownerOfThisProcess } from '../owner.ts';

const CHUNK_BYTES = 1 << 18;
const COPY_MODE = 0o400;
/** If a link or a pipe has taken a file's place, opening neither follows the link nor waits for the pipe. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** A temporary file this old was left by a process that died. */
const ABANDONED_MS = 24 * 3_600_000;
/** Number of files open at the same time for syncing: many must not use up the descriptors. */
const SYNCED_AT_ONCE = 8;
/** A clean-up hides a file for an instant. A search that misses it looks again this often. */
const MAX_LOOKS = 4;

/**
 * File contents as files, each under its hash. A file is written under a temporary name and then
 * gets its name, so it is complete or not there. Its modification time says when it was last stored
 * or needed.
 * - `HASH`: a content
 * - `HASH.gone`: a content that a clean-up is removing
 * - `HASH.new-…`: a content being written
 */
export class FileBlobs {
  readonly #folder: string;
  readonly #durability: Durability;
  readonly #unsynced = new Set<string>();
  #count = 0;

  constructor(home: string, { durability }: { readonly durability: Durability }) {
    this.#folder = join(home, 'blobs');
    this.#durability = durability;
  }

  keepBytes(bytes: Uint8Array, fingerprint: Fingerprint): Promise<void> {
    return this.keepChunks([bytes], fingerprint);
  }

  keepChunks(
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    fingerprint: Fingerprint,
  ): Promise<void> {
    const { sha256, size } = fingerprint;
    return this.#attempt('store', sha256, async () => {
      if (this.#renew(sha256)) return;
      const temp = this.#temp(sha256);
      try {
        this.#inFolder(() => closeSync(openSync(temp, 'wx', 0o600)));
        const handle = await open(temp, 'w', 0o600);
        const digest = createHash('sha256');
        let written = 0;
        try {
          for await (const chunk of chunks) {
            digest.update(chunk);
            written += chunk.byteLength;
            if (written > size) break;
            await handle.writeFile(chunk);
          }
          if (written !== size || digest.digest('hex') !== sha256) throw changedWhileKept(fingerprint);
          await handle.chmod(COPY_MODE);
        } finally {
          await handle.close();
        }
        this.#publish(temp, sha256);
      } catch (error) {
        removeIfThere(temp);
        throw error;
      }
    });
  }

  /** Resolves when all contents that this process has written are on the disk. */
  sync(): Promise<void> {
    const unsynced = [...this.#unsynced];
    return this.#attempt('sync', unsynced[0] ?? '', async () => {
      if (this.#durability === 'none' || unsynced.length === 0) return;
      for (let at = 0; at < unsynced.length; at += SYNCED_AT_ONCE)
        await Promise.all(
          unsynced.slice(at, at + SYNCED_AT_ONCE).map((sha256) => syncIfThere(this.#file(sha256))),
        );
      if (this.#durability === 'full' && process.platform !== 'win32') await syncIfThere(this.#folder);
      for (const sha256 of unsynced) this.#unsynced.delete(sha256);
    });
  }

  has(sha256: string, purpose: 'read' | 'rely' = 'read'): Promise<boolean> {
    return this.#attempt('look for', sha256, async () =>
      purpose === 'rely' ? this.#renew(sha256) : this.#find(sha256) !== undefined,
    );
  }

  read(fingerprint: Fingerprint): Promise<Uint8Array> {
    const { sha256 } = fingerprint;
    return this.#attempt('read', sha256, async () => {
      const bytes = lookFor(() => {
        const file = this.#find(sha256);
        if (file === undefined) return undefined;
        const fd = openSync(file, READ);
        try {
          return readFileSync(fd);
        } finally {
          closeSync(fd);
        }
      });
      if (bytes === undefined) throw missingImage(sha256);
      if (hash('sha256', bytes) !== sha256) throw damagedImage(sha256, this.#file(sha256));
      return bytes;
    });
  }

  async *chunks({ sha256 }: Fingerprint): AsyncGenerator<Uint8Array> {
    const fd = lookFor(() => {
      const file = this.#find(sha256);
      return file === undefined ? undefined : openSync(file, READ);
    });
    if (fd === undefined) throw missingImage(sha256);
    const digest = createHash('sha256');
    for await (const chunk of createReadStream('', { fd, highWaterMark: CHUNK_BYTES })) {
      digest.update(chunk);
      yield chunk;
    }
    if (digest.digest('hex') !== sha256) throw damagedImage(sha256, this.#file(sha256));
  }

  *list(): Generator<KeptImage> {
    for (const name of this.#names()) {
      if (!/^[0-9a-f]{64}$/.test(name)) continue;
      const stats = statsOf(join(this.#folder, name));
      if (stats !== undefined) yield { sha256: name, bytes: stats.size, sinceMs: stats.mtimeMs };
    }
  }

  /**
   * Removes the contents that were last stored or needed before `untilMs`. Hides each one first, so
   * that a process that comes to rely on it meanwhile stores it again or is noticed.
   */
  remove(hashes: readonly string[], untilMs: number): readonly number[] {
    const sizes: number[] = [];
    for (const sha256 of hashes) {
      const [file, gone] = [this.#file(sha256), this.#gone(sha256)];
      unlessMissing(() => renameSync(file, gone));
      const stats = statsOf(gone);
      if (stats === undefined) continue;
      // Round: the file system has binary fractions of a second, so a time may come back a bit earlier.
      if (Math.round(stats.mtimeMs) >= untilMs) this.#giveName(gone, file);
      else {
        removeIfThere(gone);
        sizes.push(stats.size);
      }
    }
    this.#sweep();
    return sizes;
  }

  /** Removes temporary files of processes that died. */
  #sweep(): void {
    for (const name of this.#names()) {
      if (!name.includes('.new-')) continue;
      const path = join(this.#folder, name);
      if ((statsOf(path)?.mtimeMs ?? Infinity) < Date.now() - ABANDONED_MS) removeIfThere(path);
    }
  }

  /** True if the content is stored. It then counts as stored just now. */
  #renew(sha256: string): boolean {
    const now = new Date();
    return unlessMissing(() => utimesSync(this.#file(sha256), now, now) ?? true) === true;
  }

  /** Gives a complete file its name. If another process has stored the same bytes first, that file stays. */
  #publish(temp: string, sha256: string): void {
    // The file system's own clock may be a few milliseconds behind, and `remove` compares times.
    const now = new Date();
    utimesSync(temp, now, now);
    this.#giveName(temp, this.#file(sha256));
    this.#unsynced.add(sha256);
  }

  #giveName(from: string, to: string): void {
    try {
      linkSync(from, to);
    } catch (error) {
      // File systems without hard links: the bytes are the same, so replacing the file loses nothing.
      if (!isTaken(error)) renameSync(from, to);
    }
    removeIfThere(from);
  }

  #find(sha256: string): string | undefined {
    return lookFor(() =>
      [this.#file(sha256), this.#gone(sha256)].find((file) => statsOf(file) !== undefined),
    );
  }

  #file(sha256: string): string {
    return join(this.#folder, sha256);
  }

  #gone(sha256: string): string {
    return `${this.#file(sha256)}.gone`;
  }

  #temp(sha256: string): string {
    this.#count += 1;
    return `${this.#file(sha256)}.new-${ownerOfThisProcess().replace(':', '-')}-${this.#count}`;
  }

  #names(): readonly string[] {
    return unlessMissing(() => readdirSync(this.#folder)) ?? [];
  }

  #inFolder<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!isMissing(error)) throw error;
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      return work();
    }
  }

  async #attempt<T>(what: string, sha256: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Fault || errnoOf(error) === undefined) throw error;
      throw new Fault(
        'STORE_FAILED',
        `cannot ${what} earlier content of files (SHA-256 ${sha256.slice(0, 12)}) in ${this.#folder}: ${errnoOf(error)}`,
        { cause: error, path: this.#folder, reason: errnoOf(error) ?? '' },
      );
    }
  }
}

/** Retries a search that found nothing, or whose file lost its name before it was opened. */
function lookFor<T>(look: () => T | undefined): T | undefined {
  for (let looks = 1; looks < MAX_LOOKS; looks += 1) {
    const found = unlessMissing(look);
    if (found !== undefined) return found;
  }
  return look();
}

function statsOf(file: string): { readonly size: number; readonly mtimeMs: number } | undefined {
  return lstatSync(file, { throwIfNoEntry: false });
}

const fsyncAsync = promisify(fsync);

async function syncIfThere(path: string): Promise<void> {
  const fd = unlessMissing(() => openSync(path, 'r'));
  if (fd === undefined) return;
  try {
    await fsyncAsync(fd);
  } finally {
    closeSync(fd);
  }
}

function removeIfThere(file: string): void {
  unlessMissing(() => unlinkSync(file));
}
