import type { Entry } from '../model/entry.ts';
import type { EntryFilter, Store } from '../store/store.ts';

const PAGE = 1000;

/** Yields all matching entries, fetched in pages, so that a long journal is never in memory as a whole. */
export async function* walkEntries(store: Store, filter: EntryFilter): AsyncGenerator<Entry> {
  let left = filter.limit ?? Infinity;
  let page = filter;
  while (left > 0) {
    const wanted = Math.min(PAGE, left);
    const entries = await store.entries({ ...page, limit: wanted });
    yield* entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < wanted) return;
    left -= entries.length;
    page = filter.order === 'oldest' ? { ...page, afterSeq: last.seq } : { ...page, beforeSeq: last.seq };
  }
}
