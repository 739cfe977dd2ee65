import type { Sighting } from '../../model/sighting.ts';
import type { Writes } from '../store.ts';

/** Other processes' writes are seen at most this much later, and only by reads: changes always query the server. */
const TRUSTED_MS = 1000;
/** Sessions that were not used for this long are dropped and no longer checked. */
const UNUSED_MS = 30_000;

interface CachedSession {
  readonly sightings: Map<string, Sighting>;
  checkedMs: number;
  usedMs: number;
}

/**
 * All sightings of the sessions that this process works for, so that a read needs no round trip. Each session row names
 * its last writer. While that is this store, the cache is complete.
 */
export class SeenCache {
  readonly #sessions = new Map<string, CachedSession>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /**
   * The cached sighting, or undefined if the session is not cached. `stale` also accepts unchecked data, for when the
   * server does not answer.
   */
  recall(
    session: string,
    key: string,
    trust: 'checked' | 'stale',
  ): { readonly sighting: Sighting | undefined } | undefined {
    const known = this.#sessions.get(session);
    if (known === undefined) return undefined;
    known.usedMs = this.#now();
    if (trust === 'checked' && known.usedMs - known.checkedMs > 2 * TRUSTED_MS) return undefined;
    return { sighting: known.sightings.get(key) };
  }

  fill(session: string, sightings: readonly Sighting[]): void {
    const now = this.#now();
    const byKey = new Map(sightings.map((sighting) => [sighting.key, sighting]));
    this.#sessions.set(session, { sightings: byKey, checkedMs: now, usedMs: now });
  }

  /** Applies this store's own writes. */
  apply({ sightings = [], forget = [], dropSession }: Writes): void {
    if (dropSession !== undefined) this.#sessions.delete(dropSession);
    for (const { session, key } of forget) {
      const known = this.#sessions.get(session)?.sightings;
      if (key === undefined) known?.clear();
      else known?.delete(key);
    }
    for (const { session, sighting } of sightings)
      this.#sessions.get(session)?.sightings.set(sighting.key, sighting);
  }

  /** Marks writes as uncertain after a failure. Their sessions are loaded again as soon as the server answers. */
  doubt({ sightings = [], forget = [] }: Writes): void {
    for (const { session } of [...sightings, ...forget]) {
      const known = this.#sessions.get(session);
      if (known !== undefined) known.checkedMs = 0;
    }
  }

  /** Drops unused sessions and returns those whose last writer must be checked. */
  due(): readonly string[] {
    const now = this.#now();
    for (const [session, { usedMs }] of this.#sessions)
      if (now - usedMs > UNUSED_MS) this.#sessions.delete(session);
    return [...this.#sessions.keys()];
  }

  /** Marks these sessions as checked and drops all others: another process has written for them. */
  keepOnly(own: ReadonlySet<string>): void {
    const now = this.#now();
    for (const [session, known] of this.#sessions) {
      if (own.has(session)) known.checkedMs = now;
      else this.#sessions.delete(session);
    }
  }

  clear(): void {
    this.#sessions.clear();
  }
}

export { TRUSTED_MS };
