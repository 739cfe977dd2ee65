import type { ChangeEntry, Entry, EntryKind, EntryOf, NewEntry, PendingChange } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import type { Durability } from '../../model/policy.ts';
import type { SessionRecord } from '../../model/session-record.ts';
import type { Sighting } from '../../model/sighting.ts';
import type { Seen } from '../../model/view.ts';
import type { FileBlobs } from '../blobs/file-blobs.ts';
import {
  checkedLinks,
  column,
  entryFrom,
  fromColumn,
  matchesPending,
  pendingFrom,
  sessionFrom,
} from '../entry-columns.ts';
import {
  type AtLocked,
  type BrokenLink,
  type ChainLink,
  type EntryFilter,
  LINKS_AT_ONCE,
  type Notes,
  type PendingFilter,
  type RecentChanges,
  type Store,
  type StoreState,
  type Writes,
} from '../store.ts';
import { type Connection, type OpenOptions, openConnection, openMemory } from './connection.ts';
import { damagedPending, lossWarning } from './damage.ts';
import { storeFault } from './driver.ts';
import {
  ChainRows,
  checkpointIn,
  entriesQuery,
  headIn,
  newestByOthers,
  pruneOldest,
  SELECT_CHANGES,
  SELECT_CHANGES_OF,
  SELECT_ENTRY,
  SELECT_SEQ,
} from './entry-rows.ts';
import { LocalImages } from './local-images.ts';
import { DatabaseVersion, SeenRows } from './seen-rows.ts';

/** Notes of reads are collected for this time before they are written in one transaction. */
const WITHIN_MS = 10;
/** Maximum number of sessions in the cache of other sessions' changes. A full cache is cleared. */
const MAX_SESSIONS = 256;
/** When this many notes of reads wait, they are written. More at once would delay all other work. */
const MAX_WAITING = 128;

/**
 * Opens the database file, creating it if missing. All processes that open the same file see the same data immediately.
 */
export async function openSqliteStore(
  file: string,
  options: OpenOptions = { damaged: 'fail' },
): Promise<Store> {
  try {
    return await openOnce(file, options);
  } catch (error) {
    // The newest entry cannot be read. The second opening finds that, and sets the database aside.
    if (options.damaged === 'set-aside' && isDamaged(error)) return openOnce(file, options);
    throw error;
  }
}

async function openOnce(file: string, options: OpenOptions): Promise<Store> {
  const store = new SqliteStore(await openConnection(file, options), {
    ...options,
    peers: peersOn(file),
  });
  try {
    await store.begin(options);
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

function isDamaged(error: unknown): boolean {
  return error instanceof Fault && error.reason === 'damaged';
}

/**
 * Opens a store in memory. Its content is lost when it is closed, and no other store can reach it.
 * `missing`: a database file that does not exist, and for which this store stands.
 */
export async function openMemoryStore(missing?: string, files?: FileBlobs): Promise<Store> {
  return new SqliteStore(await openMemory(missing), { files, peers: new Set() });
}

/** The newest change by sessions other than a given one, among the entries up to the number `seq`. */
interface OthersChanges {
  /** The version of the database for which this holds. */
  version: number;
  readonly seq: number;
  /** The time of the change. -Infinity if there is none. */
  readonly atMs: number;
}

/**
 * One database for all workspaces of a machine. Calls are synchronous inside and take microseconds.
 * They wait up to five seconds if another process is writing. A power cut may lose the newest
 * records, but never leaves part of one.
 */
class SqliteStore implements Store {
  readonly url: string;
  readonly warnings: string[];
  readonly #db: Connection;
  readonly #durability: Durability;
  readonly images: LocalImages;
  readonly #peers: Set<Peer>;
  readonly #version: DatabaseVersion;
  readonly #seen: SeenRows;
  /** Entries that are noted and not stored yet. Their views are in `#seen`. */
  #waiting: NewEntry[] = [];
  /** Number of calls of `note` that are not stored yet. */
  #notes = 0;
  #timer: NodeJS.Timeout | undefined;
  /** True if the last try to write notes failed. Further notes then first try again. */
  #failed = false;
  #closed = false;
  readonly #chain: ChainRows;
  /** The changes that this connection has announced and not settled. */
  readonly #begun = new Set<string>();
  /** The database's version when no change was pending. Own changes leave the version as it is. */
  #nonePendingAt: number | undefined;
  /**
   * The change that was announced last. The database files were checked at that moment, so the
   * record that settles this change does not check them again.
   */
  #announced: string | undefined;
  /** For each session, what is known of the changes of other sessions. Every read of a file asks for them. */
  readonly #others = new Map<string, OthersChanges>();
  /** The result of the last query for a single entry. Weak, because the entry of a large command takes megabytes. */
  #lastRead: WeakRef<Entry> | undefined;

  constructor(
    db: Connection,
    { durability = 'none', files, peers }: Pick<OpenOptions, 'durability' | 'files'> & { peers: Set<Peer> },
  ) {
    this.#db = db;
    this.#durability = durability;
    this.#peers = peers;
    peers.add(this);
    this.url = db.url;
    this.warnings = db.warning === undefined ? [] : [db.warning];
    this.#version = new DatabaseVersion(() => db.dataVersion());
    this.#seen = new SeenRows(db, this.#version);
    this.#chain = new ChainRows(db);
    this.images = new LocalImages(db, files);
  }

  /**
   * Adds the warnings from opening the database to the journal. A process that only reads does not
   * look for lost entries: their record would hide the loss from a check of the journal.
   */
  async begin({ damaged }: OpenOptions): Promise<void> {
    if (damaged === 'set-aside') {
      const { head, witness } = await this.state();
      if (witness !== undefined && witness.seq > head.seq)
        this.warnings.push(lossWarning(this.#db.file, { kept: head.seq, written: witness.seq }));
    }
    const atMs = Date.now();
    // Record the warnings under `/`, which contains every workspace, so that every log shows them.
    for (const text of this.warnings)
      await this.record({ entries: [{ kind: 'notice', atMs, session: 'lookfirst', root: '/', text }] });
  }

  recall(session: string, key: string): Seen {
    this.#flushPeers();
    return this.#db.attempt(() => this.#seen.recall(session, key));
  }

  async recallMany(session: string, keys: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    return this.#recalled(session, keys);
  }

  #recalled(session: string, keys: readonly string[]): ReadonlyMap<string, Seen> {
    this.#flushPeers();
    return this.#db.attempt(() => this.#seen.recallMany(session, keys));
  }

  async atLocked(keys: readonly string[], session?: string): Promise<AtLocked> {
    const left = this.#pendingAt({ keys, here: true });
    return { left, seen: session === undefined ? NOTHING_SEEN : this.#recalled(session, keys) };
  }

  async sightings(session: string): Promise<readonly Sighting[]> {
    this.#flushAll();
    return this.#db.attempt(() => this.#seen.all(session));
  }

  async record(writes: Writes): Promise<void> {
    this.#flushPeers();
    const { announce, settle } = writes;
    this.#writeAll(writes);
    if (settle !== undefined) this.#db.noteInPlace('always');
    // The record that settles the change remembers the size of the write-ahead log again.
    else if (announce !== undefined) this.#db.noteInPlace('first');
    // Only an announced change needs a sync. After a power cut, the announcement and the earlier
    // contents of the files show whether the change was made.
    if (announce !== undefined && this.#durability === 'full') await this.#syncLog();
  }

  note(notes: Notes): Promise<void> | undefined {
    if (this.#closed) return Promise.reject(new Fault('MISUSE', 'the store was closed'));
    if (this.#failed) this.flush();
    this.#waiting.push(...notes.entries);
    this.#seen.note(notes.views);
    this.#notes += 1;
    if (this.#notes >= MAX_WAITING && !this.#failed) this.#flushLater();
    else this.#timer ??= setTimeout(() => this.#flushLater(), WITHIN_MS);
    return undefined;
  }

  /** Writes the notes that wait. */
  flush(): void {
    if (this.#notes > 0) this.#writeAll({});
  }

  expectWrite(): void {
    this.#version.writing();
  }

  #flushLater(): void {
    try {
      this.flush();
    } catch (error) {
      // Ignore a failure here: the next note or query tries again and reports it.
      if (!(error instanceof Fault)) throw error;
    }
  }

  #flushPeers(): void {
    if (this.#peers.size > 1) for (const peer of this.#peers) if (peer !== this) peer.flush();
  }

  #flushAll(): void {
    for (const peer of this.#peers) peer.flush();
  }

  /** Stores the waiting notes and all `writes`, or nothing. */
  #writeAll(writes: Writes): void {
    const notes = { views: this.#seen.take(), entries: this.#waiting };
    const count = this.#notes;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting = [];
    this.#notes = 0;
    for (const peer of this.#peers) peer.expectWrite();
    try {
      this.#write(notes, writes);
      this.#failed = false;
    } catch (error) {
      this.#failed = count > 0;
      this.#waiting = [...notes.entries, ...this.#waiting];
      this.#notes += count;
      this.#seen.putBack(notes.views);
      this.#seen.clear();
      this.#nonePendingAt = undefined;
      throw error;
    }
  }

  #write(notes: Notes, writes: Writes): void {
    const { announce, settle } = writes;
    const isNew = announce !== undefined || settle?.some((change) => change !== this.#announced) === true;
    let isSkipped = false;
    const head = this.#db.transaction(() => {
      if (isNew) this.#db.mustBeInPlace();
      this.#seen.write(notes);
      isSkipped = writes.ifPending !== undefined && !this.#isPending(writes.ifPending);
      if (!isSkipped) this.#note(writes);
      this.images.write(isSkipped ? undefined : writes.images);
      const own = isSkipped ? [] : writes.entries;
      return this.#chain.append(own === undefined ? notes.entries : [...notes.entries, ...own]);
    });
    if (head !== undefined) {
      this.#chain.committed(head);
      this.#db.noteHead(head);
    }
    if (isSkipped) return;
    this.#changed(writes.entries);
    this.#announced = announce?.change;
    for (const change of settle ?? []) this.#begun.delete(change);
    if (announce !== undefined) this.#begun.add(announce.change);
    this.#seen.added(writes);
  }

  async entries<K extends EntryKind = EntryKind>(filter: EntryFilter<K>): Promise<readonly EntryOf<K>[]> {
    this.#flushAll();
    return this.#db.attempt(() => {
      if (filter.limit === 1) return this.#oneEntry(filter);
      const { sql, values } = entriesQuery(filter);
      return this.#db
        .sql(sql)
        .all(...values)
        .map(entryFrom<K>);
    });
  }

  /**
   * Returns the entry that a filter with `limit: 1` selects. Queries its number first, and parses
   * the entry only if it is not the one returned last. Callers often get the same entry again, for
   * example for each file of a command.
   */
  #oneEntry<K extends EntryKind>(filter: EntryFilter<K>): readonly EntryOf<K>[] {
    const { sql, values } = entriesQuery(filter, SELECT_SEQ);
    const found = this.#db.sql(sql).get(...values);
    if (found === undefined) return [];
    const { seq } = found as Pick<Entry, 'seq'>;
    return [this.#entryAt(seq)];
  }

  /** An entry that exists. Reads it only if it is not the one that was read last. */
  #entryAt<K extends EntryKind>(seq: number): EntryOf<K> {
    const known = this.#lastRead?.deref();
    // The cast is safe: it has the number that a query for these kinds gave.
    if (known?.seq === seq) return known as EntryOf<K>;
    const read = entryFrom<K>(this.#db.sql(`${SELECT_ENTRY} where seq = ?`).get(seq));
    this.#lastRead = new WeakRef(read);
    return read;
  }

  changesSince({ sinceMs, keys, notBy = '' }: RecentChanges): readonly ChangeEntry[] {
    return this.#db.attempt(() => {
      if (this.#isAlone(notBy, sinceMs)) return [];
      const by = column(notBy);
      const rows =
        keys === undefined
          ? this.#db.sql(SELECT_CHANGES).all(by, sinceMs)
          : keys().flatMap((key) => this.#db.sql(SELECT_CHANGES_OF).all(column(key), by, sinceMs));
      return (rows as Pick<Entry, 'seq'>[]).map(({ seq }) => this.#entryAt<'change'>(seq));
    });
  }

  /** Lets the other sessions of this process find the changes among these entries. */
  #changed(entries: readonly NewEntry[] = []): void {
    for (const { kind, session: by } of entries)
      if (kind === 'change')
        for (const [session, known] of this.#others) if (session !== by) known.version = -1;
  }

  /** True if no other session has changed anything since a time. Queries only what is new. */
  #isAlone(session: string, sinceMs: number): boolean {
    const version = this.#version.current();
    let known = this.#others.get(session);
    if (known?.version !== version) {
      const { seq, atMs } = newestByOthers(this.#db, session, known?.seq);
      known = { version, seq, atMs: Math.max(atMs, known?.atMs ?? atMs) };
      if (this.#others.size >= MAX_SESSIONS) this.#others.clear();
      this.#others.set(session, known);
    }
    return known.atMs < sinceMs;
  }

  async lastChanges(keys: readonly string[]): Promise<ReadonlyMap<string, ChangeEntry>> {
    const found = new Map<string, ChangeEntry>();
    for (const key of keys) {
      const [last] = await this.entries({ key, kinds: ['change'], limit: 1 });
      if (last !== undefined) found.set(key, last);
    }
    return found;
  }

  async pending(filter: PendingFilter = {}): Promise<readonly PendingChange[]> {
    return this.#pendingAt(filter);
  }

  /**
   * Returns the pending changes that match the filter. Filters here, not in SQL: few changes are
   * pending at a time, and an index would cost two more rows per change.
   */
  #pendingAt(filter: PendingFilter): readonly PendingChange[] {
    return this.#db.attempt(() => {
      // Read the version before the rows. If another process announces a change in between, the
      // next call sees a new version.
      const version = this.#version.now();
      if (this.#begun.size === 0 && this.#nonePendingAt === version) return [];
      const rows = this.#db.sql('select * from pending').all() as { change: string; announced: string }[];
      this.#nonePendingAt = rows.length === 0 ? version : undefined;
      const all = rows.map(({ change, announced }) =>
        pendingFrom(announced, () => damagedPending(this.#db.file, fromColumn(change))),
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

  async sessions({ roots }: Parameters<Store['sessions']>[0] = {}): Promise<readonly SessionRecord[]> {
    return this.#db.attempt(() => {
      const rows = this.#db.sql('select record from sessions').all() as { record: string }[];
      return rows
        .flatMap((row) => sessionFrom(row.record) ?? [])
        .filter(({ root }) => roots === undefined || roots.includes(root))
        .sort((a, b) => b.lastMs - a.lastMs);
    });
  }

  async state(): Promise<StoreState> {
    this.#flushAll();
    return this.#db.attempt(() => {
      // Read the witness (a copy of the newest entry's hash in a separate file) first. If another
      // process records an entry in between, the witness is older than the head, never newer.
      const witness = this.#db.witness();
      return {
        head: headIn(this.#db),
        checkpoint: checkpointIn(this.#db),
        witness,
        bytes: this.#db.bytes(),
      };
    });
  }

  async checkLinks(
    previous: ChainLink,
    { throughSeq, known }: Parameters<Store['checkLinks']>[1],
  ): Promise<ChainLink | BrokenLink> {
    this.#flushAll();
    return this.#db.attempt(() => {
      const select = `${SELECT_ENTRY} where seq > ? and seq <= ? order by seq limit ${LINKS_AT_ONCE}`;
      return checkedLinks(this.#db.sql(select).all(previous.seq, throughSeq), previous, known);
    });
  }

  async prune(throughSeq: number): Promise<number> {
    this.#flushAll();
    return pruneOldest(this.#db, throughSeq);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#peers.delete(this);
    try {
      this.flush();
      this.images.flush();
    } finally {
      clearTimeout(this.#timer);
      this.#db.close();
    }
  }

  async #syncLog(): Promise<void> {
    try {
      await this.#db.sync();
    } catch (error) {
      throw storeFault(error, this.#db.file);
    }
  }

  #note(writes: Writes): void {
    const { dropSession, settle, announce, session } = writes;
    if (dropSession !== undefined) this.#db.sql('delete from sessions where id = ?').run(column(dropSession));
    this.#seen.write(writes);
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

const NOTHING_SEEN: ReadonlyMap<string, Seen> = new Map();

/** A store that holds notes in memory for a moment. */
interface Peer {
  flush(): void;
  /** Call this before a write of one of the peers. */
  expectWrite(): void;
}

/**
 * The stores that this process has open, by database file. Module state: callers open a store by
 * its URL and do not know which other stores have the same file open.
 */
const openHere = new Map<string, Set<Peer>>();

/**
 * All stores that this process has open on a database file. They are peers: before one answers, the
 * others write the notes that they still hold in memory.
 */
function peersOn(file: string): Set<Peer> {
  const peers = openHere.get(file) ?? new Set();
  openHere.set(file, peers);
  return peers;
}
