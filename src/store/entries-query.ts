import { ancestorsOf, column, INDEXED } from './entry-columns.ts';
import type { EntryFilter } from './store.ts';

/** How one database spells a query for entries. */
interface QueryDialect<Value> {
  readonly placeholder: '?' | '$';
  readonly touches: string;
  /** The value to bind for a list of texts. */
  list(texts: readonly string[]): string | Value;
  /** The condition that a column has one of the texts in a bound list. */
  isOneOf(column: string, list: string): string;
  /** The condition that the root begins with one of the texts in a bound list. */
  beginsWithOneOf(list: string): string;
  /** The condition on kinds, so that the database uses the best index. `bound`: the condition for a bound list. */
  ofKinds(filter: EntryFilter, kinds: readonly string[], bound: () => string): string;
  /** The stored form of a path. */
  stored(path: string): string;
  /** The form of a stored path in the table `touches`. */
  readonly indexed: (text: string) => string;
  /** Roots inside a folder that are not stored under their paths. */
  rootsBelow(folder: string): readonly string[];
}

/** The part of a query for entries after `from`, and its values. `number`: the column with the numbers. */
export function selectionOf<Value>(
  filter: EntryFilter,
  dialect: QueryDialect<Value>,
  number = 'seq',
): { readonly text: string; readonly values: (string | number | Value)[] } {
  const { stored } = dialect;
  const values: (string | number | Value)[] = [];
  const clauses: string[] = [];
  const bind = (value: string | number | Value): string => `${dialect.placeholder}${values.push(value)}`;
  const isOneOf = (name: string, texts: readonly string[]): string =>
    dialect.isOneOf(name, bind(dialect.list(texts)));
  const compare = (test: string, value: string | number | undefined): void => {
    if (value !== undefined)
      clauses.push(`${test} ${bind(typeof value === 'string' ? column(value) : value)}`);
  };
  compare('chain =', filter.chain);
  compare('session =', filter.session);
  compare('root =', filter.root === undefined ? undefined : stored(filter.root));
  compare('change =', filter.change);
  compare('change >=', filter.changePrefix);
  compare('change <', filter.changePrefix === undefined ? undefined : `${filter.changePrefix}~`);
  compare('at_ms >=', filter.sinceMs);
  compare('at_ms <=', filter.untilMs);
  compare(`${number} >`, filter.afterSeq);
  compare(`${number} <`, filter.beforeSeq);
  const { committed, kinds, near } = filter;
  if (committed !== undefined)
    clauses.push(`tx >= ${bind(committed.from)}::text::xid8 and tx < ${bind(committed.to)}::text::xid8`);
  if (kinds !== undefined) clauses.push(dialect.ofKinds(filter, kinds, () => isOneOf('kind', kinds)));
  if (near !== undefined) {
    // A root with a workspace name is stored under that name, not under its path. A search by the
    // path of a folder would miss named roots in it, so add them.
    const named = near.flatMap((folder) => dialect.rootsBelow(folder));
    const around = [...near.flatMap(ancestorsOf), ...named].map((path) => column(stored(path)));
    const inside = [...near, ...named].map((path) => column(stored(path).replace(/\/?$/, '/')));
    const within = dialect.beginsWithOneOf(bind(dialect.list(inside)));
    clauses.push(`(${isOneOf('root', [...new Set(around)])} or ${within})`);
  }
  const addKeys = (paths: readonly string[]): void => {
    const keys = paths.map((path) => column(stored(path)));
    const listed = isOneOf('key', keys.map(dialect.indexed));
    const touched = `seq in (select seq from ${dialect.touches} where ${listed})`;
    const isListed = kinds?.every((kind) => INDEXED.has(kind)) ?? false;
    clauses.push(isListed ? touched : `(${touched} or ${isOneOf("rtrim(root, '/') || '/' || path", keys)})`);
  };
  if (filter.key !== undefined) addKeys([filter.key]);
  if (filter.keys !== undefined) addKeys(filter.keys);
  const where = clauses.length === 0 ? '' : ` where ${clauses.join(' and ')}`;
  const order = filter.order === 'oldest' ? 'asc' : 'desc';
  const limit = filter.limit === undefined ? '' : ` limit ${bind(filter.limit)}`;
  return { text: `${where} order by ${number} ${order}${limit}`, values };
}
