import { hash } from 'node:crypto';
import type { Entry, NewEntry } from '../../model/entry.ts';
import { inCanonicalOrder, linkText } from '../chain.ts';
import { ancestorsOf, column, entryValues, fromColumn, INDEXED, touchedKeys } from '../entry-columns.ts';
import { type ChainLink, type EntryFilter, RECENT_ENTRIES } from '../store.ts';
import type { Connection } from './connection.ts';
import { FREQUENT_KINDS, IS_RARE, type SqlValue } from './driver.ts';

const INSERT_ENTRY = 'insert into entries values (?, ?, ?, ?, ?, ?, ?, ?, ?)';
export const SELECT_ENTRY = 'select seq, at_ms, kind, session, root, path, change, rest, hash from entries';

export const SELECT_SEQ = 'select seq from entries';

const SINCE =
  `kind = 'change' and at_ms >= ? and session <> ? and seq > (select head_seq from chain) - ${RECENT_ENTRIES} ` +
  'order by seq desc';
/** Selects the numbers of recent changes, newest first. Not the entries, which may have megabytes. */
export const SELECT_CHANGES: string = `${SELECT_SEQ} where ${SINCE}`;
/** The same for the changes of one path. */
export const SELECT_CHANGES_OF: string = `select seq from touches join entries using (seq) where key = ? and ${SINCE}`;

export const SELECT_CHECKPOINT = 'select checkpoint_seq as seq, checkpoint_hash as hash from chain';
export const SELECT_HEAD = 'select head_seq as seq, head_hash as hash from chain';

/**
 * Builds a query for entries, and the values to bind. `select`: the part that names the columns.
 */
export function entriesQuery(
  filter: EntryFilter,
  select: string = SELECT_ENTRY,
): { sql: string; values: SqlValue[] } {
  const clauses: string[] = [];
  const values: SqlValue[] = [];
  const add = (clause: string, ...bound: SqlValue[]): void => {
    clauses.push(clause);
    values.push(...bound);
  };
  if (filter.session !== undefined) add('session = ?', column(filter.session));
  if (filter.root !== undefined) add('root = ?', column(filter.root));
  if (filter.near !== undefined) addNear(add, filter.near);
  if (filter.change !== undefined) add('change = ?', column(filter.change));
  if (filter.changePrefix !== undefined)
    add('change >= ? and change < ?', column(filter.changePrefix), column(`${filter.changePrefix}~`));
  if (filter.kinds !== undefined) addKinds(add, filter.kinds, filter);
  if (filter.sinceMs !== undefined) add('at_ms >= ?', filter.sinceMs);
  if (filter.untilMs !== undefined) add('at_ms <= ?', filter.untilMs);
  if (filter.afterSeq !== undefined) add('seq > ?', filter.afterSeq);
  if (filter.beforeSeq !== undefined) add('seq < ?', filter.beforeSeq);
  if (filter.key !== undefined) addKeys(add, [filter.key], filter.kinds);
  if (filter.keys !== undefined) addKeys(add, filter.keys, filter.kinds);
  const where = clauses.length === 0 ? '' : ` where ${clauses.join(' and ')}`;
  const order = filter.order === 'oldest' ? 'asc' : 'desc';
  // To SQLite, -1 means no limit.
  values.push(filter.limit ?? -1);
  return { sql: `${select}${where} order by seq ${order} limit ?`, values };
}

/** Kinds of entries with an index of their own that `addKinds` lets SQLite use. */
const OWN_INDEX: ReadonlySet<string> = new Set([
  'change',
  'refusal',
  'turn',
  'unjudged',
] satisfies Entry['kind'][]);

/**
 * True if a field of the filter has an index that selects fewer entries than the index of the kind.
 * SQLite by itself would prefer the index of the kind.
 */
function hasBetterIndex({ session, change, changePrefix, key, keys }: EntryFilter): boolean {
  const named = change ?? changePrefix;
  return session !== undefined || named !== undefined || key !== undefined || keys !== undefined;
}

/**
 * Adds the condition on kinds to a query. Writes the kinds as literals, because SQLite uses the index of a kind only
 * for literals. A plus sign before a column turns off the column's index.
 */
function addKinds(
  add: (clause: string, ...bound: SqlValue[]) => void,
  kinds: readonly string[],
  filter: EntryFilter,
): void {
  const column = hasBetterIndex(filter) ? '+kind' : 'kind';
  if (filter.session !== undefined && !kinds.some((kind) => FREQUENT_KINDS.includes(kind))) add(IS_RARE);
  const isIndexed = kinds.length > 0 && kinds.every((kind) => OWN_INDEX.has(kind));
  if (!isIndexed) add(`kind in (${kinds.map(() => '?').join(', ')})`, ...kinds);
  else add(`(${[...new Set(kinds)].map((kind) => `${column} = '${kind}'`).join(' or ')})`);
}

function addNear(add: (clause: string, ...bound: SqlValue[]) => void, folders: readonly string[]): void {
  const around = [...new Set(folders.flatMap(ancestorsOf))].map(column);
  const inside = folders.map((folder) => column(folder.endsWith('/') ? folder : `${folder}/`));
  const clauses = [
    `root in (${around.map(() => '?').join(', ')})`,
    ...inside.map(() => 'substr(root, 1, length(?)) = ?'),
  ];
  add(`(${clauses.join(' or ')})`, ...around, ...inside.flatMap((prefix) => [prefix, prefix]));
}

function addKeys(
  add: (clause: string, ...bound: SqlValue[]) => void,
  keys: readonly string[],
  kinds: EntryFilter['kinds'],
): void {
  const list = `(${keys.map(() => '?').join(', ')})`;
  const bound = keys.map(column);
  const touched = `seq in (select seq from touches where key in ${list})`;
  const isIndexed = kinds?.every((kind) => INDEXED.has(kind)) ?? false;
  if (isIndexed) add(touched, ...bound);
  else add(`(${touched} or rtrim(root, '/') || '/' || path in ${list})`, ...bound, ...bound);
}

/** From this many keys on, one statement inserts all of them. */
const KEYS_AT_ONCE = 64;

/** Entries that a connection appended in one transaction. */
export interface Appended {
  /** Number of the entry before the appended ones. */
  readonly after: number;
  readonly head: ChainLink;
}

const MOVE_HEAD = 'update chain set head_seq = ?, head_hash = ? where head_seq = ? and head_hash = ?';

/** New links of the hash chain, and the link before them. */
interface Extension {
  readonly after: ChainLink;
  readonly links: readonly ChainLink[];
}

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

  /** Appends entries. The caller must have begun a transaction. */
  append(entries: readonly NewEntry[]): Appended | undefined {
    if (entries.length === 0) return undefined;
    const ordered = entries.map((entry) => inCanonicalOrder(entry));
    const { after, links } = (this.#head && this.#extend(this.#head, ordered)) ?? this.#extendStored(ordered);
    for (const [index, link] of links.entries()) {
      const entry = ordered[index];
      if (entry === undefined) continue;
      this.#db.sql(INSERT_ENTRY).run(...entryValues(entry, link));
      this.#touch(touchedKeys(entry), link.seq);
    }
    return { after: after.seq, head: links.at(-1) ?? after };
  }

  #touch(keys: readonly string[], seq: number): void {
    // One statement for many keys takes a third of the time of a statement for each.
    if (keys.length >= KEYS_AT_ONCE)
      this.#db.sql('insert into touches select value, ? from json_each(?)').run(seq, JSON.stringify(keys));
    else for (const key of keys) this.#db.sql('insert into touches values (?, ?)').run(key, seq);
  }

  /** Remembers the newest entry of the chain. The caller must have committed the transaction. */
  committed({ head }: Appended): void {
    this.#head = head;
  }

  /**
   * Computes the links of these entries and stores the last link as the head of the chain.
   * Undefined if `after` is not the stored head.
   */
  #extend(after: ChainLink, ordered: readonly NewEntry[]): Extension | undefined {
    const links: ChainLink[] = [];
    let head = after;
    for (const entry of ordered) {
      head = linkText(head, JSON.stringify(entry));
      links.push(head);
    }
    const moved = this.#db.sql(MOVE_HEAD).run(head.seq, head.hash, after.seq, after.hash);
    // The cast is safe: every driver returns the number of changed rows.
    return Number((moved as { changes: number | bigint }).changes) === 1 ? { after, links } : undefined;
  }

  #extendStored(ordered: readonly NewEntry[]): Extension {
    const extension = this.#extend(linkIn(this.#db, SELECT_HEAD), ordered);
    if (extension === undefined) throw new Error('the newest entry changed during a transaction');
    return extension;
  }
}

/** The link that `select` reads from the only row of the table `chain`. */
export function linkIn(db: Connection, select: string): ChainLink {
  const { seq, hash: digest } = db.sql(select).get() as ChainLink;
  return { seq, hash: digest };
}

/**
 * Characters in the text of `SELECT_PAGE`: between rows, between fields, and for an empty field. A
 * page whose values contain one of them is not confirmed.
 */
const [ROW, FIELD, NONE] = ['\u001e', '\u001f', '\u001d'];
const FIELDS = 9;
const AT_MOST = 2000;

/**
 * SQL that is true for rows whose columns have the types that we write. It detects a text that was
 * replaced by a blob with the same bytes, which filters would not match.
 */
const TYPED = [
  "typeof(at_ms) = 'integer'",
  ...['kind', 'session', 'root', 'rest', 'hash'].map((name) => `typeof(${name}) = 'text'`),
  ...['path', 'change'].map((name) => `typeof(${name}) in ('text', 'null')`),
].join(' and ');

/**
 * Joins many rows into one text for the check of the hash chain. To read each column separately takes longer.
 */
const SELECT_PAGE =
  `select sum(${TYPED}) as typed, group_concat(${[
    'seq',
    'at_ms',
    'kind',
    'session',
    'root',
    `coalesce(path, '${NONE}')`,
    `coalesce(change, '${NONE}')`,
    'rest',
    'hash',
  ].join(` || '${FIELD}' || `)}, '${ROW}') as page ` +
  'from (select * from entries where seq > ? and seq <= ? order by seq)';

/**
 * Confirms that a page of entries follows `previous`, and returns the page's last link. Undefined if it cannot confirm
 * the page: the caller must then check its entries one by one. Hashes the stored text without building entries, which
 * takes a quarter of the time.
 */
export function confirmPage(
  db: Pick<Connection, 'sql'>,
  previous: ChainLink,
  throughSeq: number,
): ChainLink | undefined {
  const last = Math.min(throughSeq, previous.seq + AT_MOST);
  // The cast is safe: an aggregate gives one row. Without entries, both values are null.
  const { typed, page } = db.sql(SELECT_PAGE).get(previous.seq, last) as {
    typed: number | null;
    page: string | null;
  };
  const count = last - previous.seq;
  if (page === null || typed !== count) return undefined;
  const rows = page.split(ROW);
  if (rows.length !== count) return undefined;
  let link = previous;
  for (const row of rows) {
    const next = confirmRow(row, link);
    if (next === undefined) return undefined;
    link = next;
  }
  return link;
}

function confirmRow(row: string, previous: ChainLink): ChainLink | undefined {
  const fields = row.split(FIELD);
  const [seq, atMs, kind, session, root, path, change, rest, claimed] = fields;
  const isWhole = fields.length === FIELDS && rest !== undefined && claimed !== undefined;
  if (!isWhole || seq !== String(previous.seq + 1)) return undefined;
  const columns: (readonly [string, string])[] = [['atMs', atMs ?? '']];
  const add = (name: string, value: string | undefined): void => {
    if (value !== undefined && value !== NONE) columns.push([name, JSON.stringify(fromColumn(value))]);
  };
  // Add the fields in alphabetical order, as in the canonical text.
  add('change', change);
  add('kind', kind);
  add('path', path);
  add('root', root);
  add('session', session);
  const text = `${previous.hash}${merged(columns, rest)}${seq}`;
  return hash('sha256', text) === claimed ? { seq: previous.seq + 1, hash: claimed } : undefined;
}

/**
 * The canonical JSON of an entry: its columns inserted between the members of `rest`. If `rest` was
 * altered, the hash of the result differs.
 */
function merged(columns: readonly (readonly [string, string])[], rest: string): string {
  let text = '';
  let next = 0;
  for (let at = 1; at < rest.length - 1; ) {
    const nameEnd = rest.indexOf('"', at + 1);
    const valueEnd = endOfValue(rest, nameEnd + 2);
    if (nameEnd < 0 || valueEnd <= at) return '';
    const name = rest.slice(at + 1, nameEnd);
    for (let column = columns[next]; column !== undefined && column[0] < name; column = columns[next]) {
      text += `,"${column[0]}":${column[1]}`;
      next += 1;
    }
    text += `,${rest.slice(at, valueEnd)}`;
    at = valueEnd + 1;
  }
  for (const [name, value] of columns.slice(next)) text += `,"${name}":${value}`;
  return `{${text.slice(1)}}`;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The position after the JSON value at `from`. */
function endOfValue(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth += 1;
    else if (depth === 0 && (code === COMMA || code === CLOSE_OBJECT)) return at;
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth -= 1;
  }
  return text.length;
}

/** The position of the quote that ends the string at `from`. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
