import type { Sharing } from './keyed-mutex.ts';

/** Exclusion between processes for one slot at a time. What a killed process held is free at once, or found dead. */
export interface ProcessLock {
  /** False if another process has it in a way that excludes this one. Not asked for what this process has already. Default: alone. */
  tryAcquire(slot: number, sharing?: Sharing): boolean;
  release(slot: number, sharing?: Sharing): void;
  close(): void;
}
