/** `alone`: nobody else. `together`: beside others who want no more than that. */
export type Sharing = 'alone' | 'together';

/** Exclusion inside one process, by key, first come first served. */
export class KeyedMutex<Key> {
  readonly #doors = new Map<Key, Door>();

  /** Waits for its turn, at most `timeoutMs`; undefined if it did not come. The returned function must be called exactly once. */
  async acquire(key: Key, sharing: Sharing, timeoutMs: number): Promise<(() => void) | undefined> {
    const door = this.#doorTo(key);
    if (!door.tryEnter(sharing) && !(await door.wait(sharing, timeoutMs))) return undefined;
    return () => this.#leave(key, door);
  }

  /** The same without waiting: undefined if someone is there. */
  tryAcquire(key: Key, sharing: Sharing): (() => void) | undefined {
    const door = this.#doorTo(key);
    return door.tryEnter(sharing) ? () => this.#leave(key, door) : undefined;
  }

  #doorTo(key: Key): Door {
    const door = this.#doors.get(key) ?? new Door();
    this.#doors.set(key, door);
    return door;
  }

  #leave(key: Key, door: Door): void {
    if (door.leave()) this.#doors.delete(key);
  }
}

interface Waiting {
  readonly sharing: Sharing;
  readonly enter: () => void;
}

/** Whoever is inside shares alike; those who wait are let in one after the other, or side by side if they share. */
class Door {
  #waiting: readonly Waiting[] = [];
  #inside = 0;
  #sharing: Sharing = 'together';

  tryEnter(sharing: Sharing): boolean {
    if (this.#waiting.length > 0 || !this.#admits(sharing)) return false;
    this.#letIn(sharing);
    return true;
  }

  /** True once it is inside. */
  wait(sharing: Sharing, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting = { sharing, enter };
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        // Others may have waited only for this one.
        this.#admitNext();
        resolve(false);
      }, timeoutMs);
      function enter(): void {
        clearTimeout(timer);
        resolve(true);
      }
      this.#waiting = [...this.#waiting, waiting];
    });
  }

  /** True when nobody is left. */
  leave(): boolean {
    this.#inside -= 1;
    this.#admitNext();
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

  #admits(sharing: Sharing): boolean {
    return this.#inside === 0 || (sharing === 'together' && this.#sharing === 'together');
  }

  #letIn(sharing: Sharing): void {
    this.#inside += 1;
    this.#sharing = sharing;
  }
}
