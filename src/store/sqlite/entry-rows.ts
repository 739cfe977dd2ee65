import type { Entry } from '../../model/entry.ts';
import { ancestorsOf, column, entryFrom, INDEXED } from '../entry-columns.ts';
import {
  type ChainLink,
  CLAIM_KINDS,
  type EntryFilter,
  RECENT_ENTRIES,
  type RecentEntries,
} from '../store.ts';
import type { Connection } from './connection.ts';
import type { SqlValue } from './driver.ts';

export const INSERT_ENTRY = 'insert into entries values (?, ?, ?, ?, ?, ?, ?, ?, ?)';
export const SELECT_ENTRY = 'select seq, at_ms, kind, session, root, path, change, rest, hash from entries';

export const SELECT_CHECKPOINT = 'select checkpoint_seq as seq, checkpoint_hash as hash from chain';
export const SELECT_HEAD = 'select head_seq as seq, head_hash as hash from chain';

/** Builds a query for entries and its values. */
export function entriesQuery(filter: EntryFilter): { sql: string; values: SqlValue[] } {
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
  return { sql: `${SELECT_ENTRY}${where} order by seq ${order} limit ?`, values };
}

/** Kinds that have their own index. */
const OWN_INDEX: ReadonlySet<string> = new Set([
  'change',
  'refusal',
  'turn',
  'unjudged',
] satisfies Entry['kind'][]);

/** True if few entries match already: SQLite would still prefer the index of a kind, and read all of its entries. */
function hasBetterIndex({ session, change, key, keys }: EntryFilter): boolean {
  return session !== undefined || change !== undefined || key !== undefined || keys !== undefined;
}

/**
 * Adds kinds as literals, because SQLite uses the index of a kind only then. A column with a plus sign keeps SQLite
 * from using that index.
 */
function addKinds(
  add: (clause: string, ...bound: SqlValue[]) => void,
  kinds: readonly string[],
  filter: EntryFilter,
): void {
  const column = hasBetterIndex(filter) ? '+kind' : 'kind';
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

const KINDS = CLAIM_KINDS.map((kind) => `'${kind}'`).join(', ');
const SELECT_RECENT = `${SELECT_ENTRY} where seq > ? and kind in (${KINDS}) order by seq`;
/** Selects explicit claims older than the range that is searched; a partial index finds them. */
const SELECT_CLAIMS = `${SELECT_ENTRY} where kind = 'claim' and seq <= ? order by seq`;

/** Finds new entries by number. While no process writes, an answer needs only the query of the version number. */
export class RecentRows {
  readonly #db: Pick<Connection, 'sql'>;
  readonly #versionNow: () => number;
  /** Number of the newest entry that this connection knows. */
  #newest = 0;
  /** The database version for which `#newest` is valid. */
  #version = -1;

  constructor(db: Pick<Connection, 'sql'>, versionNow: () => number) {
    this.#db = db;
    this.#versionNow = versionNow;
  }

  /** Records entries appended by this connection, because its own writes do not change the version number. */
  appended({ seq }: ChainLink): void {
    this.#newest = seq;
  }

  /** The entries after a cursor, which is the number of the last returned entry. */
  after(cursor: number): RecentEntries {
    const version = this.#versionNow();
    if (version !== this.#version) this.#newest = (this.#db.sql(SELECT_HEAD).get() as ChainLink).seq;
    this.#version = version;
    if (cursor === this.#newest) return { entries: [], cursor };
    const after = cursor === 0 ? Math.max(0, this.#newest - RECENT_ENTRIES) : cursor;
    const older = cursor === 0 && after > 0 ? this.#db.sql(SELECT_CLAIMS).all(after) : [];
    const entries = [...older, ...this.#db.sql(SELECT_RECENT).all(after)].map(entryFrom);
    return { entries, cursor: Math.max(this.#newest, entries.at(-1)?.seq ?? 0) };
  }
}
