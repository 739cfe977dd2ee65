import { execFile } from 'node:child_process';
import { closeSync, constants, fstatSync, fsync, openSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { SharedRun } from '../model/awaitable.ts';
import { Fault } from '../model/fault.ts';
import type { PinnedDirectory } from '../model/path.ts';
import type { Durability } from '../model/policy.ts';

const fsyncAsync = promisify(fsync);

/**
 * Syncs whole file systems with `sync -f`, which Node has no call for. A thousand files written
 * first and synced together cost one flush instead of two thousand.
 */
export class FileSystemSync {
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
export class FolderSyncs {
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

/** Makes a folder's entries durable, without blocking other work. */
export async function syncFolder(
  { durability, folders }: { readonly durability: Durability; readonly folders: FolderSyncs },
  dir: PinnedDirectory,
): Promise<void> {
  if (durability !== 'full' || process.platform === 'win32') return;
  const fd = openSync(`${dir.prefix}/.`, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folders.sync(fd);
  } finally {
    closeSync(fd);
  }
}
