type Mode = 'shared' | 'alone';

interface Waiting {
  readonly mode: Mode;
  start(): void;
}

interface Queue {
  shared: number;
  alone: boolean;
  readonly waiting: Waiting[];
}

/**
 * Turns at files, by key: calls that only read share a turn; a call that changes a file has it
 * alone. First come, first served. A call that needs several files joins all their queues in one
 * step, so that two calls cannot deadlock.
 */
export class ProxyTurns {
  readonly #queues = new Map<string, Queue>();

  /** Waits for a turn at all keys; the returned function releases them. Joins the queues synchronously. */
  take(keys: readonly string[], mode: Mode): Promise<() => void> {
    const ordered = [...new Set(keys)].sort();
    const started = ordered.map((key) => this.#enter(key, mode));
    return Promise.all(started).then(() => () => {
      for (const key of ordered) this.#leave(key, mode);
    });
  }

  /** Takes a shared turn at all keys if that is possible without waiting; otherwise undefined. */
  takeNow(keys: readonly string[]): (() => void) | undefined {
    for (const key of keys) {
      const queue = this.#queues.get(key);
      if (queue !== undefined && (queue.alone || queue.waiting.length > 0)) return undefined;
    }
    const taken = keys.length < 2 ? keys : [...new Set(keys)];
    for (const key of taken) void this.#enter(key, 'shared');
    return () => {
      for (const key of taken) this.#leave(key, 'shared');
    };
  }

  #enter(key: string, mode: Mode): Promise<void> | undefined {
    const queue = this.#queues.get(key) ?? { shared: 0, alone: false, waiting: [] };
    this.#queues.set(key, queue);
    if (queue.waiting.length === 0 && this.#fits(queue, mode)) {
      this.#begin(queue, mode);
      return undefined;
    }
    return new Promise((start) => queue.waiting.push({ mode, start }));
  }

  #fits(queue: Queue, mode: Mode): boolean {
    return !queue.alone && (mode === 'shared' || queue.shared === 0);
  }

  #begin(queue: Queue, mode: Mode): void {
    if (mode === 'alone') queue.alone = true;
    else queue.shared++;
  }

  #leave(key: string, mode: Mode): void {
    const queue = this.#queues.get(key);
    if (queue === undefined) return;
    if (mode === 'alone') queue.alone = false;
    else queue.shared--;
    for (
      let next = queue.waiting[0];
      next !== undefined && this.#fits(queue, next.mode);
      next = queue.waiting[0]
    ) {
      queue.waiting.shift();
      this.#begin(queue, next.mode);
      next.start();
    }
    if (queue.waiting.length === 0 && queue.shared === 0 && !queue.alone) this.#queues.delete(key);
  }
}
