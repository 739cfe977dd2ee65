import type { Entry, PendingChange } from '../../model/entry.ts';
import type { Durability } from '../../model/policy.ts';
import type { SessionRecord } from '../../model/session-record.ts';
import type { Sighting } from '../../model/sighting.ts';
import {
  column,
  entryFrom,
  fromColumn,
  matchesPending,
  pendingFrom,
  sessionFrom,
  sightingFrom,
  sightingText,
} from '../entry-columns.ts';
import { LateNotes } from '../late-notes.ts';
import {
  type ChainLink,
  type EntryFilter,
  lastChangesOf,
  type Notes,
  type PendingFilter,
  type RecentChanges,
  type SessionFilter,
  type Store,
  type StoreState,
  type Writes,
} from '../store.ts';
import { type Connection, type OpenOptions, openConnection, openMemory } from './connection.ts';
import { damagedPending, damageWarning } from './damage.ts';
import { storeFault } from './driver.ts';
import {
  type Appended,
  ChainRows,
  confirmPage,
  entriesQuery,
  linkIn,
  SELECT_CHANGES,
  SELECT_CHANGES_OF,
  SELECT_CHECKPOINT,
  SELECT_ENTRY,
  SELECT_HEAD,
  SELECT_SEQ,
} from './entry-rows.ts';
import { pruneOldest } from './prune.ts';
import { PendingRows, Recalled } from './recalled.ts';

/** From this number of keys on, `recallMany` first reads which keys the session has seen. */
const MANY_KEYS = 1000;

/**
 * SQL that stores a sighting (what a session has read of a file) and overwrites an earlier one in place. `insert or
 * replace` would delete first and cost twice as much.
 */
const UPSERT_SIGHTING =
  'insert into sightings values (?, ?, ?) on conflict do update set seen = excluded.seen';

/**
 * Opens the database file, creating it if missing. All processes that open the same file see the same data immediately.
 */
export async function openSqliteStore(
  file: string,
  options: OpenOptions = { damaged: 'fail' },
): Promise<Store> {
  const store = new SqliteStore(await openConnection(file, options), options.durability);
  try {
    await store.begin();
  } catch (error) {
    await store.close();
    throw error;
  }
  return new LateNotes(store, { peers: peersOn(file) });
}

/** Opens a store in memory. Its content is lost when it is closed, and no other store can reach it. */
export async function openMemoryStore(): Promise<Store> {
  return new LateNotes(new SqliteStore(await openMemory()));
}

/**
 * The stores that this process has open, by database file. Module state: callers open a store by
 * its URL and do not know which other stores have the same file open.
 */
const openHere = new Map<string, Set<LateNotes>>();

/**
 * All stores that this process has open on a database file. They are peers: each also returns reads
 * that another one holds in memory and has not yet written to the file.
 */
function peersOn(file: string): Set<LateNotes> {
  const peers = openHere.get(file) ?? new Set();
  openHere.set(file, peers);
  return peers;
}

/**
 * One database for all workspaces of a machine. Calls are synchronous inside and take microseconds.
 * They wait up to five seconds if another process is writing. A power cut may lose the newest
 * records, but never leaves part of one.
 */
class SqliteStore implements Store {
  readonly url: string;
  readonly warnings: readonly string[];
  readonly #db: Connection;
  readonly #durability: Durability;
  readonly #recalled: Recalled;
  readonly #pending = new PendingRows();
  readonly #chain: ChainRows;
  /**
   * The change that was announced last. The database files were checked at that moment, so the
   * record that settles this change does not check them again.
   */
  #announced: string | undefined;
  /** The result of the last query for a single entry. Weak, because the entry of a large command takes megabytes. */
  #lastRead: WeakRef<Entry> | undefined;

  constructor(db: Connection, durability: Durability = 'none') {
    this.#db = db;
    this.#durability = durability;
    this.url = db.url;
    this.warnings = db.aside === undefined ? [] : [damageWarning(db.aside)];
    this.#recalled = new Recalled(() => db.dataVersion());
    this.#chain = new ChainRows(db);
  }

  /** Adds the warnings from opening the database to the journal. */
  async begin(): Promise<void> {
    const atMs = Date.now();
    // Record the warnings under `/`, which contains every workspace, so that every log shows them.
    for (const text of this.warnings)
      await this.record({ entries: [{ kind: 'notice', atMs, session: 'lookfirst', root: '/', text }] });
  }

  recall(session: string, key: string): Sighting | undefined {
    return this.#db.attempt(() => {
      const known = this.#recalled.get(session, key);
      if (known !== undefined) return known;
      const row = this.#db
        .sql('select seen from sightings where session = ? and key = ?')
        .get(column(session), column(key));
      if (row === undefined) return undefined;
      // The cast is safe, here and below: the select determines the shape.
      const sighting = sightingFrom(key, (row as { seen: string }).seen);
      if (sighting !== undefined) this.#recalled.set(session, sighting);
      return sighting;
    });
  }

  /**
   * Returns the sightings of those keys that the session has seen. Looks up each key by itself,
   * which costs no more than one combined query. For very many keys, first reads the list of seen
   * keys, because most keys were never seen.
   */
  recallMany(session: string, keys: readonly string[]): ReadonlyMap<string, Sighting> {
    const found = new Map<string, Sighting>();
    const seen = keys.length < MANY_KEYS ? undefined : this.#seenKeys(session);
    for (const key of keys) {
      if (seen?.has(key) === false) continue;
      const sighting = this.recall(session, key);
      if (sighting !== undefined) found.set(key, sighting);
    }
    return found;
  }

  #seenKeys(session: string): ReadonlySet<string> {
    return this.#db.attempt(() => {
      const rows = this.#db.sql('select key from sightings where session = ?').all(column(session));
      return new Set((rows as { key: string }[]).map(({ key }) => fromColumn(key)));
    });
  }

  async sightings(session: string): Promise<readonly Sighting[]> {
    return this.#db.attempt(() => {
      const rows = this.#db.sql('select key, seen from sightings where session = ?').all(column(session));
      return (rows as { key: string; seen: string }[]).flatMap(
        (row) => sightingFrom(fromColumn(row.key), row.seen) ?? [],
      );
    });
  }

  async record(writes: Writes): Promise<void> {
    this.#recalled.writing(writes);
    const { announce, settle } = writes;
    const appended = this.#write(writes);
    if (settle !== undefined) this.#db.noteInPlace('always');
    // For an announced change, remember the size of the write-ahead log only if no size is
    // remembered yet: the record that settles the change remembers the size again.
    else if (announce !== undefined) this.#db.noteInPlace('first');
    if (appended === 'not pending') return;
    this.#pending.recorded(writes);
    this.#announced = announce?.change;
    for (const { session, sighting } of writes.sightings ?? []) this.#recalled.set(session, sighting);
    if (appended !== undefined) {
      this.#chain.committed(appended);
      this.#db.noteHead(appended.head);
    }
    // Only an announced change needs a sync. After a power cut, the announcement and the earlier
    // contents of the files show whether the change was made.
    if (announce !== undefined && this.#durability === 'full') await this.#syncLog();
  }

  /** Stores all writes or none. */
  #write(writes: Writes): Appended | 'not pending' | undefined {
    const { announce, settle } = writes;
    const isNew = announce !== undefined || settle?.some((change) => change !== this.#announced) === true;
    const work = (): Appended | 'not pending' | undefined => {
      if (isNew) this.#db.mustBeInPlace();
      if (writes.ifPending !== undefined && !this.#isPending(writes.ifPending)) return 'not pending';
      this.#drop(writes);
      this.#note(writes);
      return writes.entries === undefined ? undefined : this.#chain.append(writes.entries);
    };
    try {
      return isOneStatement(writes) ? this.#db.attempt(work) : this.#db.transaction(work);
    } catch (error) {
      this.#pending.forget();
      this.#recalled.clear();
      throw error;
    }
  }

  note(notes: Notes): Promise<void> {
    return this.record(notes);
  }

  async entries(filter: EntryFilter): Promise<readonly Entry[]> {
    return this.#db.attempt(() => {
      if (filter.limit === 1) return this.#oneEntry(filter);
      const { sql, values } = entriesQuery(filter);
      return this.#db
        .sql(sql)
        .all(...values)
        .map(entryFrom);
    });
  }

  /**
   * Returns the entry that a filter with `limit: 1` selects. Queries its number first, and parses
   * the entry only if it is not the one returned last. Callers often get the same entry again, for
   * example for each file of a command.
   */
  #oneEntry(filter: EntryFilter): readonly Entry[] {
    const { sql, values } = entriesQuery(filter, SELECT_SEQ);
    const found = this.#db.sql(sql).get(...values);
    if (found === undefined) return [];
    const { seq } = found as Pick<Entry, 'seq'>;
    return [this.#entryAt(seq)];
  }

  /** An entry that exists. Reads it only if it is not the one that was read last. */
  #entryAt(seq: number): Entry {
    const known = this.#lastRead?.deref();
    if (known?.seq === seq) return known;
    const read = entryFrom(this.#db.sql(`${SELECT_ENTRY} where seq = ?`).get(seq));
    this.#lastRead = new WeakRef(read);
    return read;
  }

  changesSince({ sinceMs, key, notBy = '' }: RecentChanges): readonly Entry[] {
    return this.#db.attempt(() => {
      const by = column(notBy);
      const rows =
        key === undefined
          ? this.#db.sql(SELECT_CHANGES).all(sinceMs, by)
          : this.#db.sql(SELECT_CHANGES_OF).all(column(key), sinceMs, by);
      return (rows as Pick<Entry, 'seq'>[]).map(({ seq }) => this.#entryAt(seq));
    });
  }

  async lastChange(key: string): Promise<Entry | undefined> {
    return (await this.entries({ key, kinds: ['change'], limit: 1 }))[0];
  }

  lastChanges(keys: readonly string[]): Promise<ReadonlyMap<string, Entry>> {
    return lastChangesOf(this, keys);
  }

  /**
   * Returns the pending changes that match the filter. Filters here, not in SQL: few changes are
   * pending at a time, and an index would cost two more rows per change.
   */
  async pending(filter: PendingFilter = {}): Promise<readonly PendingChange[]> {
    return this.#db.attempt(() => {
      // Read the version before the rows. If another process announces a change in between, the
      // next call sees a new version.
      const version = this.#recalled.versionNow();
      if (this.#pending.isEmpty(version)) return [];
      const rows = this.#db.sql('select * from pending').all() as { change: string; announced: string }[];
      const all = rows.map(({ change, announced }) =>
        pendingFrom(announced, () => damagedPending(this.#db.file, fromColumn(change))),
      );
      this.#pending.read(
        version,
        all.map(({ change }) => change),
      );
      return all.filter((pending) => matchesPending(pending, filter));
    });
  }

  async session(id: string): Promise<SessionRecord | undefined> {
    return this.#db.attempt(() => {
      const row = this.#db.sql('select record from sessions where id = ?').get(column(id));
      return row === undefined ? undefined : sessionFrom((row as { record: string }).record);
    });
  }

  async sessions({ roots }: SessionFilter = {}): Promise<readonly SessionRecord[]> {
    return this.#db.attempt(() => {
      const rows = this.#db.sql('select record from sessions').all() as { record: string }[];
      return rows
        .flatMap((row) => sessionFrom(row.record) ?? [])
        .filter(({ root }) => roots === undefined || roots.includes(root))
        .sort((a, b) => b.lastMs - a.lastMs);
    });
  }

  async state(): Promise<StoreState> {
    return this.#db.attempt(() => {
      // Read the witness (a copy of the newest entry's hash in a separate file) first. If another
      // process records an entry in between, the witness is older than the head, never newer.
      const witness = this.#db.witness();
      return {
        head: linkIn(this.#db, SELECT_HEAD),
        checkpoint: linkIn(this.#db, SELECT_CHECKPOINT),
        witness,
        bytes: this.#db.bytes(),
      };
    });
  }

  async confirm(previous: ChainLink, throughSeq: number): Promise<ChainLink | undefined> {
    return this.#db.attempt(() => confirmPage(this.#db, previous, throughSeq));
  }

  async prune(throughSeq: number): Promise<number> {
    return pruneOldest(this.#db, throughSeq);
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  async #syncLog(): Promise<void> {
    try {
      await this.#db.sync();
    } catch (error) {
      throw storeFault(error, this.#db.file);
    }
  }

  #drop({ dropSession, forget }: Writes): void {
    if (dropSession !== undefined) {
      this.#db.sql('delete from sessions where id = ?').run(column(dropSession));
      this.#db.sql('delete from sightings where session = ?').run(column(dropSession));
    }
    for (const { session, key } of forget ?? []) {
      if (key === undefined) this.#db.sql('delete from sightings where session = ?').run(column(session));
      else
        this.#db.sql('delete from sightings where session = ? and key = ?').run(column(session), column(key));
    }
  }

  #note({ sightings, settle, announce, session }: Writes): void {
    for (const { session: by, sighting } of sightings ?? [])
      this.#db.sql(UPSERT_SIGHTING).run(column(by), column(sighting.key), sightingText(sighting));
    for (const change of settle ?? [])
      this.#db.sql('delete from pending where change = ?').run(column(change));
    if (announce !== undefined)
      this.#db
        .sql('insert or replace into pending values (?, ?)')
        .run(column(announce.change), JSON.stringify(announce));
    if (session !== undefined)
      this.#db
        .sql('insert or replace into sessions values (?, ?)')
        .run(column(session.id), JSON.stringify(session));
  }

  #isPending(change: string): boolean {
    return this.#db.sql('select 1 from pending where change = ?').get(column(change)) !== undefined;
  }
}

/**
 * True for a record that only announces a change. It writes one row, which needs no explicit
 * transaction.
 */
function isOneStatement(writes: Writes): boolean {
  for (const part in writes) if (part !== 'announce') return false;
  return writes.announce !== undefined;
}
