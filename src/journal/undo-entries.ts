import type { Entry } from '../model/entry.ts';
import type { EntryFilter, Store } from '../store/store.ts';
import { UndoHistory } from './undo-history.ts';
import { selectChanges, type UndoTarget } from './undo-selection.ts';

const FIRST_PAGE = 100;

/** The entries that planUndo() needs for a target: all sessions' changes since the oldest one it may select. */
export async function entriesForUndo(store: Store, target: UndoTarget): Promise<readonly Entry[]> {
  if (target.kind === 'since') return store.entries({ kinds: ['change'], afterSeq: target.afterSeq });
  if (target.kind === 'last') {
    // Query both in one round trip: the first page nearly always contains the target.
    const [[any], page] = await Promise.all([
      store.entries(firstOf(target)),
      store.entries({ kinds: ['change'], limit: FIRST_PAGE }),
    ]);
    return any === undefined ? [] : pagesBackTo(store, target, page);
  }
  const [oldest] = await store.entries(firstOf(target));
  if (oldest === undefined) return [];
  return store.entries({ kinds: ['change'], afterSeq: oldest.seq - 1 });
}

/** The newest change that a target selects; undefined if there is nothing to undo. */
export async function newestSelected(store: Store, target: UndoTarget): Promise<Entry | undefined> {
  return selectChanges(new UndoHistory(await entriesForUndo(store, target)), target)[0]?.entry;
}

function firstOf(target: Exclude<UndoTarget, { readonly kind: 'since' }>): EntryFilter {
  const { kind, root, key } = target;
  const changes = { kinds: ['change'], root, order: 'oldest', limit: 1 } as const;
  if (kind === 'change') return { ...changes, change: target.change };
  return {
    ...changes,
    ...(target.session === undefined ? {} : { session: target.session }),
    ...(key === undefined ? {} : { key }),
    ...(kind === 'all' && target.sinceMs !== undefined ? { sinceMs: target.sinceMs } : {}),
  };
}

/** Fetches growing pages, newest first, until they contain the target. It is usually in the first. */
async function pagesBackTo(
  store: Store,
  target: UndoTarget,
  firstPage: readonly Entry[],
): Promise<readonly Entry[]> {
  const entries: Entry[] = [...firstPage];
  for (let [page, limit] = [firstPage, FIRST_PAGE]; ; ) {
    const last = entries.at(-1);
    const isEnough = page.length < limit || selectChanges(new UndoHistory(entries), target).length > 0;
    if (isEnough || last === undefined) return entries;
    limit *= 2;
    page = await store.entries({ kinds: ['change'], limit, beforeSeq: last.seq });
    entries.push(...page);
  }
}
