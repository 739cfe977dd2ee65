import { openOwnerLock } from './owner-lock.ts';
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
