import { endsOf } from '../../model/delta.ts';
import type {
  ChangeEntry,
  EntryKind,
  EntryOf,
  NewChangeEntry,
  NewEntry,
  PendingChange,
} from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import type { SessionRecord } from '../../model/session-record.ts';
import type { Sighting } from '../../model/sighting.ts';
import type { Seen } from '../../model/view.ts';
import { CHAIN_START } from '../chain.ts';
import { selectionOf } from '../entries-query.ts';
import {
  checkedLinks,
  column,
  ENTRY_COLUMNS,
  entryFrom,
  matchesPending,
  pendingFrom,
  sessionFrom,
} from '../entry-columns.ts';
import {
  type AnnouncedImages,
  type AtLocked,
  type BrokenLink,
  type ChainLink,
  type EntryFilter,
  LINKS_AT_ONCE,
  type Notes,
  type PendingFilter,
  RECENT_ENTRIES,
  type RecentChanges,
  type Store,
  type StoreState,
  type Writes,
} from '../store.ts';
import { closedFault, type PgValue, type PostgresConnection, type Row } from './connection.ts';
import { indexKey, type Names } from './names.ts';
import { CHAIN_IDLE_MS, losesViews, RecordWriter } from './record-writer.ts';
import { NoteQueue, SeenSessions } from './seen-sessions.ts';

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
  readonly #context: ConstructorParameters<typeof RecordWriter>[0];
  readonly #seen: SeenSessions;
  readonly #notes: NoteQueue;
  readonly #writer: RecordWriter;
  readonly #recent: RecentFollower;
  #closed = false;

  constructor(db: PostgresConnection, context: ConstructorParameters<typeof RecordWriter>[0]) {
    this.#db = db;
    this.#context = context;
    this.url = db.url;
    this.warnings = context.warnings ?? [];
    this.#writer = new RecordWriter(context);
    this.chain = this.#writer.chain;
    this.#seen = new SeenSessions(db, context.names);
    this.#notes = new NoteQueue(this.#seen, (writes) => this.#sendAll(writes));
    this.#recent = new RecentFollower(db, context.names, this.chain);
  }

  recall(session: string, key: string): Seen | undefined {
    if (this.#closed) throw closedFault();
    // If the server does not answer, use what this process remembers, even if it is outdated: a
    // read destroys nothing.
    return this.#seen.cached(session, key, this.#db.isAway ? 'stale' : 'recent');
  }

  async recallMany(session: string, keys: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    if (this.#closed) throw closedFault();
    return keys.length === 0 ? new Map() : this.#seen.fresh(session, keys);
  }

  async atLocked(keys: readonly string[], session?: string): Promise<AtLocked> {
    const seen = session === undefined ? new Map<string, Seen>() : this.recallMany(session, keys);
    const [left, known] = await Promise.all([this.pending({ keys, here: true }), seen]);
    return { left, seen: known };
  }

  async sightings(session: string): Promise<readonly Sighting[]> {
    await this.#notes.flush();
    return this.#seen.all(session);
  }

  async record(writes: Writes): Promise<void> {
    if (this.#closed) throw closedFault();
    const own = this.#seen.adding(writes.views ?? []);
    try {
      await this.#recordInOrder(writes);
    } catch (error) {
      this.#seen.failed(own);
      throw error;
    }
    for (const view of own) view.isStored = true;
    if (losesViews(writes)) this.#seen.outdated(sessionsOf(writes));
  }

  async #recordInOrder(writes: Writes): Promise<void> {
    // Views from before a loss must be stored before it. Otherwise they would count again.
    if (losesViews(writes)) await this.#notes.flush();
    if (!isConditional(writes)) return this.#notes.sendWith(writes);
    void this.#notes.flush();
    return this.#sendAll(writes);
  }

  async #sendAll(writes: Writes): Promise<void> {
    const prepared = this.#writer.prepare(writes);
    try {
      const number = await this.#send(prepared.text, writes.images?.shared ?? []);
      this.#writer.done(prepared, number);
      // The server returns -1 if it ignored a record with `ifPending`, because another process was
      // faster.
      if (number >= 0) this.#recent.recorded(writes.entries ?? []);
    } catch (error) {
      this.#writer.failed(prepared, error);
      throw error;
    }
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

  note(notes: Notes): Promise<void> | undefined {
    return this.#closed ? Promise.reject(closedFault()) : this.#notes.add(notes);
  }

  async entries<K extends EntryKind = EntryKind>(filter: EntryFilter<K>): Promise<readonly EntryOf<K>[]> {
    await this.#notes.flush();
    const { text, values } = postgresEntriesQuery(this.#s, this.#names, filter);
    const entries = (await this.#db.query(text, values)).map(entryFrom<K>);
    return filter.chain === undefined ? entries.map((entry) => this.#names.localEntry(entry)) : entries;
  }

  changesSince(asked: RecentChanges): readonly NewChangeEntry[] {
    if (this.#closed) throw closedFault();
    return this.#recent.since(asked);
  }

  async lastChanges(keys: readonly string[]): Promise<ReadonlyMap<string, ChangeEntry>> {
    if (keys.length === 0) return new Map();
    await this.#notes.flush();
    const rows = await this.#db.query(
      `select k.at as place, e.* from unnest($1::text[]) with ordinality as k(key, at) cross join lateral (
         select c.*
         from ${this.#s}.touches t join ${this.#s}.entries c on c.seq = t.seq
         where t.key = k.key and c.kind = 'change' order by t.seq desc limit 1) e`,
      [this.#indexKeys(keys)],
    );
    const found = rows.map(({ place, ...row }) => {
      const entry = this.#names.localEntry(entryFrom<'change'>(row));
      return [keys[Number(place) - 1] ?? '', entry] as const;
    });
    return new Map(found);
  }

  async pending(filter: PendingFilter = {}): Promise<readonly PendingChange[]> {
    // Also select changes whose root is inside a shared workspace: some processes work only in such
    // a subfolder.
    const within = `select from unnest(roots) r, unnest($2::text[]) s where r = s or starts_with(r, s || '/')`;
    const where = filter.here === true ? `where machine = $1 or exists (${within})` : '';
    const shared = this.#context.sharedRoots.map((root) => column(this.#names.stored(root)));
    const values = filter.here === true ? [this.#names.here, shared] : [];
    const text = `select change, announced from ${this.#s}.pending ${where} order by n`;
    const rows = await this.#db.query(text, values);
    const all = rows.map((row) =>
      this.#names.localIn(pendingFrom(String(row['announced']), () => this.#damagedPending(row))),
    );
    const { refused } = this.#writer;
    return all.filter((pending) => matchesPending(pending, filter) && !refused.has(pending.change));
  }

  async session(id: string): Promise<SessionRecord | undefined> {
    const [row] = await this.#db.query(`select record from ${this.#s}.sessions where id = $1`, [column(id)]);
    return row && this.#session(row);
  }

  async sessions({ roots }: Parameters<Store['sessions']>[0] = {}): Promise<readonly SessionRecord[]> {
    const where = roots === undefined ? '' : 'where root = any($1::text[])';
    const values = roots === undefined ? [] : [roots.map((root) => column(this.#names.stored(root)))];
    const rows = await this.#db.query(
      `select record from ${this.#s}.sessions ${where} order by last_ms desc`,
      values,
    );
    return rows.flatMap((row) => this.#session(row) ?? []);
  }

  async state(): Promise<StoreState> {
    await this.#notes.flush();
    return journalState(this.#db);
  }

  async checkLinks(
    previous: ChainLink,
    page: Parameters<Store['checkLinks']>[1],
  ): Promise<ChainLink | BrokenLink> {
    const { chain, throughSeq, known } = page;
    const limits = { afterSeq: previous.seq, beforeSeq: throughSeq + 1, limit: LINKS_AT_ONCE };
    const { text, values } = postgresEntriesQuery(this.#s, this.#names, {
      chain,
      order: 'oldest',
      ...limits,
    });
    return checkedLinks(await this.#db.query(text, values), previous, known);
  }

  readonly snapshot = async (): Promise<string> => {
    await this.#notes.flush();
    const [row] = await this.#db.query('select pg_snapshot_xmin(pg_current_snapshot())::text as mark', []);
    return String(row?.['mark']);
  };

  async prune(throughSeq: number): Promise<number> {
    await this.#notes.flush();
    return pruneEntries(this.#db, throughSeq);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    await this.#notes.flush().catch(() => undefined);
    // Withdraw changes whose announcement the server never confirmed, and mark this hash chain as
    // ended. Ignore failures: recovery ends the changes, and a clean-up removes an unmarked chain
    // too, but later.
    if (this.#writer.refused.size > 0) await this.record({}).catch(() => undefined);
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

  #indexKeys(keys: readonly string[]): readonly string[] {
    return keys.map((key) => indexKey(column(this.#names.stored(key))));
  }
}

/**
 * True if the server may ignore or refuse these writes for a reason that does not concern notes of
 * reads, which must not share their transaction then.
 */
function isConditional({ ifPending, settle, entries = [] }: Writes): boolean {
  return ifPending !== undefined || (settle !== undefined && entries.length === 0);
}

/** The sessions that these writes take views from. */
function sessionsOf({ forget = [], marks = [], views = [], dropSession }: Writes): readonly string[] {
  const sessions = [...forget, ...marks, ...views].map(({ session }) => session);
  return dropSession === undefined ? sessions : [...sessions, dropSession];
}

/**
 * Builds a query for entries, and its values. With `chain` in the filter, `seq` is the number
 * within that hash chain, not in the whole journal.
 */
function postgresEntriesQuery(
  schema: string,
  names: Names,
  filter: EntryFilter,
): { readonly text: string; readonly values: readonly PgValue[] } {
  const number = filter.chain === undefined ? 'seq' : 'n';
  const { text, values } = selectionOf<PgValue>(
    filter,
    {
      placeholder: '$',
      touches: `${schema}.touches`,
      list: (texts) => texts,
      isOneOf: (name, list) => `${name} = any(${list}::text[])`,
      beginsWithOneOf: (list) =>
        `exists (select 1 from unnest(${list}::text[]) i where starts_with(root, i))`,
      ofKinds,
      stored: (path) => names.stored(path),
      indexed: indexKey,
      rootsBelow: (folder) => names.rootsBelow(folder),
    },
    number,
  );
  return { text: `select ${number} as seq, ${ENTRY_COLUMNS} from ${schema}.entries${text}`, values };
}

/** The condition on kinds. One kind is a literal: PostgreSQL uses the partial index of a kind only for literals. */
function ofKinds(_: EntryFilter, kinds: readonly string[], bound: () => string): string {
  const [only] = kinds;
  const isIndexed = kinds.length === 1 && (only === 'change' || only === 'refusal' || only === 'turn');
  return isIndexed ? `kind = '${only}'` : bound();
}

/** Maximum number of entries that one transaction deletes. */
const PRUNE_STEP = 20_000;

/** The journal's hash chains, its size, and whether this database user may delete entries. */
async function journalState(db: PostgresConnection): Promise<StoreState> {
  const [[size], rows] = await Promise.all([
    db.query(
      `select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint as bytes,
         has_table_privilege('${db.schema}.entries', 'delete') as prunes from pg_class
       where relnamespace = $1::text::regnamespace and relkind = 'r'`,
      [db.schema],
    ),
    db.query(`select * from ${db.schema}.chains order by seq`),
  ]);
  const chains = rows.map(chainState);
  const cut = Math.max(0, ...rows.map((row) => Number(row['checkpoint_seq'])));
  const cutRow = rows.find((row) => Number(row['checkpoint_seq']) === cut);
  const last = rows.at(-1);
  return {
    chains,
    checkpoint: cut === 0 ? CHAIN_START : { seq: cut, hash: String(cutRow?.['checkpoint_hash']) },
    head: last === undefined ? CHAIN_START : { seq: Number(last['seq']), hash: String(last['hash']) },
    witness: undefined,
    bytes: Number(size?.['bytes']),
    ...(size?.['prunes'] === true ? {} : { mayPrune: false }),
  };
}

/** Removes the entries numbered up to `throughSeq`. Returns the number of removed entries. */
async function pruneEntries(db: PostgresConnection, throughSeq: number): Promise<number> {
  for (let pruned = 0; ; ) {
    const values = [throughSeq, PRUNE_STEP];
    const [row] = await db.maintain(`select ${db.schema}.lf_prune($1, $2) as gone`, values);
    const gone = Number(row?.['gone']);
    pruned += gone;
    if (gone >= PRUNE_STEP) continue;
    await dropChains(db);
    return pruned;
  }
}

/**
 * Removes hash chains without entries if their writer has closed them, or has been idle for so long
 * that it has probably ended.
 */
async function dropChains(db: PostgresConnection): Promise<void> {
  await db.maintain(`select ${db.schema}.lf_drop_chains($1)`, [Date.now() - 2 * CHAIN_IDLE_MS]);
}

function chainState(row: Row): NonNullable<StoreState['chains']>[number] {
  return {
    chain: String(row['chain']),
    machine: String(row['machine']),
    head: { seq: Number(row['n']), hash: String(row['hash']) },
    checkpoint: { seq: Number(row['checkpoint_n']), hash: String(row['checkpoint_hash']) },
    known: String(row['known']),
  };
}

const NEVER = Number.NEGATIVE_INFINITY;

/** Other processes' entries are fetched at most this often, and only while callers need them. */
const POLL_MS = 1000;
/** The first fetch returns changes up to this age. */
const LOOK_BACK_MS = 15 * 60_000;

/**
 * Implements `Store.changesSince`. Returns this store's own changes at once, and those of other
 * processes up to a second late. Each fetch continues at a transaction id, because entries are not
 * committed in the order of their numbers.
 */
class RecentFollower {
  readonly #db: PostgresConnection;
  readonly #names: Names;
  /** The id of the hash chain to which this store appends its journal entries. */
  readonly #chain: string;
  /** In the order in which this process learned of them. */
  #changes: NewChangeEntry[] = [];
  #seenTx: string | undefined;
  #polledMs = NEVER;
  #polling = false;

  constructor(db: PostgresConnection, names: Names, chain: string) {
    this.#db = db;
    this.#names = names;
    this.#chain = chain;
  }

  /** Adds entries that this store has recorded. */
  recorded(entries: readonly NewEntry[]): void {
    for (const entry of entries) if (entry.kind === 'change') this.#changes.push(entry);
    if (this.#changes.length > 2 * RECENT_ENTRIES) this.#changes = this.#changes.slice(-RECENT_ENTRIES);
  }

  since({ sinceMs, keys, notBy }: RecentChanges): readonly NewChangeEntry[] {
    if (!this.#polling && performance.now() - this.#polledMs >= POLL_MS) void this.#poll();
    const recent = this.#changes.filter(({ atMs, session }) => atMs >= sinceMs && session !== notBy);
    const wanted = recent.length === 0 ? undefined : keys?.();
    const found =
      wanted === undefined
        ? recent
        : recent.filter(({ deltas }) => deltas.flatMap(endsOf).some((end) => wanted.includes(end)));
    return found.sort((a, b) => b.atMs - a.atMs);
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
    const now = Date.now();
    const [clause, since] =
      this.#seenTx === undefined
        ? ['at_ms >= $2', now - LOOK_BACK_MS]
        : ['tx >= $2::text::xid8', this.#seenTx];
    const rows = await this.#db.query(
      `select s.mark::text as mark, e.*
       from (select pg_snapshot_xmin(pg_current_snapshot()) as mark) s left join ${this.#db.schema}.entries e
       on chain <> $1 and tx < s.mark and kind = 'change' and ${clause} order by seq`,
      [this.#chain, since],
    );
    this.#seenTx = String(rows[0]?.['mark']);
    const found = rows.filter(({ seq }) => seq !== null);
    // Limit times to now. Otherwise claims on files from a machine whose clock is ahead would last
    // longer.
    const entries = found
      .map(entryFrom<'change'>)
      .map((entry) => ({ ...entry, atMs: Math.min(entry.atMs, now) }));
    this.recorded(entries.map((entry) => this.#names.localEntry(entry)));
  }
}
