import { hash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { KeyedMutex } from './keyed-mutex.ts';
import { openOwnerLock } from './owner-lock.ts';
import type { ProcessLock } from './process-lock.ts';
import { openRangeLock } from './range-lock.ts';

export interface LockOptions {
  /** Our state folder; processes that share it exclude each other. */
  readonly home: string;
  readonly owner: string;
  isAlive(owner: string): boolean;
  /** `owner`: do without the kernel's locks; for tests of the weaker kind. */
  readonly use?: 'owner';
}

const FIRST_WAIT_MS = 1;
const LONGEST_WAIT_MS = 25;

/**
 * One writer per file, in this process and in every other that shares the state folder. Several files are locked in one
 * order for everyone, so two batches cannot wait for each other.
 */
export class Locks {
  readonly #mutex = new KeyedMutex<number>();
  readonly #processes: ProcessLock;

  constructor(options: LockOptions) {
    mkdirSync(options.home, { recursive: true, mode: 0o700 });
    const range = options.use === 'owner' ? undefined : openRangeLock(join(options.home, 'locks'));
    this.#processes =
      range ?? openOwnerLock(join(options.home, 'lock-files'), options.owner, options.isAlive);
  }

  /** Waits for every key, at most `timeoutMs`; undefined if they could not all be had. */
  async acquire(keys: readonly string[], timeoutMs: number): Promise<(() => void) | undefined> {
    const slots = [...new Set(keys.map(slotOf))].sort((a, b) => a - b);
    const held: (() => void)[] = [];
    const release = (): void => {
      for (const free of held.toReversed()) free();
    };
    try {
      const deadline = Date.now() + timeoutMs;
      for (const slot of slots) {
        const leave = await this.#mutex.acquire(slot);
        held.push(leave);
        if (!(await this.#waitFor(slot, deadline))) {
          release();
          return undefined;
        }
        held.push(() => this.#processes.release(slot));
      }
      return release;
    } catch (error) {
      release();
      throw error;
    }
  }

  close(): void {
    this.#processes.close();
  }

  async #waitFor(slot: number, deadline: number): Promise<boolean> {
    for (let waitMs = FIRST_WAIT_MS; !this.#processes.tryAcquire(slot); ) {
      if (Date.now() >= deadline) return false;
      await setTimeout(waitMs);
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
    return true;
  }
}

/** Keys that share a slot only wait for each other needlessly; with 48 bits that does not happen. */
function slotOf(key: string): number {
  return Number.parseInt(hash('sha256', key, 'hex').slice(0, 12), 16);
}
