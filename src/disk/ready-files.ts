import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  open,
  readdirSync,
  renameSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, unlessErrno, unlessMissing } from '../model/fault.ts';

/**
 * The names in one of our folders. Empty if the folder is gone or cannot be read: neither problem
 * may prevent a change of files.
 */
function namesIn(folder: string): string[] {
  return unlessErrno(() => readdirSync(folder)) ?? [];
}

/** Removes one of our own files. No error if another process has already removed it. */
export function unlinkIfThere(path: string): void {
  unlessMissing(() => unlinkSync(path));
}

const openAsync = promisify(open);

const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/**
 * Number of empty files made in advance: enough for the writes that an agent sends one right after
 * the other.
 */
const READY_FILES = 16;
/**
 * When fewer prepared files than this remain, the next change starts a refill. A refill slows that
 * change down, so it waits until half of the files are used.
 */
const FEW_FILES = READY_FILES / 2;
/** Number of files that are made at the same time. Node has four threads for file operations. */
const AT_ONCE = 4;

interface ReadyFile {
  readonly path: string;
  readonly fd: number;
  readonly stats: BigIntStats;
}

/**
 * Empty files in our state folder, made in advance by other threads. A replacement renames one
 * instead of creating a file, because creating can take longer than the rest of a small write.
 */
export class ReadyFiles {
  readonly #folder: string;
  readonly #owner: string;
  readonly #files: ReadyFile[] = [];
  #made = 0;
  #requests = 0;
  #filling: Promise<void> | undefined;
  #isClosed = false;

  constructor(home: string, owner: string) {
    this.#folder = readyFolder(home);
    this.#owner = owner;
  }

  /**
   * Renames a ready file to `path` and returns its descriptor. Undefined if no ready file is left,
   * if its owner or file system differs from that of `like`, or if the rename fails.
   */
  take(path: string, like: BigIntStats): number | undefined {
    // Do not refill at the first request: the process may make only one change.
    this.#requests += 1;
    if (this.#requests > 1 && this.#files.length < FEW_FILES) void this.fill();
    const file = this.#files.at(-1);
    if (file === undefined) return undefined;
    const { dev, uid, gid } = file.stats;
    if (dev !== like.dev || uid !== like.uid || gid !== like.gid) return undefined;
    try {
      renameSync(file.path, path);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return undefined;
    }
    this.#files.pop();
    return file.fd;
  }

  /**
   * Makes the empty files that are missing. Never fails: without a ready file, a change makes its
   * own.
   */
  fill(): Promise<void> {
    this.#filling ??= this.#makeAll().finally(() => {
      this.#filling = undefined;
    });
    return this.#filling;
  }

  async #makeAll(): Promise<void> {
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      while (!this.#isClosed && this.#files.length < READY_FILES) {
        const count = Math.min(AT_ONCE, READY_FILES - this.#files.length);
        const made = await Promise.allSettled(Array.from({ length: count }, () => this.#make()));
        if (made.some(({ status }) => status === 'rejected')) break;
      }
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
    if (this.#isClosed) this.#removeAll();
  }

  async #make(): Promise<void> {
    this.#made += 1;
    const path = join(this.#folder, `${this.#owner}-${this.#made.toString(36)}`);
    const fd = await openAsync(path, CREATE, 0o600);
    this.#files.push({ path, fd, stats: fstatSync(fd, { bigint: true }) });
  }

  /** Removes the ready files. Waits for files that are being made at this moment, and removes them too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#removeAll();
    await this.#filling;
  }

  #removeAll(): void {
    for (const { fd, path } of this.#files.splice(0)) {
      closeSync(fd);
      removeQuietly(path);
    }
  }
}

/** Removes a file of our own. If that fails, leaves the file to the next start of Lookfirst. */
function removeQuietly(path: string): void {
  unlessErrno(() => unlinkSync(path));
}

function readyFolder(home: string): string {
  return join(home, 'ready');
}

/** Removes the ready files of dead processes. */
export function dropReadyFiles(home: string, isAlive: (owner: string) => boolean): void {
  const folder = readyFolder(home);
  const names = namesIn(folder);
  const owners = new Set(names.map(ownerOf));
  const dead = new Set([...owners].filter((owner) => !isAlive(owner)));
  for (const name of names) if (dead.has(ownerOf(name))) removeQuietly(join(folder, name));
}

function ownerOf(name: string): string {
  return name.slice(0, name.lastIndexOf('-'));
}
