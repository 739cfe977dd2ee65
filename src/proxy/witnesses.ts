/** How long a note waits at most: long enough that calls in quick succession are noted together. */
const LATEST_MS = 10;

/**
 * Work that nobody waits for: noting what was read after the answer has gone out. It is done a moment later, or at once
 * when something depends on it. Not right after the next request was sent on: the system tends to run its receiver on
 * the core of the sender, so that our work would keep the server from beginning its own. Tasks do not throw.
 */
export class Witnesses {
  #queued: (() => Promise<void>)[] = [];
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  later(task: () => Promise<void>): void {
    this.#queued.push(task);
    this.#timer ??= setTimeout(() => void this.drain(), LATEST_MS);
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
