import { KeyedMutex, type LockMode } from '../model/keyed-mutex.ts';

/**
 * Turns at files, by key: calls that only read share a turn; a call that changes a file has it
 * alone. First come, first served. A call that needs several files joins all their queues in one
 * step, so that two calls cannot deadlock.
 */
export class ProxyTurns {
  readonly #files = new KeyedMutex<string>();

  /** Waits for a turn at all keys; the returned function releases them. Joins the queues synchronously. */
  async take(keys: readonly string[], mode: LockMode): Promise<() => void> {
    const held = await Promise.all([...new Set(keys)].map((key) => this.#files.acquire(key, mode)));
    return () => {
      for (const release of held) release?.();
    };
  }

  /** Takes a shared turn at all keys if that is possible without waiting; otherwise undefined. */
  takeNow(keys: readonly string[]): (() => void) | undefined {
    const held: (() => void)[] = [];
    const releaseAll = (): void => {
      for (const release of held) release();
    };
    for (const key of keys.length < 2 ? keys : new Set(keys)) {
      const release = this.#files.tryAcquire(key, 'together');
      if (release === undefined) {
        releaseAll();
        return undefined;
      }
      held.push(release);
    }
    return releaseAll;
  }
}
