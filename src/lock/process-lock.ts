import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { isMissing, isTaken } from '../model/fault.ts';
import type { LockMode } from '../model/keyed-mutex.ts';
import { nativeExtensions } from './native-package.ts';

/**
 * A lock between processes, by slot. A killed process's locks are released by the kernel or
 * detected as dead.
 */
export interface ProcessLock {
  /**
   * False if another process holds a conflicting lock. Callers never request a slot that this
   * process already holds. Default: alone.
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
 * Locks one byte of a file per slot in the kernel. Uses open-file-description locks on Linux, which
 * the kernel releases however the process ends. Undefined if the native helper has no build, or the
 * system can lock only whole files.
 */
export function openRangeLock(file: string): ProcessLock | undefined {
  const native = process.platform === 'linux' ? loadNative() : undefined;
  if (native === undefined) return undefined;
  const fd = openSync(file, 'a+', 0o600);
  return {
    tryAcquire: (slot, sharing = 'alone') =>
      sharing === 'alone' ? native.tryLock(fd, slot, 1) : native.tryLock(fd, slot, 1, SHARED),
    release: (slot) => native.unlock(fd, slot, 1),
    close: () => closeSync(fd),
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
  /** The file for kernel locks, if available. */
  readonly file: string;
  /** The folder with one file per lock, if kernel locks are not available. */
  readonly folder: string;
  readonly owner: string;
  isAlive(owner: string): boolean;
  /** `owner` disables kernel locks, for tests of the weaker kind. */
  readonly use?: 'owner' | undefined;
}

/** Opens the best lock between processes that this machine supports. */
export function openProcessLock({ file, folder, owner, isAlive, use }: ProcessLockOptions): ProcessLock {
  const range = use === 'owner' ? undefined : openRangeLock(file);
  return range ?? openOwnerLock(folder, owner, isAlive);
}

/**
 * Locks with one file per slot that names its owner; shared locks use one file per slot and owner.
 * A dead owner's file is renamed away, which only one process can do. Used if kernel locks are not
 * available. Owners include the process start time, which distinguishes reused process ids.
 */
function openOwnerLock(folder: string, owner: string, isAlive: (owner: string) => boolean): ProcessLock {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const own = join(folder, `${owner}.owner`);
  writeFileSync(own, owner, { mode: 0o600 });
  const fileOf = (slot: number): string => join(folder, slot.toString(36));
  const markOf = (slot: number): string => `${fileOf(slot)}~${owner}`;
  const isHeld = (file: string): boolean => {
    const holder = holderOf(file);
    if (holder === undefined) return false;
    if (holder === owner || isAlive(holder)) return true;
    evict(file, holder);
    return holderOf(file) !== undefined;
  };
  const isShared = (slot: number): boolean =>
    readdirSync(folder).some(
      (name) => name.startsWith(`${slot.toString(36)}~`) && isHeld(join(folder, name)),
    );

  // Each kind creates its file before it checks for the other: of two concurrent attempts one sees the other.
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
    release: (slot, sharing = 'alone') => unlinkSync(sharing === 'alone' ? fileOf(slot) : markOf(slot)),
    close: () => unlinkSync(own),
  };
}

/**
 * Creates a lock file by linking a complete one, so that it never lacks its owner's name. False if
 * it exists.
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
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Removes a dead owner's lock file. Two processes may see the same dead owner, so after the rename
 * check the owner again and put a live one's file back.
 */
function evict(file: string, dead: string): void {
  const aside = `${file}.${process.pid}.evicted`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  if (holderOf(aside) !== dead) linked(aside, file);
  unlinkSync(aside);
}
