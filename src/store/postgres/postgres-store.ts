import type { Awaitable } from '../../model/awaitable.ts';
import type { Entry, NewEntry, PendingChange } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
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
} from '../entry-columns.ts';
import type {
  AnnouncedImages,
  EntryFilter,
  Notes,
  PendingFilter,
  RecentChanges,
  SessionFilter,
  Store,
  StoreState,
  Writes,
} from '../store.ts';
import { closedFault, type PostgresConnection } from './connection.ts';
import type { Row } from './driver.ts';
import { postgresEntriesQuery } from './entries-query.ts';
import { journalState, pruneEntries, pruneReads } from './journal-upkeep.ts';
import { indexKey, isHashedKey, type Names } from './names.ts';
import { RecordWriter, type StoreContext } from './record-writer.ts';
import { dayOf, makePartitions } from './schema.ts';
import { losesSightings, RecentFollower, SeenCache, TRUSTED_MS } from './seen-cache.ts';

/**
 * Above this number, a record sends its file contents as one list instead of one parameter each.
 * PostgreSQL accepts at most 65,535 parameters per statement.
 */
const MAX_PARAMETERS = 1000;

/**
 * One store for many machines. A record is one call of a server function: one round trip, one transaction. Each store
 * appends to its own hash chain and sends its records in order on one connection.
 */
export class PostgresStore implements Store {
  readonly url: string;
  readonly warnings: readonly string[];
  readonly chain: string;
  readonly #db: PostgresConnection;
  readonly #context: StoreContext;
  readonly #seen = new SeenCache();
  readonly #loading = new Map<string, Promise<void>>();
  readonly #writer: RecordWriter;
  readonly #recent: RecentFollower;
  #partitionsThrough: number;
  #poll: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(db: PostgresConnection, context: StoreContext) {
    this.#db = db;
    this.#context = context;
    this.url = db.url;
    this.warnings = context.warnings ?? [];
    this.#writer = new RecordWriter(context);
    this.chain = this.#writer.chain;
    this.#partitionsThrough = dayOf(Date.now()) + 1;
    this.#recent = new RecentFollower({
      schema: db.schema,
      chain: this.chain,
      query: (text, values) => db.query(text, values),
      local: (entry) => this.#localEntry(entry),
    });
  }

  recall(session: string, key: string): Awaitable<Sighting | undefined> {
    if (this.#closed) throw closedFault();
    // If the server does not answer, use the cached sighting (what the session has read), even a
    // stale one: a read destroys nothing.
    const known = this.#seen.recall(session, key, this.#db.isAway ? 'stale' : 'checked');
    return known === undefined ? this.#load(session, key) : known.sighting;
  }

  /**
   * Never answers from the cache: changes are judged by this result, and the server does not check
   * it again.
   */
  async recallMany(session: string, keys: readonly string[]): Promise<ReadonlyMap<string, Sighting>> {
    if (keys.length === 0) return new Map();
    const text = `select key, seen, machine from ${this.#s}.sightings where session = $1 and key`;
    const [key = '', ...others] = this.#indexKeys(keys);
    // Compare a single key with `=`. For a list of keys, the server makes a new query plan every
    // time, which takes longer than finding one row.
    const rows =
      others.length === 0
        ? await this.#db.repeat('lf_recall_one', `${text} = $2`, [column(session), key])
        : await this.#db.repeat('lf_recall', `${text} = any($2::text[])`, [
            column(session),
            [key, ...others],
          ]);
    const found = rows.flatMap((row) => this.#sighting(row) ?? []);
    return new Map(found.map((sighting) => [sighting.key, sighting]));
  }

  async sightings(session: string): Promise<readonly Sighting[]> {
    const rows = await this.#db.query(
      `select key, seen, machine from ${this.#s}.sightings where session = $1 order by key`,
      [column(session)],
    );
    return rows.flatMap((row) => this.#sighting(row) ?? []);
  }

  async record(writes: Writes): Promise<void> {
    if (this.#closed) throw closedFault();
    const prepared = this.#writer.prepare(writes);
    this.#seen.apply(writes);
    try {
      const number = await this.#send(prepared.text, writes.images?.shared ?? []);
      this.#writer.done(prepared, number);
      // Forgetting a sighting gives the session a new version in the store, so the cached version
      // is not certain any more.
      if (losesSightings(writes)) this.#seen.doubt(writes);
      // The server returns -1 if it ignored a record with `ifPending`, because another process was
      // faster.
      if (number >= 0) this.#recent.recorded(writes.entries ?? []);
    } catch (error) {
      this.#seen.doubt(writes);
      this.#writer.failed(prepared, error);
      throw error;
    }
    this.#makeRoomForTomorrow();
  }

  /**
   * Calls the server function `lf_record`. Returns the number of the record's last entry in the
   * hash chain: 0 if there is none, -1 if the server ignored the record.
   */
  async #send(record: string, images: AnnouncedImages['shared']): Promise<number> {
    const s = this.#s;
    if (images.length === 0) {
      const [row] = await this.#db.record(`select ${s}.lf_record($1) as n`, [record], 'lf_record');
      return Number(row?.['n']);
    }
    const hashes = images.map(({ fingerprint }) => fingerprint.sha256);
    const bodies = images.map(({ bytes }) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    // Use a list only for many contents: the driver sends parameters as bytes, but members of a
    // list as longer text.
    const isMany = bodies.length > MAX_PARAMETERS;
    const list = isMany ? '$3' : `array[${bodies.map((_, index) => `$${index + 3}`).join()}]`;
    const text = `select ${s}.lf_record($1, $2, ${list}::bytea[]) as n`;
    const values = isMany ? [record, hashes, bodies] : [record, hashes, ...bodies];
    const name = bodies.length === 1 ? 'lf_record_image' : undefined;
    const [row] = await this.#db.record(text, values, name);
    return Number(row?.['n']);
  }

  note(notes: Notes): Promise<void> {
    return this.record(notes);
  }

  async entries(filter: EntryFilter): Promise<readonly Entry[]> {
    const { text, values } = postgresEntriesQuery(this.#s, this.#names, filter);
    const entries = (await this.#db.query(text, values)).map(entryFrom);
    return filter.chain === undefined ? entries.map((entry) => this.#localEntry(entry)) : entries;
  }

  changesSince(asked: RecentChanges): readonly NewEntry[] {
    if (this.#closed) throw closedFault();
    return this.#recent.since(asked);
  }

  async lastChange(key: string): Promise<Entry | undefined> {
    return (await this.lastChanges([key])).get(key);
  }

  async lastChanges(keys: readonly string[]): Promise<ReadonlyMap<string, Entry>> {
    if (keys.length === 0) return new Map();
    const rows = await this.#db.query(
      `select k.at as place, e.* from unnest($1::text[]) with ordinality as k(key, at) cross join lateral (
         select c.seq, c.at_ms, c.kind, c.session, c.root, c.path, c.change, c.rest, c.hash
         from ${this.#s}.touches t join ${this.#s}.entries c on c.seq = t.seq and c.at_ms = t.at_ms
         where t.key = k.key and c.kind = 'change' order by t.seq desc limit 1) e`,
      [this.#indexKeys(keys)],
    );
    const found = rows.map(({ place, ...row }) => {
      const entry = this.#localEntry(entryFrom(row));
      return [keys[Number(place) - 1] ?? '', entry] as const;
    });
    return new Map(found);
  }

  async pending(filter: PendingFilter = {}): Promise<readonly PendingChange[]> {
    // Also select changes whose root is inside a shared workspace: some processes work only in such
    // a subfolder.
    const within = `select from unnest(roots) r, unnest($2::text[]) s where r = s or starts_with(r, s || '/')`;
    const where = filter.here === true ? `and (machine = $1 or exists (${within}))` : '';
    const shared = this.#context.sharedRoots.map((root) => column(this.#names.stored(root)));
    const values = filter.here === true ? [this.#names.here, shared] : [];
    const text = `select change, announced from ${this.#s}.pending where withdrawn_ms is null ${where} order by n`;
    const rows = await this.#db.query(text, values);
    const all = rows.map((row) =>
      this.#names.localIn(pendingFrom(String(row['announced']), () => this.#damagedPending(row))),
    );
    return all.filter(
      (pending) => matchesPending(pending, filter) && !this.#writer.hasAbandoned(pending.change),
    );
  }

  async session(id: string): Promise<SessionRecord | undefined> {
    const [row] = await this.#db.query(`select record from ${this.#s}.sessions where id = $1`, [column(id)]);
    return row && this.#session(row);
  }

  async sessions({ roots }: SessionFilter = {}): Promise<readonly SessionRecord[]> {
    const where = roots === undefined ? '' : 'where root = any($1::text[])';
    const values = roots === undefined ? [] : [roots.map((root) => column(this.#names.stored(root)))];
    const rows = await this.#db.query(
      `select record from ${this.#s}.sessions ${where} order by last_ms desc`,
      values,
    );
    return rows.flatMap((row) => this.#session(row) ?? []);
  }

  state(): Promise<StoreState> {
    return journalState(this.#db);
  }

  readonly snapshot = async (): Promise<string> => {
    const [row] = await this.#db.query('select pg_snapshot_xmin(pg_current_snapshot())::text as mark', []);
    return String(row?.['mark']);
  };

  prune(throughSeq: number): Promise<number> {
    return pruneEntries(this.#db, throughSeq);
  }

  readonly pruneReads = (beforeMs: number): Promise<number> => pruneReads(this.#db, beforeMs);

  async close(): Promise<void> {
    if (this.#closed) return;
    clearInterval(this.#poll);
    // Withdraw changes whose announcement the server never confirmed, and mark this hash chain as
    // ended. Ignore failures: other processes will withdraw the changes, and a clean-up removes an
    // unmarked chain too, but later.
    if (this.#writer.hasAbandoned()) await this.record({}).catch(() => undefined);
    if (this.#writer.acknowledged > 0)
      await this.#db.query(`select ${this.#s}.lf_close($1)`, [this.chain]).catch(() => undefined);
    this.#closed = true;
    await this.#db.close();
  }

  get #s(): string {
    return this.#db.schema;
  }

  get #names(): Names {
    return this.#context.names;
  }

  /** Loads everything that a session has read; later reads then need no round trip. */
  async #load(session: string, key: string): Promise<Sighting | undefined> {
    let loading = this.#loading.get(session);
    if (loading === undefined) {
      loading = this.#fill(session).finally(() => this.#loading.delete(session));
      this.#loading.set(session, loading);
    }
    try {
      await loading;
    } catch (error) {
      // A read destroys nothing, so the last known sighting (what the session has read) is enough
      // until the server answers again.
      const stale = this.#seen.recall(session, key, 'stale');
      if (stale === undefined) throw error;
      return stale.sighting;
    }
    return this.#seen.recall(session, key, 'stale')?.sighting;
  }

  async #fill(session: string): Promise<void> {
    await this.#seen.load(session, () => this.#fetch(session));
    if (this.#poll !== undefined) return;
    this.#poll = setInterval(() => void this.#checkWriters(), TRUSTED_MS);
    this.#poll.unref();
  }

  async #fetch(
    session: string,
  ): Promise<{ readonly sightings: readonly Sighting[]; readonly version: number | undefined }> {
    const rows = await this.#db.query(
      `select s.version, s.writer, g.key, g.seen, g.machine
       from (select $1::text as id) i left join ${this.#s}.sessions s on s.id = i.id
       left join ${this.#s}.sightings g on g.session = i.id`,
      [column(session)],
    );
    const sightings = rows.filter((row) => row['key'] !== null).flatMap((row) => this.#sighting(row) ?? []);
    const isOwn = rows[0]?.['writer'] === this.chain;
    return { sightings, version: isOwn ? Number(rows[0]?.['version']) : undefined };
  }

  /** Drops a session from the cache if another process has written for it since it was cached. */
  async #checkWriters(): Promise<void> {
    const due = this.#seen.due();
    if (due.length === 0) {
      clearInterval(this.#poll);
      this.#poll = undefined;
      return;
    }
    try {
      if (this.#writer.hasAbandoned()) await this.record({});
      const rows = await this.#db.query(
        `select id, version from ${this.#s}.sessions where id = any($1::text[]) and writer = $2`,
        [due.map(column), this.chain],
      );
      this.#seen.keepOnly(
        new Map(rows.map((row) => [fromColumn(String(row['id'])), Number(row['version'])])),
      );
    } catch (error) {
      // Ignore the failure. The sessions stay unchecked, so the next `recall` queries the server.
      if (!(error instanceof Fault)) throw error;
    }
  }

  #session(row: Row): SessionRecord | undefined {
    const record = sessionFrom(String(row['record']));
    return record && this.#names.localIn(record);
  }

  #damagedPending({ change }: Row): Fault {
    const message =
      `the fleet store failed: its record of the unfinished change ${change} is damaged; ` +
      `delete its row from the table ${this.#s}.pending (the change then stays as it is on the disk)`;
    return new Fault('STORE_FAILED', message, { reason: 'damaged' });
  }

  /**
   * Converts a row to a sighting (what a session has read of a file). Undefined if the row is
   * damaged. A file stamp from another machine is dropped, because it is valid only there.
   */
  #sighting(row: Row): Sighting | undefined {
    const stored = String(row['key']);
    // A long key is stored as a hash in its column. The key itself is then part of the sighting's
    // text.
    const kept = sightingFrom(isHashedKey(stored) ? '' : fromColumn(stored), String(row['seen']));
    if (kept === undefined) return undefined;
    const sighting = { ...kept, key: this.#names.local(kept.key) };
    return row['machine'] === this.#names.here ? sighting : { ...sighting, stamp: undefined, racy: true };
  }

  #indexKeys(keys: readonly string[]): readonly string[] {
    return keys.map((key) => indexKey(column(this.#names.stored(key))));
  }

  #localEntry(entry: Entry): Entry {
    if (this.#names.machine === undefined) return entry;
    const { machine, ...rest } = this.#names.localIn(entry);
    return machine === undefined || machine === this.#names.machine ? rest : { ...rest, machine };
  }

  #makeRoomForTomorrow(): void {
    const today = dayOf(Date.now());
    if (today < this.#partitionsThrough) return;
    this.#partitionsThrough = today + 1;
    // Ignore failures: without its partition, an entry goes to the default table.
    makePartitions(this.#db, Date.now()).catch(() => undefined);
  }
}
