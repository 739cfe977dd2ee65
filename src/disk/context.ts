import { execFile } from 'node:child_process';
import { type BigIntStats, fstatSync, fsync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Fault } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Durability } from '../model/policy.ts';
import { SharedRun } from '../model/shared-run.ts';
import { FileSystemClock } from './clock.ts';
import { HeldFiles } from './held-files.ts';
import { LitterLog } from './litter-log.ts';
import { loadNative, type NativeFiles } from './native.ts';

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

const run = promisify(execFile);
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

  /** Whether `sync -f` works on this machine. `path`: any path on the file system to try. */
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
    await run('sync', ['-f', path]);
    return true;
  } catch {
    // The program is missing, does not support the option, or the device failed.
    return false;
  }
}
