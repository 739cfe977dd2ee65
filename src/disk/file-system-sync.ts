import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { promisify } from 'node:util';
import { Fault } from '../model/fault.ts';

const run = promisify(execFile);

/**
 * Syncs whole file systems with `sync -f`. A thousand files that are written first and synced together cost one flush
 * instead of two thousand. Node has no call for it.
 */
export class FileSystemSync {
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
