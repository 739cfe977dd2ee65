/** Exclusion between processes for one slot at a time. What a killed process held is free at once, or found dead. */
export interface ProcessLock {
  /** False if another process has it. */
  tryAcquire(slot: number): boolean;
  release(slot: number): void;
  close(): void;
}
