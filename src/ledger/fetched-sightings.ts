import { type Awaitable, andThen } from '../model/awaitable.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Store } from '../store/store.ts';

/** Bounds what callers recall without changing anything; beyond it everything is dropped. */
const MAX_RECALLED = 1000;

/**
 * One session's sightings as a ledger has fetched them. The store is asked every time, because other processes write there
 * too; only for files that are locked (`hold`) is the last answer used again.
 */
export class FetchedSightings {
  readonly #store: Store;
  readonly #session: string;
  /** What was recalled since the last change through the ledger. */
  readonly #recalled = new Map<string, Sighting | undefined>();
  readonly #held = new Map<string, Sighting | undefined>();

  constructor(store: Store, session: string) {
    this.#store = store;
    this.#session = session;
  }

  recall(key: string): Awaitable<Sighting | undefined> {
    const stored = this.#held.has(key) ? this.#held.get(key) : this.#store.recall(this.#session, key);
    return andThen(stored, (known) => {
      if (this.#recalled.size >= MAX_RECALLED) this.#recalled.clear();
      this.#recalled.set(key, known);
      return known;
    });
  }

  async recallMany(keys: readonly string[]): Promise<ReadonlyMap<string, Sighting>> {
    const found = new Map<string, Sighting>();
    const unknown: string[] = [];
    for (const key of keys) {
      const held = this.#held.get(key);
      if (held !== undefined) found.set(key, held);
      else if (!this.#held.has(key)) unknown.push(key);
    }
    const stored = unknown.length === 0 ? [] : await this.#store.recallMany(this.#session, unknown);
    for (const [key, sighting] of stored) found.set(key, sighting);
    return found;
  }

  /**
   * Lets `recall` answer with what `recallMany` has just found for files that the caller has locked, until one of them
   * changes or the returned function is called. Call it before the lock is given back.
   */
  hold(keys: readonly string[], found: ReadonlyMap<string, Sighting | undefined>): () => void {
    for (const key of keys) this.#held.set(key, found.get(key));
    return () => {
      for (const key of keys) this.#held.delete(key);
    };
  }

  /** True if `recalled` is the last answer for the key, and nothing changed through the ledger since. */
  isLast(key: string, recalled: Sighting | undefined): boolean {
    return this.#recalled.has(key) && this.#recalled.get(key) === recalled;
  }

  /** A sighting of this key is being changed. */
  drop(key: string): void {
    this.#recalled.delete(key);
    this.#held.delete(key);
  }

  /** Asks the store again for everything, held or not. */
  clear(): void {
    this.#recalled.clear();
    this.#held.clear();
  }
}
