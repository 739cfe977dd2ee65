/** Mutual exclusion inside one process, by key, first come first served. */
export class KeyedMutex<Key> {
  readonly #tails = new Map<Key, Promise<void>>();

  /** Waits for its turn; the caller must call the returned function exactly once. */
  async acquire(key: Key): Promise<() => void> {
    const before = this.#tails.get(key);
    let release: () => void = () => {};
    const mine = new Promise<void>((resolve) => {
      release = resolve;
    });
    const tail = before === undefined ? mine : before.then(() => mine);
    this.#tails.set(key, tail);
    await before;
    return () => {
      release();
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    };
  }
}
