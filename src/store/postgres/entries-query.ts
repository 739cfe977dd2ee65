import { column } from '../column-text.ts';
import { INDEXED } from '../entry-columns.ts';
import { ancestorsOf } from '../entry-match.ts';
import type { EntryFilter } from '../store.ts';
import type { PgValue } from './driver.ts';
import type { Names } from './names.ts';

const COLUMNS = 'at_ms, kind, session, root, path, change, rest, hash';

/** A query for entries and its values. With `chain`, entries are numbered within that chain. */
export function entriesQuery(
  schema: string,
  names: Names,
  filter: EntryFilter,
): { readonly text: string; readonly values: readonly PgValue[] } {
  const number = filter.chain === undefined ? 'seq' : 'n';
  const values: PgValue[] = [];
  const clauses: string[] = [];
  const bind = (value: PgValue): string => `$${values.push(value)}`;
  const paths = (list: readonly string[]): string => `${bind(list.map((each) => column(names.stored(each))))}::text[]`;
  if (filter.chain !== undefined) clauses.push(`chain = ${bind(filter.chain)}`);
  if (filter.session !== undefined) clauses.push(`session = ${bind(column(filter.session))}`);
  if (filter.root !== undefined) clauses.push(`root = ${bind(column(names.stored(filter.root)))}`);
  if (filter.near !== undefined) clauses.push(nearClause(filter.near.map((each) => names.stored(each)), bind));
  if (filter.change !== undefined) clauses.push(`change = ${bind(column(filter.change))}`);
  if (filter.kinds !== undefined) clauses.push(kindsClause(filter.kinds, bind));
  if (filter.sinceMs !== undefined) clauses.push(`at_ms >= ${bind(filter.sinceMs)}`);
  if (filter.untilMs !== undefined) clauses.push(`at_ms <= ${bind(filter.untilMs)}`);
  if (filter.afterSeq !== undefined) clauses.push(`${number} > ${bind(filter.afterSeq)}`);
  if (filter.beforeSeq !== undefined) clauses.push(`${number} < ${bind(filter.beforeSeq)}`);
  if (filter.committed !== undefined)
    clauses.push(
      `tx >= ${bind(filter.committed.from)}::text::xid8 and tx < ${bind(filter.committed.to)}::text::xid8`,
    );
  for (const keys of [filter.keys, filter.key === undefined ? undefined : [filter.key]])
    if (keys !== undefined) clauses.push(keysClause(paths(keys), { schema, kinds: filter.kinds }));
  const where = clauses.length === 0 ? '' : ` where ${clauses.join(' and ')}`;
  const order = filter.order === 'oldest' ? 'asc' : 'desc';
  const limit = filter.limit === undefined ? '' : ` limit ${bind(filter.limit)}`;
  const text = `select ${number} as seq, ${COLUMNS} from ${schema}.entries${where} order by ${number} ${order}${limit}`;
  return { text, values };
}

function kindsClause(kinds: readonly string[], bind: (value: PgValue) => string): string {
  // A literal: the index of changes is used only then.
  const isChange = kinds.length > 0 && kinds.every((kind) => kind === 'change');
  return isChange ? "kind = 'change'" : `kind = any(${bind([...kinds])}::text[])`;
}

function nearClause(folders: readonly string[], bind: (value: PgValue) => string): string {
  const around = [...new Set(folders.flatMap(ancestorsOf))].map(column);
  const inside = folders.map((folder) => column(folder.endsWith('/') ? folder : `${folder}/`));
  return (
    `(root = any(${bind(around)}::text[]) or ` +
    `exists (select 1 from unnest(${bind(inside)}::text[]) i where starts_with(root, i)))`
  );
}

function keysClause(
  keys: string,
  { schema, kinds }: { readonly schema: string; readonly kinds: EntryFilter['kinds'] },
): string {
  const touched = `seq in (select seq from ${schema}.touches where key = any(${keys}))`;
  const isIndexed = kinds?.every((kind) => INDEXED.has(kind)) ?? false;
  return isIndexed ? touched : `(${touched} or rtrim(root, '/') || '/' || path = any(${keys}))`;
}
