/**
 * A value or a promise of it. For calls so frequent that an extra turn of the event loop would cost more than the call
 * itself.
 */
export type Awaitable<T> = T | Promise<T>;

/** Passes the value to `next`: immediately if it is available, otherwise when the promise resolves. */
export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/**
 * Runs work that serves every caller that arrived before it began. Callers that arrive during a run share the next one: this
 * is how one sync of a disk serves many changes.
 */
export class SharedRun {
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** True while no run is under way. */
  get isIdle(): boolean {
    return this.#running === undefined;
  }

  /**
   * Resolves when a run that began after this call has ended, and rejects if that run failed. Only the first of the
   * waiting callers has its `work` done.
   */
  run(work: () => Promise<void>): Promise<void> {
    if (this.#running === undefined) return this.#start(work);
    this.#next ??= this.#running.then(
      () => this.#start(work),
      () => this.#start(work),
    );
    return this.#next;
  }

  #start(work: () => Promise<void>): Promise<void> {
    this.#next = undefined;
    const running = work().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
