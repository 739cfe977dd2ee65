import { knownOf } from '../../judge/known.ts';
import type { Sighting } from '../../model/sighting.ts';
import type { Mark, Seen, View } from '../../model/view.ts';
import { column, fromColumn, markFrom, viewFrom, viewRowText } from '../entry-columns.ts';
import { type Notes, VIEWS_OF_FILE, type Writes } from '../store.ts';
import type { Connection } from './connection.ts';

/** Maximum number of files whose views are cached. At this number, the cache is cleared. */
const MAX_CACHED = 1000;
/** From this number of keys on, `recallMany` first reads which keys the session has seen. */
const MANY_KEYS = 1000;
/** The key of rows that are losses of a session, not views of a file. No file has it. */
const MARK = '';

const INSERT = 'insert into views (session, key, seen) values (?, ?, ?)';
const SELECT = 'select n, seen from views where session = ? and key = ? order by n desc limit ?';

const SELECT_ANY = 'select 1 from views where session = ? limit 1';

interface ViewRow {
  readonly n: number;
  readonly key: string;
  readonly seen: string;
}

/** One session in the cache. Views that are not stored yet are in it, too. */
interface CachedSession {
  readonly marks: readonly Mark[];
  readonly files: Map<string, Seen>;
  /** True if `files` holds every file that the session has seen, so that no other needs a query. */
  isComplete: boolean;
}

/**
 * The table of views, and a cache of those that were looked up. The cache is cleared when another
 * connection has written to the database, which changes the database's version.
 */
export class SeenRows {
  readonly #db: Connection;
  readonly #version: DatabaseVersion;
  /** Nested maps avoid building and hashing a combined name for every lookup. */
  readonly #cached = new Map<string, CachedSession>();
  #size = 0;
  #cachedVersion = -1;
  /** Views that are noted and not stored yet, oldest first. */
  #waiting: Notes['views'][number][] = [];

  constructor(db: Connection, version: DatabaseVersion) {
    this.#db = db;
    this.#version = version;
  }

  recall(session: string, key: string): Seen {
    const version = this.#version.current();
    if (version !== this.#cachedVersion) this.clear();
    this.#cachedVersion = version;
    const known = this.#cached.get(session) ?? this.#open(session);
    const cached = known.files.get(key);
    if (cached !== undefined) return cached;
    const rows = known.isComplete ? [] : this.#rowsOf(session, key, VIEWS_OF_FILE);
    const stored = rows.flatMap(({ n, seen }) => viewFrom(key, seen, n) ?? []);
    const seen = { views: [...this.#waitingOf(session, key), ...stored], marks: known.marks };
    if (this.#size >= MAX_CACHED) this.clear();
    else known.files.set(key, seen);
    this.#size += 1;
    return seen;
  }

  /** Looks up each key by itself, which costs no more than one combined query. Most of very many keys were never seen. */
  recallMany(session: string, keys: readonly string[]): ReadonlyMap<string, Seen> {
    const found = new Map<string, Seen>();
    const seenKeys = keys.length < MANY_KEYS ? undefined : this.#keysOf(session);
    for (const key of keys) {
      if (seenKeys?.has(key) === false) continue;
      const seen = this.recall(session, key);
      if (seen.views.length > 0) found.set(key, seen);
    }
    return found;
  }

  /** Returns what a session knows of all its files. Notes must have been stored before. */
  all(session: string): readonly Sighting[] {
    const marks = this.#marksOf(session);
    const rows = this.#db
      .sql(`select n, key, seen from views where session = ? and key <> '${MARK}' order by key, n desc`)
      .all(column(session)) as unknown as ViewRow[];
    const files = new Map<string, View[]>();
    for (const row of rows) {
      const views = files.get(row.key) ?? [];
      const view = views.length < VIEWS_OF_FILE ? viewFrom(fromColumn(row.key), row.seen, row.n) : undefined;
      if (view !== undefined) files.set(row.key, [...views, view]);
    }
    return [...files.values()].flatMap((views) => knownOf({ views, marks }) ?? []);
  }

  /** Remembers views that `insert` will store later. */
  note(views: Notes['views']): void {
    this.#waiting.push(...views);
    this.added({ views });
  }

  /** Stores views and losses, and removes forgotten ones first. The caller must have begun a transaction. */
  write({ forget = [], dropSession, views = [], marks = [] }: Writes): void {
    const gone = dropSession === undefined ? forget : [...forget, { session: dropSession }];
    for (const { session } of gone) this.#db.sql('delete from views where session = ?').run(column(session));
    for (const { session, view } of views)
      this.#db.sql(INSERT).run(column(session), column(view.sighting.key), viewRowText(view));
    for (const { session, mark } of marks)
      this.#db.sql(INSERT).run(column(session), MARK, JSON.stringify(mark));
  }

  /** Updates the cache after views were noted or stored. */
  added({ forget = [], dropSession, views = [], marks = [] }: Writes): void {
    if (forget.length > 0 || dropSession !== undefined || marks.length > 0) this.clear();
    for (const { session, view } of views) {
      const known = this.#cached.get(session);
      if (known === undefined) continue;
      const seen = known.files.get(view.sighting.key);
      if (seen === undefined) {
        known.isComplete = false;
        continue;
      }
      const { marks: lost } = seen;
      known.files.set(view.sighting.key, {
        views: [view, ...seen.views.slice(0, VIEWS_OF_FILE - 1)],
        marks: lost,
      });
    }
  }

  /** The waiting views, which the caller stores now. */
  take(): Notes['views'] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  /** Views that could not be stored wait again. */
  putBack(views: Notes['views']): void {
    this.#waiting = [...views, ...this.#waiting];
  }

  /** Empties the cache, for example after a failed commit, when it is unknown what was stored. */
  clear(): void {
    this.#cached.clear();
    this.#size = 0;
  }

  #open(session: string): CachedSession {
    const isComplete =
      !this.#waiting.some(({ session: by }) => by === session) &&
      this.#db.sql(SELECT_ANY).get(column(session)) === undefined;
    const marks = isComplete ? [] : this.#marksOf(session);
    const known = { marks, files: new Map<string, Seen>(), isComplete };
    this.#cached.set(session, known);
    return known;
  }

  #marksOf(session: string): readonly Mark[] {
    return this.#rowsOf(session, MARK, -1).map(({ n, seen }) => ({ ...markFrom(seen), n }));
  }

  #rowsOf(session: string, key: string, limit: number): readonly ViewRow[] {
    return this.#db.sql(SELECT).all(column(session), column(key), limit) as ViewRow[];
  }

  #waitingOf(session: string, key: string): readonly View[] {
    const own = this.#waiting.filter(({ session: by, view }) => by === session && view.sighting.key === key);
    return own.map(({ view }) => view).reverse();
  }

  #keysOf(session: string): ReadonlySet<string> {
    const rows = this.#db.sql('select distinct key from views where session = ?').all(column(session));
    const waiting = this.#waiting.map(({ view }) => view.sighting.key);
    return new Set([...(rows as ViewRow[]).map(({ key }) => fromColumn(key)), ...waiting]);
  }
}

/**
 * A number that changes when another connection has written to the database. It is read once for
 * calls that arrive together.
 */
export class DatabaseVersion {
  readonly #read: () => number;
  #isCurrent = false;
  #latest = -1;
  readonly #expire = (): void => {
    this.#isCurrent = false;
  };

  constructor(read: () => number) {
    this.#read = read;
  }

  /** The version, read at most once for work that needs no wait. */
  current(): number {
    return this.#isCurrent ? this.#latest : this.now();
  }

  /** Reads the version now. Other lookups at the same moment reuse it. */
  now(): number {
    this.#latest = this.#read();
    if (!this.#isCurrent) process.nextTick(this.#expire);
    this.#isCurrent = true;
    return this.#latest;
  }

  /**
   * Call this before a write of this process: another connection may write first. The next lookup
   * reads the version again.
   */
  writing(): void {
    this.#isCurrent = false;
  }
}
