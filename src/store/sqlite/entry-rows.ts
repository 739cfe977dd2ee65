import type { NewEntry } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import { canonicalJson, linkText } from '../chain.ts';
import { selectionOf } from '../entries-query.ts';
import { column, ENTRY_COLUMNS, entryFrom, filterColumns, touchedKeys } from '../entry-columns.ts';
import { type ChainLink, type EntryFilter, RECENT_ENTRIES, VIEWS_OF_FILE } from '../store.ts';
import type { Connection } from './connection.ts';
import { FREQUENT_KINDS, IS_RARE, OWN_INDEX, type SqlValue } from './driver.ts';

const INSERT_ENTRY = 'insert into entries values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing';
export const SELECT_ENTRY: string = `select seq, ${ENTRY_COLUMNS} from entries`;

export const SELECT_SEQ = 'select seq from entries';

const RECENT = `(select max(seq) from entries) - ${RECENT_ENTRIES}`;
/** Selects the numbers of recent changes, newest first. Not the entries, which may have megabytes. */
export const SELECT_CHANGES: string =
  `${SELECT_SEQ} where session <> ? and kind = 'change' and at_ms >= ? and seq > ${RECENT} ` +
  'order by seq desc';
/**
 * Selects the numbers of recent changes of one path. The two ranges of `touches` leave out the session's own
 * changes without reading them. `cross join`: only rows of other sessions lead to their entries.
 */
export const SELECT_CHANGES_OF: string =
  'select e.seq from (select seq from touches where key = ?1 and session < ?2 ' +
  'union all select seq from touches where key = ?1 and session > ?2) t ' +
  `cross join entries e on e.seq = t.seq where t.seq > ${RECENT} and e.kind = 'change' and e.at_ms >= ?3 ` +
  'order by e.seq desc';

const NEWEST_BY_OTHERS =
  'select (select max(seq) from entries) as seq, (select max(at_ms) from entries ' +
  `where kind = 'change' and session <> ? and seq > max(?, ${RECENT})) as at_ms`;

/**
 * The time of the newest change by any other session among the recent entries after number `after`,
 * -Infinity if there is none, and the number of the newest entry.
 */
export function newestByOthers(
  db: Connection,
  session: string,
  after = 0,
): { readonly seq: number; readonly atMs: number } {
  const { seq, at_ms: atMs } = db.sql(NEWEST_BY_OTHERS).get(column(session), after) as {
    readonly seq: number | null;
    readonly at_ms: number | null;
  };
  return { seq: seq ?? 0, atMs: atMs ?? Number.NEGATIVE_INFINITY };
}

/** Builds a query for entries, and the values to bind. `select`: the part that names the columns. */
export function entriesQuery(
  filter: EntryFilter,
  select: string = SELECT_ENTRY,
): { readonly sql: string; readonly values: readonly SqlValue[] } {
  const { text, values } = selectionOf<SqlValue>(filter, DIALECT);
  return { sql: select + text, values };
}

const DIALECT: Parameters<typeof selectionOf<SqlValue>>[1] = {
  placeholder: '?',
  touches: 'touches',
  list: (texts) => JSON.stringify(texts),
  isOneOf: (name, list) => `${name} in (select value from json_each(${list}))`,
  beginsWithOneOf: (list) =>
    `exists (select 1 from json_each(${list}) as inside where substr(entries.root, 1, length(inside.value)) = inside.value)`,
  ofKinds,
  stored: (path) => path,
  indexed: (text) => text,
  rootsBelow: () => [],
};

/**
 * The condition on kinds. Writes the kinds as literals, because SQLite uses the index of a kind only
 * for literals. A plus sign before a column turns off the column's index: SQLite by itself would
 * prefer it to an index that selects fewer entries.
 */
function ofKinds(filter: EntryFilter, kinds: readonly string[], bound: () => string): string {
  const { session, change, changePrefix, key, keys } = filter;
  const hasBetterIndex = [session, change, changePrefix, key, keys].some((each) => each !== undefined);
  const isRare = session !== undefined && !kinds.some((kind) => FREQUENT_KINDS.includes(kind));
  const isIndexed = kinds.length > 0 && kinds.every((kind) => OWN_INDEX.includes(kind));
  const name = hasBetterIndex ? '+kind' : 'kind';
  const literals = (): string => `(${[...new Set(kinds)].map((kind) => `${name} = '${kind}'`).join(' or ')})`;
  return `${isRare ? `${IS_RARE} and ` : ''}${isIndexed ? literals() : bound()}`;
}

/** From this many keys on, one statement inserts all of them. */
const KEYS_AT_ONCE = 64;

/**
 * Appends entries to the journal. Remembers the newest entry's number and hash (the head of the
 * chain), because nearly always this connection wrote that entry.
 */
export class ChainRows {
  readonly #db: Connection;
  #head: ChainLink | undefined;

  constructor(db: Connection) {
    this.#db = db;
  }

  /** Appends entries, and returns the new head. The caller must have begun a transaction. */
  append(entries: readonly NewEntry[]): ChainLink | undefined {
    if (entries.length === 0) return undefined;
    let head = this.#head ?? headIn(this.#db);
    for (const [index, entry] of entries.entries()) {
      const text = canonicalJson(entry);
      let next = linkText(head, text);
      if (!this.#insert(entry, text, next)) {
        // Another connection has appended entries since.
        if (index > 0) throw new Error('the newest entry changed during a transaction');
        next = linkText(headIn(this.#db), text);
        if (!this.#insert(entry, text, next)) throw new Error('the number of the next entry is taken');
      }
      this.#touch(touchedKeys(entry), next.seq, column(entry.session));
      head = next;
    }
    return head;
  }

  /** Inserts an entry. False if its number is taken. */
  #insert(entry: NewEntry, text: string, { seq, hash }: ChainLink): boolean {
    const { changes } = this.#db.sql(INSERT_ENTRY).run(seq, ...filterColumns(entry), text, hash);
    return changes > 0;
  }

  #touch(keys: readonly string[], seq: number, session: string): void {
    // One statement for many keys takes a third of the time of a statement for each.
    if (keys.length >= KEYS_AT_ONCE)
      this.#db
        .sql('insert into touches select value, ?, ? from json_each(?)')
        .run(seq, session, JSON.stringify(keys));
    else for (const key of keys) this.#db.sql('insert into touches values (?, ?, ?)').run(key, seq, session);
  }

  /** Remembers the newest entry of the chain. The caller must have committed the transaction. */
  committed(head: ChainLink): void {
    this.#head = head;
  }
}

/** The newest entry's link, or that of the last pruned entry if there is none. */
export function headIn(db: Connection): ChainLink {
  const newest = db.sql('select seq, hash from entries order by seq desc limit 1').get();
  return linkOf(newest) ?? checkpointIn(db);
}

/** The link of the last pruned entry. */
export function checkpointIn(db: Connection): ChainLink {
  const link = linkOf(db.sql('select seq, hash from checkpoint').get());
  if (link === undefined) throw new Error('the table checkpoint is empty');
  return link;
}

function linkOf(row: unknown): ChainLink | undefined {
  // The cast is safe: both selects above name these columns.
  const link = row as ChainLink | undefined;
  return link && { seq: link.seq, hash: link.hash };
}

/**
 * Limits of one transaction, so that other processes do not wait long for the lock. A limit of
 * entries alone is not enough: the entry of a command that changed many files takes megabytes, and
 * has a row in `touches` for each file.
 */
const [MAX_ENTRIES, MAX_BYTES] = [2000, 4 << 20];

const SELECT_SIZES =
  'select seq, octet_length(entry) as bytes from entries where seq <= ? order by seq limit ?';
const DELETE_TOUCHES =
  'delete from touches where seq = ? and session = ? and key in (select value from json_each(?))';

/** Removes views that later ones of the same file have replaced: a look-up does not reach them. */
const DELETE_OLD_VIEWS = `delete from views where n in (
  select n from (select n, row_number() over (partition by session, key order by n desc) as place
    from views where key <> '') where place > ${VIEWS_OF_FILE})`;

/**
 * Removes the oldest entries up to and including a number, and views that later ones have replaced.
 * Returns how many entries were removed.
 */
export async function pruneOldest(db: Connection, throughSeq: number): Promise<number> {
  let pruned = 0;
  for (;;) {
    const { count, isLast } = db.transaction(() => pruneStep(db, throughSeq));
    pruned += count;
    if (isLast) break;
    // Between two steps, let this process answer requests and other processes write.
    await new Promise((resolve) => setImmediate(resolve));
  }
  db.attempt(() => db.sql(DELETE_OLD_VIEWS).run());
  freeSpace(db);
  return pruned;
}

/**
 * Copies the write-ahead log into the database file, so that the file shrinks now. Otherwise the
 * file would shrink only when the log is full. Ignores failures, for example on a full disk: SQLite
 * tries again later.
 */
function freeSpace(db: Connection): void {
  try {
    db.attempt(() => db.sql('pragma wal_checkpoint(passive)').get());
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
}

function pruneStep(db: Connection, throughSeq: number): { readonly count: number; readonly isLast: boolean } {
  // The cast is safe: the select determines the shape.
  const sizes = db.sql(SELECT_SIZES).all(throughSeq, MAX_ENTRIES) as { seq: number; bytes: number }[];
  const fitting = sizes.slice(0, fittingCount(sizes));
  const end = fitting.at(-1)?.seq;
  if (end === undefined) return { count: 0, isLast: true };
  const gone = db.sql(`${SELECT_ENTRY} where seq <= ? order by seq`).all(end).map(entryFrom);
  for (const entry of gone) {
    const keys = touchedKeys(entry);
    if (keys.length > 0) db.sql(DELETE_TOUCHES).run(entry.seq, column(entry.session), JSON.stringify(keys));
  }
  db.sql('delete from entries where seq <= ?').run(end);
  db.sql('update checkpoint set seq = ?, hash = ?').run(end, gone.at(-1)?.hash ?? '');
  // Each step of the pragma frees one page; `all` runs it to the end.
  db.sql('pragma incremental_vacuum').all();
  return { count: gone.length, isLast: fitting.length === sizes.length && sizes.length < MAX_ENTRIES };
}

/** The number of entries to remove in one transaction; at least one, if there is any. */
function fittingCount(sizes: readonly { readonly bytes: number }[]): number {
  let total = 0;
  const first = sizes.findIndex(({ bytes }, index) => {
    total += bytes;
    return index > 0 && total > MAX_BYTES;
  });
  return first === -1 ? sizes.length : first;
}
