/** How long a note waits for an occasion before it is made without one. */
const LATEST_MS = 10;

/**
 * Work that nobody waits for: noting what was read after the answer has gone out. It is done when we are awake anyway and
 * the next request is on its way, or a moment later; or at once when something depends on it. Tasks do not throw.
 */
export class Witnesses {
  #queued: (() => Promise<void>)[] = [];
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #occasion: NodeJS.Immediate | undefined;

  later(task: () => Promise<void>): void {
    this.#queued.push(task);
    if (this.#timer === undefined) this.#timer = setTimeout(() => void this.drain(), LATEST_MS);
  }

  /** A good moment: something has just been sent, and its answer will take a while. */
  occasion(): void {
    if (this.#queued.length > 0) this.#occasion ??= setImmediate(() => void this.drain());
  }

  /** Does everything that is queued now; resolves when it and everything before it is done. */
  drain(): Promise<void> {
    clearTimeout(this.#timer);
    clearImmediate(this.#occasion);
    this.#timer = undefined;
    this.#occasion = undefined;
    const tasks = this.#queued;
    if (tasks.length > 0) {
      this.#queued = [];
      this.#running = this.#running.then(async () => {
        for (const task of tasks) await task();
      });
    }
    return this.#running;
  }
}
