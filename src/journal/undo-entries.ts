import type { Entry } from '../model/entry.ts';
import type { EntryFilter, Store } from '../store/store.ts';
import { UndoHistory } from './undo-history.ts';
import { selectChanges, type UndoTarget } from './undo-selection.ts';

const FIRST_PAGE = 100;

/** The entries planUndo() needs for a target: all changes, of everyone, since the oldest one it may select. */
export async function entriesForUndo(store: Store, target: UndoTarget): Promise<readonly Entry[]> {
  if (target.kind === 'since') return store.entries({ kinds: ['change'], afterSeq: target.afterSeq });
  const [oldest] = await store.entries(firstOf(target));
  if (oldest === undefined) return [];
  if (target.kind === 'last') return pagesBackTo(store, target);
  return store.entries({ kinds: ['change'], afterSeq: oldest.seq - 1 });
}

/** The newest change a target selects; undefined if there is nothing to take back. */
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

/** Back from the newest change, in growing pages, until the target is among them: it mostly is among the first. */
async function pagesBackTo(store: Store, target: UndoTarget): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (let limit = FIRST_PAGE; ; limit *= 2) {
    const last = entries.at(-1);
    const page = await store.entries({
      kinds: ['change'],
      limit,
      ...(last === undefined ? {} : { beforeSeq: last.seq }),
    });
    entries.push(...page);
    if (page.length < limit || selectChanges(new UndoHistory(entries), target).length > 0) return entries;
  }
}
