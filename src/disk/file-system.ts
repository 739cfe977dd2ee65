import { execFile } from 'node:child_process';
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  fsync,
  openSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { Fault, unlessErrno } from '../model/fault.ts';
import type { PinnedDirectory } from '../model/path.ts';
import type { Durability } from '../model/policy.ts';
import { SharedRun } from '../model/waiting.ts';

const fsyncAsync = promisify(fsync);

/**
 * Syncs whole file systems with `sync -f`, which Node has no call for. A thousand files that are
 * written first and then synced together cost one flush, instead of two flushes per file.
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
    // The `sync` program is missing or does not support `-f`, or the device failed.
    return false;
  }
}

/** True if a change waits until its folder is durable. */
export function syncsFolders({ durability }: { readonly durability: Durability }): boolean {
  return durability === 'full' && process.platform !== 'win32';
}

/**
 * Makes a folder's entries durable, without blocking other work. Does nothing on Windows, or if
 * `durability` is not `full`.
 */
export async function syncFolder(
  context: { readonly durability: Durability; readonly folders: FolderSyncs },
  dir: PinnedDirectory,
): Promise<void> {
  if (!syncsFolders(context)) return;
  const fd = openSync(`${dir.prefix}/.`, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await context.folders.sync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * The coarsest time resolution of a local file system (FAT: two seconds), plus a margin. A file
 * that was changed longer ago needs no probe of the file system's clock.
 */
const MARGIN_NS = 2_100_000_000n;

/**
 * Magic numbers of file systems whose times come from another machine or from user code: nfs, smb,
 * cifs, smb2, fuse, 9p, ceph, afs.
 */
const REMOTE_CLOCK = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546, 0x01021997, 0x00c36400, 0x5346414f,
]);

/**
 * Decides whether a file's stamp (inode, size and times) proves its bytes, by git's "racy" rule.
 * Two writes in one tick of the file system's clock can give a file the same stamp. So the stamp is
 * proof only if, before the bytes are read, that clock already shows a later time than the file's
 * last change.
 */
export class FileSystemClock {
  readonly #probe: { readonly fd: number; readonly dev: bigint } | undefined;
  readonly #remote = new Map<bigint, boolean>();
  /**
   * The latest time of the file system's clock that a probe has read, and the system's time at that
   * moment.
   */
  #shown: { readonly ns: bigint; readonly atMs: number } | undefined;

  /**
   * `probe`: a private file to write to in order to read the file system's clock. That clock
   * applies only to files on the same file system.
   */
  constructor(probe?: string) {
    if (probe === undefined) return;
    const fd = openSync(probe, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    this.#probe = { fd, dev: fstatSync(fd, { bigint: true }).dev };
  }

  /**
   * True if a write could still leave the file's stamp unchanged. Call it before reading the bytes,
   * and stat the file again after reading. Called after reading, it would miss a write during the
   * read. `path`: any path on the same file system.
   */
  isRacy(stats: BigIntStats, path: string): boolean {
    if (this.isRemote(stats.dev, path)) return true;
    const nowMs = Date.now();
    if (isBefore(stats, BigInt(nowMs) * 1_000_000n - MARGIN_NS)) return false;
    if (this.#probe?.dev !== stats.dev) return true;
    // Reuse an earlier probe if it read a time after the file's mtime and ctime: later writes get
    // at least that time. Do not reuse it if the system clock was set back since.
    const { ns = 0n, atMs = 0 } = this.#shown ?? {};
    if (nowMs >= atMs && isBefore(stats, ns)) return false;
    const { fd } = this.#probe;
    // If the clock cannot be read, for example because the disk is full, the stamp proves nothing.
    const shownNs = unlessErrno(() => this.#probeNs(fd));
    if (shownNs === undefined) return true;
    this.#shown = { ns: shownNs, atMs: nowMs };
    return !isBefore(stats, shownNs);
  }

  close(): void {
    if (this.#probe !== undefined) closeSync(this.#probe.fd);
  }

  #probeNs(fd: number): bigint {
    writeSync(fd, '.', 0);
    return fstatSync(fd, { bigint: true }).mtimeNs;
  }

  /**
   * True if the times of files on a device do not come from the clock of this machine. `path`: any
   * path on the device.
   */
  isRemote(dev: bigint, path: string): boolean {
    let isRemote = this.#remote.get(dev);
    if (isRemote === undefined) {
      isRemote = REMOTE_CLOCK.has(statfsSync(path).type);
      this.#remote.set(dev, isRemote);
    }
    return isRemote;
  }
}

function isBefore({ mtimeNs, ctimeNs }: BigIntStats, limitNs: bigint): boolean {
  return mtimeNs < limitNs && ctimeNs < limitNs;
}
