import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  open,
  renameSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf } from '../model/fault.ts';
import { namesIn } from './litter-log.ts';

const openAsync = promisify(open);

const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Enough for the writes that an agent sends one right after the other. */
const READY_FILES = 16;
/** Files that are made at the same time. Node has four threads for such work. */
const AT_ONCE = 4;

interface ReadyFile {
  readonly path: string;
  readonly fd: number;
  readonly stats: BigIntStats;
}

/**
 * Empty private files in our state folder, for the next replacements. Making a file can take longer than all other
 * system calls of a small write together: the file system must find a free inode. Other threads make these between the
 * changes, and a change only renames one.
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
   * Renames a ready file to `path` and returns its descriptor. Undefined if there is none, if it would need another
   * owner than `like`, or if it cannot move there, for example to another file system.
   */
  take(path: string, like: BigIntStats): number | undefined {
    // A process that makes a single change needs no further file.
    this.#requests += 1;
    if (this.#requests > 1) void this.fill();
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

  /** Makes the missing files. Never fails: without a ready file, a change makes its own. */
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
    if (this.#isClosed) this.close();
  }

  async #make(): Promise<void> {
    this.#made += 1;
    const path = join(this.#folder, `${this.#owner}-${this.#made.toString(36)}`);
    const fd = await openAsync(path, CREATE, 0o600);
    this.#files.push({ path, fd, stats: fstatSync(fd, { bigint: true }) });
  }

  close(): void {
    this.#isClosed = true;
    for (const { fd, path } of this.#files.splice(0)) {
      closeSync(fd);
      removeQuietly(path);
    }
  }
}

/** A file that cannot be removed now is left to the next start. */
function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
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
