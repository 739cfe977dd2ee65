import { selectionOf } from '../entries-query.ts';
import { ENTRY_COLUMNS } from '../entry-columns.ts';
import type { EntryFilter } from '../store.ts';
import type { PgValue } from './driver.ts';
import { indexKey, type Names } from './names.ts';

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
