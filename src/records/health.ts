import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FULL_BYTES, loadNative } from '../disk/context.ts';
import { FileSystemClock } from '../disk/file-system.ts';
import { findRipgrep } from '../disk/ripgrep.ts';
import { type ChainReport, verifyChain } from '../journal/verify.ts';
import { openRangeLock } from '../lock/locks.ts';
import { dropCompiledCode } from '../process/compile-cache.ts';
import { isFleetUrl, openRecordedState } from '../store/open-state.ts';
import type { inspectFleet } from '../store/postgres/open.ts';
import { inspectHome } from '../store/prepare-home.ts';
import { Workspace } from '../workspace/workspace.ts';
import type { RecordsPlace } from './records.ts';

/** The state folder: whether it exists, is private and writable, and how much room it has. */
export function homeHealth(home: string): ReturnType<typeof inspectHome> {
  return inspectHome(home);
}

/** Opens the store and verifies its journal. */
export async function storeHealth({ store: url, home }: RecordsPlace): Promise<ChainReport> {
  const { store } = await openRecordedState(url, { home, missing: 'empty' });
  try {
    return await verifyChain(store);
  } finally {
    await store.close();
  }
}

/**
 * Connection, latency, schema, clock and size of a store that machines share; undefined for other
 * stores.
 */
export async function fleetHealth(
  url: string,
): Promise<Awaited<ReturnType<typeof inspectFleet>> | undefined> {
  if (!isFleetUrl(url)) return undefined;
  const { inspectFleet: inspect } = await import('../store/postgres/open.ts');
  return inspect(url);
}

/** The guarantees that the file system of a folder allows. */
interface FolderHealth {
  /** The folder's canonical path, without links. */
  readonly root: string;
  readonly guarantee: Workspace['guarantee'];
  /**
   * `own`: this machine's clock sets file times, so equal file times can replace hashing.
   * `elsewhere`: another machine's clock sets them. `unreadable`: the folder cannot be opened, so it
   * is unknown which clock sets them.
   */
  readonly clock: 'own' | 'elsewhere' | 'unreadable';
}

export function folderHealth(folder: string): FolderHealth {
  const workspace = Workspace.open([folder]);
  try {
    const { guarantee, roots } = workspace;
    return { root: roots[0] ?? folder, guarantee, clock: clockIn(workspace) };
  } finally {
    workspace.close();
  }
}

function clockIn(workspace: Workspace): FolderHealth['clock'] {
  const outcome = workspace.locate('.', 'status');
  if (!outcome.ok || !outcome.located.exists) return 'unreadable';
  const { place, stats } = outcome.located;
  const clock = new FileSystemClock();
  try {
    const isElsewhere = clock.isRacy({ ...stats, mtimeNs: 0n, ctimeNs: 0n }, place.dir.prefix);
    return isElsewhere ? 'elsewhere' : 'own';
  } finally {
    clock.close();
    place.dir.close();
  }
}

/**
 * Exchanges two files in one step, as a change does. False if this platform cannot exchange files. Throws the error of
 * the system call.
 */
export function exchangeFiles(one: string, other: string): boolean {
  const native = loadNative();
  native?.swapSync(one, other);
  return native !== undefined;
}

/**
 * Takes and releases a lock in a file. `kernel`: the kernel granted it. `refused`: the kernel did
 * not. `files`: kernel locks are not available, so locks are files.
 */
export function lockHealth(file: string): 'kernel' | 'files' | 'refused' {
  const lock = openRangeLock(file);
  if (lock === undefined) return 'files';
  try {
    if (!lock.tryAcquire(1)) return 'refused';
    lock.release(1);
    return 'kernel';
  } finally {
    lock.close();
  }
}

/** The first line of `rg --version`. Throws if ripgrep is missing or does not run. */
export async function ripgrepVersion(folder: string): Promise<string> {
  const command = await findRipgrep({}, [folder]);
  const { stdout } = await promisify(execFile)(command, ['--version'], { timeout: 10_000 });
  return stdout.split('\n')[0] ?? '';
}

/** True if a disk with so much free space has no room for the database to grow. */
export function isFullDisk(freeBytes: number): boolean {
  return freeBytes < FULL_BYTES;
}

/**
 * Makes room on a full disk for a clean-up, which needs some to open and change the database:
 * removes the compiled code of the program, which is only a cache.
 */
export function makeRoom(home: string): void {
  const { exists, freeBytes } = homeHealth(home);
  if (exists && isFullDisk(freeBytes)) dropCompiledCode(join(home, 'compiled'));
}
