import type { Sighting } from '../../model/sighting.ts';
import type { Writes } from '../store.ts';

/**
 * Maximum number of cached sightings (what a session has read of a file). At this number, the cache
 * is cleared.
 */
const MAX_RECALLED = 1000;

/**
 * A cache of sightings (what a session has read of a file) that this connection read or wrote. It
 * is cleared when another connection has written to the database, which changes the database's
 * version number.
 */
export class Recalled {
  readonly #versionNow: () => number;
  /**
   * The cached sightings by session, then by key. Nested maps avoid building and hashing a combined
   * name for every lookup.
   */
  readonly #known = new Map<string, Map<string, Sighting>>();
  #size = 0;
  #version = -1;
  #asked = false;
  #latest = -1;

  constructor(versionNow: () => number) {
    this.#versionNow = versionNow;
  }

  get(session: string, key: string): Sighting | undefined {
    this.#forgetIfOthersWrote();
    return this.#known.get(session)?.get(key);
  }

  set(session: string, sighting: Sighting): void {
    if (this.#size >= MAX_RECALLED) this.clear();
    const seen = this.#known.get(session) ?? new Map<string, Sighting>();
    this.#known.set(session, seen.set(sighting.key, sighting));
    this.#size += 1;
  }

  /**
   * Call this before a write of this connection. Clears the cache if the write deletes sightings.
   * If it writes or deletes any, the next lookup reads the version again. The caller adds new
   * sightings after the write.
   */
  writing({ sightings = [], forget = [], dropSession }: Writes): void {
    const drops = forget.length > 0 || dropSession !== undefined;
    if (drops) this.clear();
    if (drops || sightings.length > 0) this.#asked = false;
  }

  /** Empties the cache, for example after a failed commit, when it is unknown what was stored. */
  clear(): void {
    this.#known.clear();
    this.#size = 0;
  }

  /** The version number of the database, read once for calls that arrive together. */
  version(): number {
    return this.#asked ? this.#latest : this.versionNow();
  }

  /** Reads the version number now. Other lookups at the same moment reuse it. */
  versionNow(): number {
    this.#latest = this.#versionNow();
    this.#asked = true;
    setImmediate(() => {
      this.#asked = false;
    });
    return this.#latest;
  }

  #forgetIfOthersWrote(): void {
    if (this.#asked && this.#version === this.#latest) return;
    const version = this.version();
    if (version === this.#version) return;
    this.#version = version;
    this.clear();
  }
}

/**
 * Remembers whether any change is pending (announced and unfinished), so that most calls need no
 * query. None is pending if the last query found only changes of this connection, these are
 * finished, and no other connection has written since.
 */
export class PendingRows {
  readonly #own = new Set<string>();
  /**
   * The database version at which the last query found only pending changes of this connection.
   * Undefined if it found others, or if the stored state is unknown.
   */
  #onlyOwn: number | undefined;

  isEmpty(version: number): boolean {
    return this.#own.size === 0 && this.#onlyOwn === version;
  }

  /** Remembers the result of a query for all pending changes. */
  read(version: number, changes: readonly string[]): void {
    this.#onlyOwn = changes.every((change) => this.#own.has(change)) ? version : undefined;
    const found = new Set(changes);
    for (const change of this.#own) if (!found.has(change)) this.#own.delete(change);
  }

  /** Remembers the changes that a committed record begins or finishes. */
  recorded({ announce, settle }: Pick<Writes, 'announce' | 'settle'>): void {
    for (const change of settle ?? []) this.#own.delete(change);
    if (announce !== undefined) this.#own.add(announce.change);
  }

  /** Forgets the last query, because it is unknown what was stored, for example after a failed commit. */
  forget(): void {
    this.#onlyOwn = undefined;
  }
}
