import type { Sharing } from './keyed-mutex.ts';

/**
 * A lock between processes, by slot. A killed process's locks are released by the kernel or
 * detected as dead.
 */
export interface ProcessLock {
  /**
   * False if another process holds a conflicting lock. Callers never request a slot that this
   * process already holds. Default: alone.
   */
  tryAcquire(slot: number, sharing?: Sharing): boolean;
  release(slot: number, sharing?: Sharing): void;
  close(): void;
}
