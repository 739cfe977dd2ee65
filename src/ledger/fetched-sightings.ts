import { type Awaitable, andThen } from '../model/awaitable.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Store } from '../store/store.ts';

/** Bound on cached recalls without a change; beyond it the cache is cleared. */
const MAX_RECALLED = 1000;

/**
 * One session's sightings as a ledger has fetched them. Queries the store every time, because other
 * processes write there too. Only for locked files (`hold`) is the last answer reused.
 */
export class FetchedSightings {
  readonly #store: Store;
  readonly #session: string;
  /** The answers of `recall` since the last change through the ledger. */
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
   * Makes `recall` return these `recallMany` results for files that the caller has locked. Ends
   * when one of them changes or the returned function is called. Call that function before
   * releasing the lock.
   */
  hold(keys: readonly string[], found: ReadonlyMap<string, Sighting | undefined>): () => void {
    for (const key of keys) this.#held.set(key, found.get(key));
    return () => {
      for (const key of keys) this.#held.delete(key);
    };
  }

  /** True if `recalled` is the last answer for the key, and nothing has changed through the ledger since. */
  isLast(key: string, recalled: Sighting | undefined): boolean {
    return this.#recalled.has(key) && this.#recalled.get(key) === recalled;
  }

  /** Drops the cached sighting of a key that is being changed. */
  drop(key: string): void {
    this.#recalled.delete(key);
    this.#held.delete(key);
  }

  /** Clears everything, including held answers, so that the store is queried again. */
  clear(): void {
    this.#recalled.clear();
    this.#held.clear();
  }
}
