import type { Entry, NewEntry } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import type { Sighting } from '../../model/sighting.ts';
import { entryFrom } from '../entry-columns.ts';
import { RECENT_ENTRIES, type RecentChanges, type Writes } from '../store.ts';
import type { PgValue, Row } from './driver.ts';

/**
 * Interval at which the store checks whether another process has written for a cached session.
 * Reads rely on the last check if it is at most two intervals old. For changes, the server always
 * confirms what the session has seen.
 */
const TRUSTED_MS = 1000;
/** Sessions that were not used for this long are dropped and no longer checked. */
const UNUSED_MS = 30_000;
const NEVER = Number.NEGATIVE_INFINITY;

interface CachedSession {
  readonly sightings: Map<string, Sighting>;
  /**
   * The session's version in the store when the cached data was loaded or written. Undefined if
   * unknown.
   */
  version: number | undefined;
  checkedMs: number;
  usedMs: number;
}

/**
 * The files that a session has seen, as loaded from the store. `version` is undefined if another
 * process was the last to write for the session.
 */
interface FetchedSession {
  readonly sightings: readonly Sighting[];
  readonly version: number | undefined;
}

/**
 * Caches what the sessions of this process have read, so that a read needs no round trip. The store
 * has the last writer and a version for each session. While both are unchanged, the cache is
 * complete.
 */
export class SeenCache {
  readonly #sessions = new Map<string, CachedSession>();
  /**
   * For each session that is being loaded: the writes of this store since the loading began. The
   * loaded rows may lack them, so they are applied afterwards.
   */
  readonly #loading = new Map<string, Writes[]>();

  /**
   * The cached sighting (what a session has read of a file). Undefined if the session is not
   * cached, or with `checked`, if the last check of the session is too old. `stale` accepts data of
   * any age, for when the server does not answer.
   */
  recall(
    session: string,
    key: string,
    trust: 'checked' | 'stale',
  ): { readonly sighting: Sighting | undefined } | undefined {
    const known = this.#sessions.get(session);
    if (known === undefined) return undefined;
    known.usedMs = performance.now();
    if (trust === 'checked' && known.usedMs - known.checkedMs > 2 * TRUSTED_MS) return undefined;
    return { sighting: known.sightings.get(key) };
  }

  /**
   * Fetches a session and caches it. Then applies the writes that this store made during `fetch`.
   */
  async load(session: string, fetch: () => Promise<FetchedSession>): Promise<void> {
    const since: Writes[] = [];
    this.#loading.set(session, since);
    try {
      const { sightings, version } = await fetch();
      const isCertain = this.#loading.delete(session);
      const now = performance.now();
      this.#sessions.set(session, {
        sightings: new Map(sightings.map((sighting) => [sighting.key, sighting])),
        version: isCertain ? version : undefined,
        checkedMs: isCertain ? now : NEVER,
        usedMs: now,
      });
      for (const writes of since) this.apply(writes);
    } finally {
      this.#loading.delete(session);
    }
  }

  /** Adds this store's own writes to the cached sessions. */
  apply(writes: Writes): void {
    const { sightings = [], forget = [], dropSession } = writes;
    for (const since of this.#loading.values()) since.push(writes);
    if (dropSession !== undefined) this.#sessions.delete(dropSession);
    for (const { session, key } of forget) {
      const known = this.#sessions.get(session)?.sightings;
      if (key === undefined) known?.clear();
      else known?.delete(key);
    }
    for (const { session, sighting } of sightings)
      this.#sessions.get(session)?.sightings.set(sighting.key, sighting);
  }

  /**
   * Marks the cached sessions of these writes as uncertain. They are loaded again as soon as the
   * server answers.
   */
  doubt({ sightings = [], forget = [] }: Writes): void {
    for (const { session } of [...sightings, ...forget]) {
      this.#loading.delete(session);
      const known = this.#sessions.get(session);
      if (known === undefined) continue;
      known.checkedMs = NEVER;
      known.version = undefined;
    }
  }

  /** Drops unused sessions and returns those whose last writer must be checked. */
  due(): readonly string[] {
    const now = performance.now();
    for (const [session, { usedMs }] of this.#sessions)
      if (now - usedMs > UNUSED_MS) this.#sessions.delete(session);
    return [...this.#sessions.keys()];
  }

  /**
   * Marks the sessions that still have these versions as checked. Drops the other sessions, because
   * another process may have written for them.
   */
  keepOnly(versions: ReadonlyMap<string, number>): void {
    const now = performance.now();
    for (const [session, known] of this.#sessions) {
      if (known.version !== undefined && versions.get(session) === known.version) known.checkedMs = now;
      else this.#sessions.delete(session);
    }
  }

  clear(): void {
    this.#sessions.clear();
  }
}

export { TRUSTED_MS };

/**
 * True if these writes say that a session has lost content it had read. The cache then no longer
 * proves what the session knows. `evicted` does not count: it only means that a record was removed
 * to make room.
 */
export function losesSightings({ forget = [], sightings = [] }: Writes): boolean {
  return (
    forget.length > 0 || sightings.some(({ sighting: { lost } }) => lost !== undefined && lost !== 'evicted')
  );
}

/** Other processes' entries are fetched at most this often, and only while callers need them. */
const POLL_MS = 1000;
/** The first fetch returns changes up to this age. */
const LOOK_BACK_MS = 15 * 60_000;

interface Source {
  readonly schema: string;
  /** The id of the hash chain to which this store appends its journal entries. */
  readonly chain: string;
  query(text: string, values: readonly PgValue[]): Promise<readonly Row[]>;
  /** Converts the paths in an entry to those of this machine. */
  local(entry: Entry): Entry;
}

/**
 * Implements `Store.changesSince`. Returns this store's own changes at once, and those of other
 * processes up to a second late. Each fetch continues at a transaction id, because entries are not
 * committed in the order of their numbers.
 */
export class RecentFollower {
  readonly #source: Source;
  /** In the order in which this process learned of them. */
  #changes: NewEntry[] = [];
  #seenTx: string | undefined;
  #polledMs = NEVER;
  #polling = false;

  constructor(source: Source) {
    this.#source = source;
  }

  /** Adds entries that this store has recorded. */
  recorded(entries: readonly NewEntry[]): void {
    for (const entry of entries) if (entry.kind === 'change') this.#changes.push(entry);
    if (this.#changes.length > 2 * RECENT_ENTRIES) this.#changes = this.#changes.slice(-RECENT_ENTRIES);
  }

  since({ sinceMs, key, notBy }: RecentChanges): readonly NewEntry[] {
    if (!this.#polling && performance.now() - this.#polledMs >= POLL_MS) void this.#poll();
    const isWanted = ({ atMs, session, effects = [] }: NewEntry): boolean =>
      atMs >= sinceMs && session !== notBy && (key === undefined || effects.some((each) => each.key === key));
    return this.#changes.filter(isWanted).sort((a, b) => b.atMs - a.atMs);
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    this.#polledMs = performance.now();
    try {
      await this.#fetch();
    } catch (error) {
      // Ignore the failure: other sessions' claims on files are only advice, and the next poll
      // fetches the missing changes.
      if (!(error instanceof Fault)) throw error;
    } finally {
      this.#polling = false;
    }
  }

  async #fetch(): Promise<void> {
    const { schema, chain, query, local } = this.#source;
    const [row] = await query('select pg_snapshot_xmin(pg_current_snapshot())::text as mark', []);
    const mark = String(row?.['mark']);
    if (mark === this.#seenTx) return;
    const now = Date.now();
    const [clause, since] =
      this.#seenTx === undefined
        ? ['at_ms >= $3', now - LOOK_BACK_MS]
        : ['tx >= $3::text::xid8', this.#seenTx];
    const rows = await query(
      `select seq, at_ms, kind, session, root, path, change, rest, hash from ${schema}.entries
       where chain <> $1 and tx < $2::text::xid8 and kind = 'change' and ${clause} order by seq`,
      [chain, mark, since],
    );
    this.#seenTx = mark;
    // Limit times to now. Otherwise claims on files from a machine whose clock is ahead would last
    // longer.
    const entries = rows.map(entryFrom).map((entry) => ({ ...entry, atMs: Math.min(entry.atMs, now) }));
    this.recorded(entries.map(local));
  }
}
