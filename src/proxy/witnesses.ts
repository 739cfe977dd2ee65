/** The longest delay of a record: long enough that calls in quick succession are recorded together. */
const LATEST_MS = 10;

/**
 * Background work: recording reads after their answers were sent. It runs a moment later, or
 * immediately if something depends on it. It does not run right after a request was forwarded: the
 * system tends to run the receiver on the sender's core, so our work would delay the server. Tasks
 * do not throw.
 */
export class Witnesses {
  #queued: (() => Promise<void>)[] = [];
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  later(task: () => Promise<void>): void {
    this.#queued.push(task);
    this.#timer ??= setTimeout(() => void this.drain(), LATEST_MS);
  }

  /** Runs everything queued; resolves when it and all earlier work is done. */
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
