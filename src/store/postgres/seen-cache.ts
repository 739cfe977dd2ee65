import type { Sighting } from '../../model/sighting.ts';
import type { Writes } from '../store.ts';

/** What another process has written is seen at most this much later, and by reads only: changes always ask the server. */
const TRUSTED_MS = 1000;
/** Sessions that were not asked about for this long are dropped, and no longer checked. */
const UNUSED_MS = 30_000;

interface CachedSession {
  readonly sightings: Map<string, Sighting>;
  checkedMs: number;
  usedMs: number;
}

/**
 * All sightings of the sessions that this process works for, so that a read waits for no round trip. Each session row names
 * the last writer; as long as that is this store, what is here is all there is.
 */
export class SeenCache {
  readonly #sessions = new Map<string, CachedSession>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Undefined: unknown here. With `stale`, also what was not checked in time: the server does not answer. */
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

  /** Takes in what this store writes. */
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

  /** What was written may or may not be there: it is asked for again as soon as the server answers. */
  doubt({ sightings = [], forget = [] }: Writes): void {
    for (const { session } of [...sightings, ...forget]) {
      const known = this.#sessions.get(session);
      if (known !== undefined) known.checkedMs = 0;
    }
  }

  /** Sessions whose writer must be asked for, after those that nobody uses were dropped. */
  due(): readonly string[] {
    const now = this.#now();
    for (const [session, { usedMs }] of this.#sessions)
      if (now - usedMs > UNUSED_MS) this.#sessions.delete(session);
    return [...this.#sessions.keys()];
  }

  /** Another process has written for sessions that are not among these. */
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
