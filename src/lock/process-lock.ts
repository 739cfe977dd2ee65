import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { isTaken, unlessMissing } from '../model/fault.ts';
import type { LockMode } from '../model/waiting.ts';
import { nativeExtensions } from './native-package.ts';

/**
 * Locks between processes. Each slot (a number) is one lock. If a process is killed, the kernel
 * releases its locks, or other processes detect that their owner is dead.
 */
export interface ProcessLock {
  /**
   * False if another process holds a conflicting lock. Callers never request a slot that this
   * process already holds. Without `sharing` the lock is exclusive.
   */
  tryAcquire(slot: number, sharing?: LockMode): boolean;
  release(slot: number, sharing?: LockMode): void;
  close(): void;
}

interface NativeLocks {
  tryLock(fd: number, offset: number, length: number, options?: { readonly shared: boolean }): boolean;
  unlock(fd: number, offset: number, length: number): void;
}

const SHARED = { shared: true } as const;

/**
 * Locks one byte per slot. The kernel releases such locks however the process ends. The slots are
 * spread over the files: for every new lock, the kernel searches all locks on its file. All files
 * are opened at the start: later the process may lack handles or rights. Undefined on systems other
 * than Linux, or if the native helper has no build.
 */
export function openRangeLock(...files: readonly string[]): ProcessLock | undefined {
  const native = process.platform === 'linux' ? loadNative() : undefined;
  if (native === undefined) return undefined;
  const lists = files.map((file) => openSync(file, 'a+', 0o600));
  const listOf = (slot: number): number => lists[slot % lists.length] as number;
  return {
    tryAcquire: (slot, sharing = 'alone') =>
      sharing === 'alone'
        ? native.tryLock(listOf(slot), slot, 1)
        : native.tryLock(listOf(slot), slot, 1, SHARED),
    release: (slot) => native.unlock(listOf(slot), slot, 1),
    close: () => {
      for (const fd of lists) closeSync(fd);
    },
  };
}

function loadNative(): NativeLocks | undefined {
  try {
    // The package has no types; `NativeLocks` declares the part we use.
    return nativeExtensions() as NativeLocks;
  } catch {
    return undefined;
  }
}

interface ProcessLockOptions {
  /** The files for kernel locks, used if these are available. */
  readonly files: readonly string[];
  /** The folder with one file per lock, used if kernel locks are not available. */
  readonly folder: string;
  readonly owner: string;
  isAlive(owner: string): boolean;
}

/** Opens the best lock between processes that this machine supports. */
export function openProcessLock({ files, folder, owner, isAlive }: ProcessLockOptions): ProcessLock {
  return openRangeLock(...files) ?? openOwnerLock(folder, owner, isAlive);
}

/**
 * Locks by files, for systems without kernel locks. An exclusive lock is one file per slot. A
 * shared lock is one file per slot and owner. Owners include the process start time, because
 * process ids are reused. A lock whose file is missing counts as released.
 */
export function openOwnerLock(
  folder: string,
  owner: string,
  isAlive: (owner: string) => boolean,
): ProcessLock {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const own = join(folder, `${owner}.owner`);
  writeFileSync(own, owner, { mode: 0o600 });
  const fileOf = (slot: number): string => join(folder, slot.toString(36));
  const markOf = (slot: number): string => `${fileOf(slot)}~${owner}`;
  const unlink = (file: string): void => unlessMissing(() => unlinkSync(file));
  const isHeld = (file: string): boolean => {
    const holder = holderOf(file);
    if (holder === undefined) return false;
    if (holder === owner || isAlive(holder)) return true;
    evict(file, holder);
    return holderOf(file) !== undefined;
  };
  /**
   * Removes a dead owner's lock file. The guard file lets one process at a time do so: a second one
   * could remove the file of a process that has taken the lock meanwhile.
   */
  const evict = (file: string, dead: string): void => {
    const guard = `${file}.evict`;
    if (!linked(own, guard)) {
      isHeld(guard);
      return;
    }
    if (holderOf(file) === dead) unlink(file);
    unlink(guard);
  };
  const isShared = (slot: number): boolean =>
    readdirSync(folder).some(
      (name) => name.startsWith(`${slot.toString(36)}~`) && isHeld(join(folder, name)),
    );

  // Create our file before checking for others. If two processes try at once, at least one of them
  // then sees the file of the other.
  const takeAlone = (slot: number): boolean => {
    if (!linked(own, fileOf(slot))) {
      isHeld(fileOf(slot));
      return false;
    }
    if (!isShared(slot)) return true;
    unlinkSync(fileOf(slot));
    return false;
  };
  const takeTogether = (slot: number): boolean => {
    linked(own, markOf(slot));
    if (!isHeld(fileOf(slot))) return true;
    unlinkSync(markOf(slot));
    return false;
  };
  return {
    tryAcquire: (slot, sharing = 'alone') => (sharing === 'alone' ? takeAlone(slot) : takeTogether(slot)),
    release: (slot, sharing = 'alone') => unlink(sharing === 'alone' ? fileOf(slot) : markOf(slot)),
    close: () => unlink(own),
  };
}

/**
 * Creates the lock file `to` as a hard link to the complete file `from`, so that it never lacks its
 * owner's name. False if `to` exists.
 */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
}

function holderOf(file: string): string | undefined {
  return unlessMissing(() => readFileSync(file, 'utf8'));
}
