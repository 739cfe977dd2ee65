/** The longest delay of a timer, 24 days. Node runs a timer with a longer delay at once. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;

/**
 * Does one piece of work for many callers. Each run serves all callers that arrived before the run
 * began; callers that arrive during a run share the next run. For example, one sync of a disk
 * serves many changes.
 */
export class SharedRun {
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** True while no run is under way. */
  get isIdle(): boolean {
    return this.#running === undefined;
  }

  /**
   * Resolves when a run that began after this call has ended, and rejects if that run failed. If
   * several callers share a run, it does the `work` of the first one only.
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

/** Counts pieces of work, so that a caller can wait until none is left. */
export class Work {
  #open = 0;
  #onEnd: (() => void)[] = [];

  begin(): void {
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
    if (this.#open === 0) for (const act of this.#onEnd.splice(0)) act();
  }

  /** Waits until no piece of work is open. Undefined if none is open now. */
  over(): Promise<void> | undefined {
    return this.#open === 0 ? undefined : new Promise((resolve) => this.#onEnd.push(resolve));
  }
}

/** `alone`: an exclusive lock. `together`: a shared lock. */
export type LockMode = 'alone' | 'together';

/** A lock per key inside one process, first come, first served. */
export class KeyedMutex<Key> {
  readonly #doors = new Map<Key, Door>();

  /**
   * Waits for the lock. Resolves to a function that releases the lock and must be called exactly
   * once. Resolves to undefined if the lock is not granted within `timeoutMs`; without `timeoutMs`,
   * waits as long as necessary. Each call of `noteDone` for this key starts the time again.
   */
  async acquire(key: Key, sharing: LockMode, timeoutMs?: number): Promise<(() => void) | undefined> {
    if (!this.tryEnter(key, sharing) && !(await this.#doors.get(key)?.wait(sharing, timeoutMs)))
      return undefined;
    return () => this.leave(key);
  }

  /** Takes the lock if it is free. The caller releases it with `leave`, exactly once. */
  tryEnter(key: Key, sharing: LockMode): boolean {
    let door = this.#doors.get(key);
    if (door === undefined) {
      door = new Door();
      this.#doors.set(key, door);
    }
    return door.tryEnter(sharing);
  }

  leave(key: Key): void {
    if (this.#doors.get(key)?.leave() === true) this.#doors.delete(key);
  }

  /**
   * Notes that a holder of the key has finished its work. The time limit of every request that
   * waits for the key then starts again: a long queue that moves is not a timeout.
   */
  noteDone(key: Key): void {
    this.#doors.get(key)?.noteDone();
  }

  /**
   * The time of the last `noteDone` while a request was waiting, from `performance.now`. -Infinity
   * if there was none since the lock was last free.
   */
  doneAt(key: Key): number {
    return this.#doors.get(key)?.doneAt ?? Number.NEGATIVE_INFINITY;
  }
}

interface LockRequest {
  readonly sharing: LockMode;
  readonly enter: () => void;
}

/** The lock of one key. Grants waiting requests in order; consecutive shared requests are granted together. */
class Door {
  /**
   * Time of the last `noteDone` while a request was waiting. From `performance.now`, because the
   * machine's clock can be set back.
   */
  doneAt: number = Number.NEGATIVE_INFINITY;
  #waiting: readonly LockRequest[] = [];
  #inside = 0;
  #sharing: LockMode = 'together';

  tryEnter(sharing: LockMode): boolean {
    if (this.#waiting.length > 0 || !this.#admits(sharing)) return false;
    this.#letIn(sharing);
    return true;
  }

  /** Resolves to true when the lock is granted, to false on timeout. */
  wait(sharing: LockMode, timeoutMs?: number): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting = { sharing, enter };
      let timer: ReturnType<typeof setTimeout> | undefined;
      const giveUp = (): void => {
        const leftMs = this.doneAt + (timeoutMs ?? 0) - performance.now();
        if (leftMs > 0) {
          timer = setTimeout(giveUp, Math.min(leftMs, MAX_TIMER_MS));
          return;
        }
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        // Grant later requests that waited only because this one was before them.
        this.#admitNext();
        resolve(false);
      };
      if (timeoutMs !== undefined) timer = setTimeout(giveUp, Math.min(timeoutMs, MAX_TIMER_MS));
      function enter(): void {
        clearTimeout(timer);
        resolve(true);
      }
      this.#waiting = [...this.#waiting, waiting];
    });
  }

  noteDone(): void {
    if (this.#waiting.length > 0) this.doneAt = performance.now();
  }

  /** Releases the lock for one holder. True if the lock has no holder then. */
  leave(): boolean {
    this.#inside -= 1;
    if (this.#waiting.length > 0) this.#admitNext();
    return this.#inside === 0;
  }

  #admitNext(): void {
    for (
      let [next] = this.#waiting;
      next !== undefined && this.#admits(next.sharing);
      [next] = this.#waiting
    ) {
      this.#waiting = this.#waiting.slice(1);
      this.#letIn(next.sharing);
      next.enter();
    }
  }

  #admits(sharing: LockMode): boolean {
    return this.#inside === 0 || (sharing === 'together' && this.#sharing === 'together');
  }

  #letIn(sharing: LockMode): void {
    this.#inside += 1;
    this.#sharing = sharing;
  }
}
