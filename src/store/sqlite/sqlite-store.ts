import { statSync } from 'node:fs';
import type { Entry, PendingChange } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import type { SessionRecord } from '../../model/session-record.ts';
import type { Sighting } from '../../model/sighting.ts';
import { linkAfter } from '../chain.ts';
import { column, fromColumn } from '../column-text.ts';
import { LateNotes } from '../late-notes.ts';
import { sightingFrom, sightingText } from '../sighting-text.ts';
import type { ChainLink, EntryFilter, Notes, Store, StoreState, Writes } from '../store.ts';
import { openDatabase } from './database.ts';
import type { SqliteDatabase, SqliteStatement } from './driver.ts';
import {
  entriesQuery,
  entryFrom,
  entryValues,
  INSERT_ENTRY,
  SELECT_ENTRY,
  touchedKeys,
} from './entry-rows.ts';
import { storeFault } from './fault.ts';
import { Recalled } from './recalled.ts';

/** Entries pruned in one transaction: few enough that nobody waits long for the lock. */
const PRUNE_STEP = 2000;

/** Overwrites in place; `insert or replace` would delete first and costs twice as much. */
const UPSERT_SIGHTING =
  'insert into sightings values (?, ?, ?) on conflict do update set seen = excluded.seen';
const SELECT_HEAD = 'select head_seq as seq, head_hash as hash from chain';
const SELECT_CHECKPOINT = 'select checkpoint_seq as seq, checkpoint_hash as hash from chain';

/** Opens the database file, made if missing; every process that opens the same file sees the same, at once. */
export async function openSqliteStore(file: string): Promise<Store> {
  return new LateNotes(new SqliteStore(await openDatabase(file), file), { peers: peersOn(file) });
}

const openHere = new Map<string, Set<LateNotes>>();

/** What this process has open on a database file, and may have again: two sessions of one name see each other's reads. */
function peersOn(file: string): Set<LateNotes> {
  const peers = openHere.get(file) ?? new Set();
  openHere.set(file, peers);
  return peers;
}

/**
 * One database for all workspaces of a machine. Calls are synchronous inside: one takes microseconds, and waits
 * (up to five seconds) only while another process writes. A record survives the death of the process as soon as it
 * is acknowledged; a power cut may take back the newest ones, never tear one.
 */
class SqliteStore implements Store {
  readonly url: string;
  readonly #db: SqliteDatabase;
  readonly #file: string;
  readonly #identity: string;
  readonly #statements = new Map<string, SqliteStatement>();
  readonly #recalled: Recalled;
  #closed = false;

  constructor(db: SqliteDatabase, file: string) {
    this.#db = db;
    this.#file = file;
    this.#identity = identityOf(file);
    this.url = `sqlite:${file}`;
    this.#recalled = new Recalled(() => this.#dataVersion());
  }

  recall(session: string, key: string): Sighting | undefined {
    return this.#attempt(() => {
      const known = this.#recalled.get(session, key);
      if (known !== undefined) return known;
      const row = this.#sql('select seen from sightings where session = ? and key = ?').get(
        column(session),
        column(key),
      );
      if (row === undefined) return undefined;
      // The shape is the select's, here and below.
      const sighting = sightingFrom(key, (row as { seen: string }).seen);
      this.#recalled.set(session, sighting);
      return sighting;
    });
  }

  async sightings(session: string): Promise<readonly Sighting[]> {
    return this.#attempt(() => {
      const rows = this.#sql('select key, seen from sightings where session = ?').all(column(session));
      return (rows as { key: string; seen: string }[]).map((row) =>
        sightingFrom(fromColumn(row.key), row.seen),
      );
    });
  }

  async record(writes: Writes): Promise<void> {
    if (changesSightings(writes)) this.#recalled.forget();
    this.#transaction(() => {
      if (writes.announce !== undefined) this.#mustBeInPlace();
      if (writes.ifPending !== undefined && !this.#isPending(writes.ifPending)) return;
      this.#drop(writes);
      this.#note(writes);
      this.#append(writes);
    });
  }

  note(notes: Notes): Promise<void> {
    return this.record(notes);
  }

  async entries(filter: EntryFilter): Promise<readonly Entry[]> {
    return this.#attempt(() => {
      const { sql, values } = entriesQuery(filter);
      return this.#sql(sql)
        .all(...values)
        .map(entryFrom);
    });
  }

  async lastChange(key: string): Promise<Entry | undefined> {
    return (await this.entries({ key, kinds: ['change'], limit: 1 }))[0];
  }

  async pending(): Promise<readonly PendingChange[]> {
    return this.#attempt(() => {
      const rows = this.#sql('select announced from pending').all() as { announced: string }[];
      return rows.map((row) => JSON.parse(row.announced) as PendingChange);
    });
  }

  async sessions(): Promise<readonly SessionRecord[]> {
    return this.#attempt(() => {
      const rows = this.#sql('select record from sessions').all() as { record: string }[];
      const records = rows.map((row) => JSON.parse(row.record) as SessionRecord);
      return records.sort((a, b) => b.lastMs - a.lastMs);
    });
  }

  async state(): Promise<StoreState> {
    return this.#attempt(() => {
      return {
        head: this.#link(SELECT_HEAD),
        checkpoint: this.#link(SELECT_CHECKPOINT),
        bytes: sizeOf(this.#file) + sizeOf(`${this.#file}-wal`),
      };
    });
  }

  async prune(throughSeq: number): Promise<number> {
    let pruned = 0;
    for (;;) {
      const count = this.#transaction(() => this.#pruneStep(throughSeq));
      pruned += count;
      if (count < PRUNE_STEP) return pruned;
      // Lets this process answer, and other processes write, between two steps.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#statements.clear();
    this.#db.close();
  }

  #drop({ dropSession, forget }: Writes): void {
    if (dropSession !== undefined) {
      this.#sql('delete from sessions where id = ?').run(column(dropSession));
      this.#sql('delete from sightings where session = ?').run(column(dropSession));
    }
    for (const { session, key } of forget ?? []) {
      if (key === undefined) this.#sql('delete from sightings where session = ?').run(column(session));
      else this.#sql('delete from sightings where session = ? and key = ?').run(column(session), column(key));
    }
  }

  #note({ sightings, settle, announce, session }: Writes): void {
    for (const { session: by, sighting } of sightings ?? [])
      this.#sql(UPSERT_SIGHTING).run(column(by), column(sighting.key), sightingText(sighting));
    for (const change of settle ?? []) this.#sql('delete from pending where change = ?').run(column(change));
    if (announce !== undefined)
      this.#sql('insert or replace into pending values (?, ?)').run(
        column(announce.change),
        JSON.stringify(announce),
      );
    if (session !== undefined)
      this.#sql('insert or replace into sessions values (?, ?)').run(
        column(session.id),
        JSON.stringify(session),
      );
  }

  #append({ entries }: Writes): void {
    if (entries === undefined || entries.length === 0) return;
    const insert = this.#sql(INSERT_ENTRY);
    let head = this.#link(SELECT_HEAD);
    for (const entry of entries) {
      head = linkAfter(head, entry);
      insert.run(...entryValues(entry, head));
      for (const key of touchedKeys(entry)) this.#sql('insert into touches values (?, ?)').run(key, head.seq);
    }
    this.#sql('update chain set head_seq = ?, head_hash = ?').run(head.seq, head.hash);
  }

  /** Another number after another connection has written. */
  #dataVersion(): number {
    return (this.#sql('pragma data_version').get() as { data_version: number }).data_version;
  }

  #link(select: string): ChainLink {
    const { seq, hash } = this.#sql(select).get() as ChainLink;
    return { seq, hash };
  }

  #isPending(change: string): boolean {
    return this.#sql('select 1 from pending where change = ?').get(column(change)) !== undefined;
  }

  #pruneStep(throughSeq: number): number {
    const rows = this.#sql(`${SELECT_ENTRY} where seq <= ? order by seq limit ?`).all(throughSeq, PRUNE_STEP);
    const gone = rows.map(entryFrom);
    const last = gone.at(-1);
    if (last === undefined) return 0;
    for (const entry of gone) {
      for (const key of touchedKeys(entry))
        this.#sql('delete from touches where key = ? and seq = ?').run(key, entry.seq);
    }
    this.#sql('delete from entries where seq <= ?').run(last.seq);
    this.#sql('update chain set checkpoint_seq = ?, checkpoint_hash = ?').run(last.seq, last.hash);
    this.#db.exec('pragma incremental_vacuum');
    return gone.length;
  }

  /** A deleted database would go on taking records that nobody could ever read again. */
  #mustBeInPlace(): void {
    if (identityOf(this.#file) === this.#identity) return;
    throw new Fault(
      'STORE_FAILED',
      `the state database ${this.#file} was removed or replaced while in use: start again`,
      { path: this.#file },
    );
  }

  /** Takes the write lock first: what is read inside stays true until the commit. */
  #transaction<T>(work: () => T): T {
    return this.#attempt(() => {
      this.#sql('begin immediate').run();
      try {
        const result = work();
        this.#sql('commit').run();
        return result;
      } catch (error) {
        this.#rollback();
        throw error;
      }
    });
  }

  /** SQLite has rolled back already after some errors, and then refuses to do it again. */
  #rollback(): void {
    try {
      this.#sql('rollback').run();
    } catch {
      // The error that led here is the one to tell.
    }
  }

  #attempt<T>(work: () => T): T {
    if (this.#closed) throw new Fault('MISUSE', 'the store was closed');
    try {
      return work();
    } catch (error) {
      throw storeFault(error, this.#file);
    }
  }

  #sql(text: string): SqliteStatement {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const prepared = this.#db.prepare(text);
    this.#statements.set(text, prepared);
    return prepared;
  }
}

function changesSightings({ sightings = [], forget = [], dropSession }: Writes): boolean {
  return sightings.length > 0 || forget.length > 0 || dropSession !== undefined;
}

function identityOf(file: string): string {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? 'missing' : `${stats.dev}:${stats.ino}`;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
