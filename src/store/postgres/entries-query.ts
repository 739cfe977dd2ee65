import { ancestorsOf, column, ENTRY_COLUMNS, INDEXED } from '../entry-columns.ts';
import type { EntryFilter } from '../store.ts';
import type { PgValue } from './driver.ts';
import { indexKey, type Names } from './names.ts';

/** Adds a value and returns its placeholder in the query. */
type Bind = (value: PgValue) => string;

/**
 * Builds a query for entries, and its values. With `chain` in the filter, `seq` is the number
 * within that hash chain, not in the whole journal.
 */
export function postgresEntriesQuery(
  schema: string,
  names: Names,
  filter: EntryFilter,
): { readonly text: string; readonly values: readonly PgValue[] } {
  const number = filter.chain === undefined ? 'seq' : 'n';
  const values: PgValue[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const clauses = [
    ...equalities(names, filter, bind),
    ...ranges(number, filter, bind),
    ...pathClauses({ schema, names, bind }, filter),
  ];
  const where = clauses.length === 0 ? '' : ` where ${clauses.join(' and ')}`;
  const order = filter.order === 'oldest' ? 'asc' : 'desc';
  const limit = filter.limit === undefined ? '' : ` limit ${bind(filter.limit)}`;
  const text = `select ${number} as seq, ${ENTRY_COLUMNS} from ${schema}.entries${where} order by ${number} ${order}${limit}`;
  return { text, values };
}

function equalities(names: Names, filter: EntryFilter, bind: Bind): readonly string[] {
  const { chain, session, root, change, changePrefix, kinds } = filter;
  const wanted: readonly (readonly [string, string | undefined])[] = [
    ['chain', chain],
    ['session', session === undefined ? undefined : column(session)],
    ['root', root === undefined ? undefined : column(names.stored(root))],
    ['change', change === undefined ? undefined : column(change)],
  ];
  const clauses = wanted.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} = ${bind(value)}`],
  );
  if (changePrefix !== undefined)
    clauses.push(`change >= ${bind(column(changePrefix))} and change < ${bind(column(`${changePrefix}~`))}`);
  return kinds === undefined ? clauses : [...clauses, kindsClause(kinds, bind)];
}

function ranges(number: string, filter: EntryFilter, bind: Bind): readonly string[] {
  const bounds: readonly (readonly [string, number | undefined])[] = [
    ['at_ms >=', filter.sinceMs],
    ['at_ms <=', filter.untilMs],
    [`${number} >`, filter.afterSeq],
    [`${number} <`, filter.beforeSeq],
  ];
  const clauses = bounds.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${bind(value)}`]));
  if (filter.committed === undefined) return clauses;
  const { from, to } = filter.committed;
  return [...clauses, `tx >= ${bind(from)}::text::xid8 and tx < ${bind(to)}::text::xid8`];
}

interface KeysFilter {
  readonly columns: readonly string[];
  readonly schema: string;
  readonly kinds: EntryFilter['kinds'];
  readonly bind: Bind;
}

interface PathBinding {
  readonly schema: string;
  readonly names: Names;
  readonly bind: Bind;
}

function pathClauses({ schema, names, bind }: PathBinding, filter: EntryFilter): readonly string[] {
  const { near, key, keys, kinds } = filter;
  const stored = (paths: readonly string[]): string[] => paths.map((path) => names.stored(path));
  const clauses = near === undefined ? [] : [nearClause(names, near, bind)];
  for (const wanted of [keys, key === undefined ? undefined : [key]]) {
    if (wanted === undefined) continue;
    const columns = stored(wanted).map(column);
    clauses.push(keysClause({ columns, schema, kinds, bind }));
  }
  return clauses;
}

function kindsClause(kinds: readonly string[], bind: Bind): string {
  // The kind must be a literal: PostgreSQL uses the partial index of a kind only for literals.
  const [only] = kinds;
  const isIndexed = kinds.length === 1 && (only === 'change' || only === 'refusal' || only === 'turn');
  return isIndexed ? `kind = '${only}'` : `kind = any(${bind([...kinds])}::text[])`;
}

function nearClause(names: Names, folders: readonly string[], bind: Bind): string {
  // A root with a workspace name is stored under that name, not under its path. A search by the
  // path of a folder would miss named roots in it, so add them.
  const named = folders.flatMap((folder) => names.rootsBelow(folder));
  const around = [...folders.flatMap(ancestorsOf), ...named].map((path) => column(names.stored(path)));
  const inside = [...folders, ...named].map((path) => column(names.stored(path).replace(/\/?$/, '/')));
  return (
    `(root = any(${bind([...new Set(around)])}::text[]) or ` +
    `exists (select 1 from unnest(${bind(inside)}::text[]) i where starts_with(root, i)))`
  );
}

function keysClause({ columns, schema, kinds, bind }: KeysFilter): string {
  const keys = bind(columns.map(indexKey));
  const touched = `seq in (select seq from ${schema}.touches where key = any(${keys}::text[]))`;
  const isIndexed = kinds?.every((kind) => INDEXED.has(kind)) ?? false;
  if (isIndexed) return touched;
  return `(${touched} or rtrim(root, '/') || '/' || path = any(${bind(columns)}::text[]))`;
}
