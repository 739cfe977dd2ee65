import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { isMissing, isTaken } from '../model/errno.ts';
import type { ProcessLock } from './process-lock.ts';
import { openRangeLock } from './range-lock.ts';

export interface ProcessLockOptions {
  /** Locked by the kernel, where it can. */
  readonly file: string;
  /** Holds one file per lock, where the kernel cannot. */
  readonly folder: string;
  readonly owner: string;
  isAlive(owner: string): boolean;
  /** `owner`: do without the kernel's locks; for tests of the weaker kind. */
  readonly use?: 'owner' | undefined;
}

/** The best exclusion between processes that this machine has. */
export function openProcessLock({ file, folder, owner, isAlive, use }: ProcessLockOptions): ProcessLock {
  const range = use === 'owner' ? undefined : openRangeLock(file);
  return range ?? openOwnerLock(folder, owner, isAlive);
}

/**
 * Locks by a file per slot that names its owner, and one per slot and owner for those who share it. A dead owner's file
 * is taken away by renaming it, which only one process can do. Used where the kernel's locks cannot be had; a reused
 * process number is told apart by its start time.
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

  // Both kinds make their file first and look for the other's then: of two at the same moment at least one sees the other.
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

/** Linking a complete file: a lock file never is seen without its owner's name in it. */
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

/** Two may see the same dead owner: whoever renames the file first looks again whose it was, and puts a live one back. */
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
