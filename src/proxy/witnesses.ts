/** How long a note may wait, so that the client's next request goes out before we do our own work. */
const DELAY_MS = 1;

/**
 * Work that nobody waits for: noting what was read after the answer has gone out. It is done a moment later, or at once
 * when something depends on it. Tasks do not throw.
 */
export class Witnesses {
  #queued: (() => Promise<void>)[] = [];
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  later(task: () => Promise<void>): void {
    this.#queued.push(task);
    this.#timer ??= setTimeout(() => void this.drain(), DELAY_MS);
  }

  /** Does everything that is queued now; resolves when it and everything before it is done. */
  drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
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
