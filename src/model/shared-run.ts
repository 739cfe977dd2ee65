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
