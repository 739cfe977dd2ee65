import { execFile } from 'node:child_process';
import { type BigIntStats, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Fault } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Durability } from '../model/policy.ts';
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

/** What every change of a file needs besides its place. */
export interface DiskContext {
  readonly clock: FileSystemClock;
  readonly litter: LitterLog;
  /** Folder outside every workspace where displaced files go; they are never deleted by a commit. */
  readonly retained: string;
  /** Displaced files that could only be copied there. */
  readonly held: HeldFiles;
  readonly durability: Durability;
  /** Set while many changes are made at once: what they must be made durable as, by one sync for all of them. */
  readonly batch?: Durability;
  readonly sync: FileSystemSync;
  /** Where a displaced file with these bytes may go at once, instead of the folder above. */
  readonly imageName?: (fingerprint: Fingerprint, stats: BigIntStats) => string | undefined;
  /** Undefined: names cannot be exchanged atomically here; commits claim and link instead. */
  readonly native: NativeFiles | undefined;
  /** Called before each step. */
  readonly trace?: (step: CommitStep) => void;
  close(): void;
}

export interface DiskOptions {
  /** Our state folder; never inside a workspace. */
  readonly home: string;
  /** Names this process in temporary names, so that a later start can tell whose they are. */
  readonly owner: string;
  readonly durability: Durability;
  readonly imageName?: DiskContext['imageName'];
  /** `claim`: do without the atomic exchange; for tests of the weaker commit. */
  readonly commit?: 'exchange' | 'claim';
  readonly trace?: (step: CommitStep) => void;
}

const run = promisify(execFile);

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
 * Syncs whole file systems with `sync -f`. A thousand files that are written first and synced together cost one flush
 * instead of two thousand. Node has no call for it.
 */
class FileSystemSync {
  #works: Promise<boolean> | undefined;

  /** Whether this machine can do it; `path` is any path on the file system to try it on. */
  works(path: string): Promise<boolean> {
    this.#works ??= process.platform === 'linux' ? succeeds(path) : Promise.resolve(false);
    return this.#works;
  }

  /** Makes everything durable that was written so far on the file systems of these paths. */
  async sync(paths: readonly string[]): Promise<void> {
    const byDevice = new Map(paths.map((path) => [statSync(path).dev, path]));
    for (const path of byDevice.values()) {
      if (await succeeds(path)) continue;
      const message = `the file system of ${path} could not be synced`;
      throw new Fault('IO_FAILED', message, { path, reason: 'EIO' });
    }
  }
}

async function succeeds(path: string): Promise<boolean> {
  try {
    await run('sync', ['-f', path]);
    return true;
  } catch {
    // There is no such program, it does not know the option, or the device has failed.
    return false;
  }
}
