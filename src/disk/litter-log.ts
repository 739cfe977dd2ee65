import {
  type BigIntStats,
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  mkdirSync,
  open,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, unlessErrno, unlessMissing } from '../model/fault.ts';
import type { Durability } from '../model/policy.ts';

/** The prefix of all our temporary names; the id of the process that made the name follows it. */
export const TEMP_PREFIX = '.lookfirst-';

/**
 * One line of the log of temporary names. Either a folder in which this process creates such names,
 * or a file (`name`) that it renames to a temporary name (`claim`) for a moment.
 */
export type LitterLine =
  | { readonly dir: string }
  | { readonly dir: string; readonly claim: string; readonly name: string };

interface ClaimRecord {
  readonly claim: string;
  readonly name: string;
  /**
   * How durable the log line must be. `none` in a batch: the journal already lists the batch's
   * files and can restore them after a power cut.
   */
  readonly durability: Durability;
}

/**
 * Records where a process may leave temporary names behind if it is killed. Each process has one
 * file in our state folder, with a line per workspace folder it writes to. A later start of
 * Lookfirst reads the logs of dead processes.
 */
export class LitterLog {
  readonly #path: string;
  readonly #owner: string;
  readonly #durability: Durability;
  readonly #dirs = new Set<string>();
  #fd: number | undefined;
  #count = 0;
  #doubtful = false;

  constructor(home: string, owner: string, durability: Durability) {
    const folder = logFolder(home);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#owner = owner;
    this.#durability = durability;
    this.#path = join(folder, `${owner}.log`);
  }

  /**
   * Returns a new temporary name for `dir`. Logs the folder before a file with that name exists, so
   * that a later start of Lookfirst finds the file.
   */
  tempName(dir: string): string {
    if (!this.#dirs.has(dir)) {
      this.#append({ dir });
      this.#dirs.add(dir);
    }
    this.#count += 1;
    return `${TEMP_PREFIX}${this.#owner}-${this.#count.toString(36)}`;
  }

  /** Logs that temporary names will be created in these folders, with one sync for all of them. */
  expect(dirs: readonly string[]): void {
    const added = [...new Set(dirs)].filter((dir) => !this.#dirs.has(dir));
    for (const [index, dir] of added.entries()) {
      this.#append({ dir }, index === added.length - 1 ? this.#durability : 'none');
      this.#dirs.add(dir);
    }
  }

  /** Logs that `name` in `dir` is about to be renamed to `claim` for a moment. */
  claiming(dir: string, { claim, name, durability }: ClaimRecord): void {
    this.#append({ dir, claim, name }, durability);
  }

  /**
   * Call this after a failed step, which may leave a temporary name behind: `close` then keeps the
   * log for a later start of Lookfirst.
   */
  doubt(): void {
    this.#doubtful = true;
  }

  /** Closes the log, and deletes it if everything this process created is published or removed. */
  close(): void {
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    this.#fd = undefined;
    if (!this.#doubtful) unlinkIfThere(this.#path);
  }

  #append(line: LitterLine, durability: Durability = this.#durability): void {
    this.#fd ??= openSync(this.#path, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND, 0o600);
    // Begin a new line, in case a full disk cut the previous one short.
    const text = Buffer.from(`\n${JSON.stringify(line)}\n`);
    for (let done = 0; done < text.byteLength; ) done += writeSync(this.#fd, text, done);
    // Sync, so that the line survives a power cut.
    if (durability !== 'none') fdatasyncSync(this.#fd);
  }
}

export function logFolder(home: string): string {
  return join(home, 'writers');
}

/**
 * The names in one of our folders. Empty if the folder is gone or cannot be read: neither problem
 * may prevent a change of files.
 */
export function namesIn(folder: string): string[] {
  return unlessErrno(() => readdirSync(folder)) ?? [];
}

/** The lines of a log; empty if another process has already removed the log. */
export function readLitter(path: string): LitterLine[] {
  const text = unlessMissing(() => readFileSync(path, 'utf8')) ?? '';
  return text.split('\n').flatMap((line) => {
    try {
      // The cast is safe: `#append` wrote the line. A torn line is ignored, because the temporary
      // name in it was never created.
      return line === '' ? [] : [JSON.parse(line) as LitterLine];
    } catch {
      return [];
    }
  });
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
