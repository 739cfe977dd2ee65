import type { Entry } from '../../model/entry.ts';
import { column } from '../column-text.ts';
import { INDEXED } from '../entry-columns.ts';
import { ancestorsOf } from '../entry-match.ts';
import type { EntryFilter } from '../store.ts';
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
  if (filter.kinds !== undefined) addKinds(add, filter.kinds, filter.session);
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
const OWN_INDEX: ReadonlySet<string> = new Set(['change', 'refusal', 'turn'] satisfies Entry['kind'][]);

/**
 * Adds kinds as literals, because SQLite uses the index of a kind only then. The plus sign keeps SQLite from preferring
 * that index to a session's.
 */
function addKinds(
  add: (clause: string, ...bound: SqlValue[]) => void,
  kinds: readonly string[],
  session: string | undefined,
): void {
  const isIndexed = kinds.length > 0 && kinds.every((kind) => OWN_INDEX.has(kind));
  if (!isIndexed) add(`kind in (${kinds.map(() => '?').join(', ')})`, ...kinds);
  else {
    const column = session === undefined ? 'kind' : '+kind';
    add(`(${[...new Set(kinds)].map((kind) => `${column} = '${kind}'`).join(' or ')})`);
  }
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
