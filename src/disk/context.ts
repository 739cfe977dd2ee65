import { execFile } from 'node:child_process';
import {
  type BigIntStats,
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  fsync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { nativeExtensions } from '../lock/native-package.ts';
import { SharedRun } from '../model/awaitable.ts';
import { isMissing } from '../model/errno.ts';
import { Fault } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Durability } from '../model/policy.ts';
import { HeldFiles } from './held-files.ts';
import { FileSystemClock } from './read.ts';

/** The steps of a commit, in order; a test can fail or kill the process at each of them. */
export type CommitStep =
  | 'temp-open'
  | 'temp-write'
  | 'temp-attributes'
  | 'temp-sync'
  | 'compare'
  | 'exchange'
  | 'claim'
  | 'verify'
  | 'publish'
  | 'retain'
  | 'folder-sync';

/** The shared parts that every file change needs. */
export interface DiskContext {
  readonly clock: FileSystemClock;
  readonly litter: LitterLog;
  /** Folder outside every workspace where displaced files go; they are never deleted by a commit. */
  readonly retained: string;
  /** Holds displaced files open that could only be copied into `retained`. */
  readonly held: HeldFiles;
  readonly durability: Durability;
  /** Set while many changes are made together: the durability that one sync gives all of them. */
  readonly batch?: Durability;
  readonly sync: FileSystemSync;
  readonly folders: FolderSyncs;
  /** A path among the images for a displaced file with these bytes, used instead of `retained`. */
  readonly imageName?: (fingerprint: Fingerprint, stats: BigIntStats) => string | undefined;
  /** Undefined if names cannot be exchanged atomically; commits then claim and link. */
  readonly native: NativeFiles | undefined;
  /** Called before each step of a commit. */
  readonly trace?: (step: CommitStep) => void;
  close(): void;
}

export interface DiskOptions {
  /** Our state folder; never inside a workspace. */
  readonly home: string;
  /** Identifies this process in temporary names, so that a later start can find their owner. */
  readonly owner: string;
  readonly durability: Durability;
  readonly imageName?: DiskContext['imageName'];
  /** `claim` disables the atomic exchange, for tests of the weaker commit. */
  readonly commit?: 'exchange' | 'claim';
  readonly trace?: (step: CommitStep) => void;
}

const fsyncAsync = promisify(fsync);

export function openDisk(options: DiskOptions): DiskContext {
  const retained = join(options.home, 'retained');
  mkdirSync(retained, { recursive: true, mode: 0o700 });
  const clock = new FileSystemClock(join(options.home, 'clock'));
  const held = new HeldFiles();
  const litter = new LitterLog(options.home, options.owner, options.durability);
  return {
    clock,
    litter,
    retained,
    held,
    durability: options.durability,
    sync: new FileSystemSync(),
    folders: new FolderSyncs(),
    ...(options.imageName === undefined ? {} : { imageName: options.imageName }),
    native: options.commit === 'claim' ? undefined : loadNative(),
    ...(options.trace === undefined ? {} : { trace: options.trace }),
    close: () => {
      held.close();
      clock.close();
      litter.close();
    },
  };
}

/**
 * Syncs whole file systems with `sync -f`, which Node has no call for. A thousand files written
 * first and synced together cost one flush instead of two thousand.
 */
class FileSystemSync {
  #works: Promise<boolean> | undefined;

  /** True if `sync -f` works on this machine. `path`: any path on the file system to try. */
  works(path: string): Promise<boolean> {
    this.#works ??= process.platform === 'linux' ? succeeds(path) : Promise.resolve(false);
    return this.#works;
  }

  /** Makes everything written so far on the file systems of these paths durable. */
  async sync(paths: readonly string[]): Promise<void> {
    const byDevice = new Map(paths.map((path) => [statSync(path).dev, path]));
    for (const path of byDevice.values()) {
      if (await succeeds(path)) continue;
      const message = `the file system of ${path} could not be synced`;
      throw new Fault('IO_FAILED', message, { path, reason: 'EIO' });
    }
  }
}

/** Syncs folders without blocking other work. Changes in one folder that wait at the same time share a sync. */
class FolderSyncs {
  readonly #runs = new Map<string, SharedRun>();

  /** `fd`: the open folder. It must stay open until this resolves. */
  async sync(fd: number): Promise<void> {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    const key = `${dev}:${ino}`;
    const run = this.#runs.get(key) ?? new SharedRun();
    this.#runs.set(key, run);
    try {
      await run.run(() => fsyncAsync(fd));
    } finally {
      if (run.isIdle && this.#runs.get(key) === run) this.#runs.delete(key);
    }
  }
}

async function succeeds(path: string): Promise<boolean> {
  try {
    await promisify(execFile)('sync', ['-f', path]);
    return true;
  } catch {
    // The program is missing, does not support the option, or the device failed.
    return false;
  }
}

/** The prefix of all our temporary names; the owner follows it. */
export const TEMP_PREFIX = '.lookfirst-';

/**
 * One line of a litter log: a folder in which this process creates temporary names, or a name it
 * has claimed there.
 */
export type LitterLine =
  | { readonly dir: string }
  | { readonly dir: string; readonly claim: string; readonly name: string };

interface Claiming {
  readonly claim: string;
  readonly name: string;
  /** `none` inside a batch: after a power cut, the batch's announced change restores the file. */
  readonly durability: Durability;
}

/**
 * Records where a process may leave temporary names behind if it is killed. Each process has one
 * file in our state folder, with a line per workspace folder it writes to. A later start reads the
 * logs of dead processes.
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
   * A fresh temporary name in `dir`. The folder is logged before the name exists, so that it is
   * never forgotten.
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
  claiming(dir: string, { claim, name, durability }: Claiming): void {
    this.#append({ dir, claim, name }, durability);
  }

  /** Keeps the log for a later start: a step failed, so a temporary name may remain. */
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
    // Sync, so that the line survives a power cut: once per folder, and for every claim.
    if (durability !== 'none') fdatasyncSync(this.#fd);
  }
}

export function logFolder(home: string): string {
  return join(home, 'writers');
}

/** The lines of a log; empty if another start has already removed it. */
export function readLitter(path: string): LitterLine[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => {
    try {
      // `#append` wrote this format. A torn line belongs to a name that was never created.
      return line === '' ? [] : [JSON.parse(line) as LitterLine];
    } catch {
      return [];
    }
  });
}

/** Removes one of our own files. No error if another process has already removed it. */
export function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** The functions we use of fs-native-extensions: atomic exchange of two names, and extended attributes. */
export interface NativeFiles {
  /** renameat2(RENAME_EXCHANGE), or RENAME_SWAP on macOS. Both names must exist, on one file system. */
  swapSync(from: string, to: string): void;
  listAttrsSync(fd: number): Iterable<string>;
  getAttrSync(fd: number, name: string): Buffer | null;
  setAttrSync(fd: number, name: string, value: Buffer): void;
  removeAttrSync(fd: number, name: string): void;
}

/**
 * The native helper, or undefined if it has no build for this machine. Not used on Windows, where
 * its swap is not atomic.
 */
export function loadNative(): NativeFiles | undefined {
  if (process.platform === 'win32') return undefined;
  try {
    // The package has no types; `NativeFiles` declares the part we use.
    return nativeExtensions() as NativeFiles;
  } catch {
    // The dependency is optional. Without it, commits claim and link, and extended attributes are not copied.
    return undefined;
  }
}

/** Fewer files than this are synced one by one: two runs of `sync` would cost more. */
export const BATCH_FILES = 16;

/**
 * A context for a change of several files. Displaced files stay in our own folder until all steps
 * are done. If a step fails, they move back from there without rewriting their bytes.
 */
export function severalContext(context: DiskContext): DiskContext {
  const { imageName: _, ...rest } = context;
  return rest;
}

/** A context for many changes. They skip syncing; the caller syncs all of them together. */
export function batchContext(context: DiskContext): DiskContext {
  return { ...severalContext(context), durability: 'none', batch: context.durability };
}

/** A context for one change in a batch that must be durable by itself. */
export function unbatched(context: DiskContext): DiskContext {
  const { batch, ...rest } = context;
  return batch === undefined ? context : { ...rest, durability: batch };
}

/**
 * The descriptors that undoing one step needs: the file, its folder, a file of ours, and the
 * folders on the path.
 */
const RESERVED = 8;

/**
 * Opens spare descriptors and returns a function that closes them. A change of several files holds
 * them from before its first step. If descriptors run out, closing the spares makes room to undo
 * the steps done. Throws if too few are available.
 */
export function reserveDescriptors(): () => void {
  const held: number[] = [];
  const release = (): void => {
    for (const fd of held.splice(0)) closeSync(fd);
  };
  try {
    while (held.length < RESERVED) held.push(openSync(devNull, 'r'));
    return release;
  } catch (error) {
    release();
    throw error;
  }
}
