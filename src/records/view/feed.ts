import { byPath } from '../../model/delta.ts';
import { type ChangeEntry, deltasOf, type Entry, type EntryOf } from '../../model/entry.ts';
import { defined } from '../../model/record.ts';
import { isGitsOwn } from '../../report/git-files.ts';
import { type EntryFilter, type Store, walkEntries } from '../../store/store.ts';
import { refusalWords, whatOf } from '../entry-words.ts';
import { rootOfPath } from '../net-effects.ts';
import type { FeedFilter, FeedPage, FeedRow, FileRow } from './view-data.ts';

/**
 * The maximum number of entries read for one page, so that no request takes long. If few entries
 * match, a client needs several requests.
 */
const MAX_LOOKED_AT = 4000;
/** A command that removed the work of several sessions has one notice for each of them. At most this many are read. */
const MAX_NOTICES = 100;

/** An entry as one row of the viewer's list of events (the feed). */
export function feedRow(entry: Entry): FeedRow {
  const { seq, atMs, session, kind, change, turn, machine } = entry;
  // A change of several files is described by their number, so its row has no path.
  const isMany = entry.kind === 'change' && entry.action !== 'move' && filesOf(entry).length > 1;
  const path = isMany ? undefined : entry.path;
  const code = entry.kind === 'refusal' ? entry.code : undefined;
  return {
    seq,
    atMs,
    session,
    kind,
    what: entry.kind === 'refusal' ? refusalWords(entry, [entry.action]) : whatOf(entry),
    ...(entry.action === 'undo' && kind === 'change' ? { undo: true as const } : {}),
    ...defined({ path, code, change, turn, machine }),
  };
}

/** True for the notice to a session that its command removed what nothing else held. */
export function isLoss(entry: Entry): entry is EntryOf<'notice'> {
  return entry.kind === 'notice' && entry.loss === 'caused';
}

/** The notice about what the command of a change removed that nothing else held. */
export async function lossBy(
  store: Store,
  { action, change }: ChangeEntry,
): Promise<EntryOf<'notice'> | undefined> {
  if (action !== 'run') return undefined;
  const notices = await store.entries({ change, kinds: ['notice'], limit: MAX_NOTICES });
  return notices.find(isLoss);
}

/** The row of a change that destroyed what is kept. */
export function destroyedRow(entry: Entry): FeedRow {
  return { ...feedRow(entry), destroyed: true };
}

/** True if an entry matches the parts of a filter that the store cannot apply. */
export function fitsFeed(entry: Entry, { path, code, turn }: FeedFilter): boolean {
  if (code !== undefined && !(entry.kind === 'refusal' && entry.code === code)) return false;
  if (turn !== undefined && entry.turn !== turn) return false;
  if (path === undefined) return true;
  const part = path.toLowerCase();
  const names = [entry.path ?? '', ...byPath(deltasOf(entry)).map(({ relative }) => relative)];
  return names.some((name) => name.toLowerCase().includes(part));
}

interface FeedRequest {
  /** The workspaces to include. */
  readonly near: Pick<EntryFilter, 'near'>;
  readonly filter: FeedFilter;
  /** Return only entries older than this number. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/**
 * Returns a page of the feed (the viewer's list of events). Stops after `MAX_LOOKED_AT` entries. If
 * few of them match the filter, the page may be short or empty although more entries follow.
 */
export async function feedPage(
  store: Store,
  { near, filter, before, limit }: FeedRequest,
): Promise<FeedPage> {
  const { session, kinds, path, code, turn } = filter;
  // If the store can apply the whole filter, every entry matches.
  const isPlain = [path, code, turn].every((each) => each === undefined);
  const looked = isPlain ? limit : MAX_LOOKED_AT;
  const rows: FeedRow[] = [];
  const query = { ...near, ...defined({ session, kinds, beforeSeq: before }), limit: looked };
  let [count, last] = [0, 0];
  for await (const entry of walkEntries(store, query)) {
    count += 1;
    last = entry.seq;
    // Leave out notices of losses: the row of the change shows them.
    if (!fitsFeed(entry, filter) || isLoss(entry)) continue;
    const loss = entry.kind === 'change' ? await lossBy(store, entry) : undefined;
    rows.push(loss === undefined ? feedRow(entry) : destroyedRow(entry));
    if (rows.length >= limit) break;
  }
  return { rows, ...(count < looked && rows.length < limit ? {} : { next: last }) };
}

/**
 * Changes and refusals, newest first. `limit` applies to each of the two. Each is read from its own
 * index, and in pages, so that other requests are answered in between.
 */
export async function* changesAndRefusals(
  store: Store,
  filter: Omit<EntryFilter, 'kinds'>,
): AsyncGenerator<Entry> {
  const walks = (['change', 'refusal'] as const).map((kind) =>
    walkEntries(store, { ...filter, kinds: [kind] }),
  );
  let [change, refusal] = await Promise.all(walks.map((walk) => walk.next()));
  const [changes, refusals] = walks;
  while (change?.done === false || refusal?.done === false) {
    const isChange = (change?.value?.seq ?? 0) > (refusal?.value?.seq ?? 0);
    yield (isChange ? change : refusal)?.value as Entry;
    if (isChange) change = await changes?.next();
    else refusal = await refusals?.next();
  }
}

/**
 * The files of changes and refusals, the most recently touched first. `entries` must be sorted
 * newest first. Refusals that were only recorded (`mode: observe`) are left out.
 */
export function fileRows(entries: readonly Entry[]): FileRow[] {
  const files = new Map<string, { -readonly [K in keyof FileRow]: FileRow[K] }>();
  for (const entry of entries) {
    for (const { root, path } of filesOf(entry)) {
      const key = `${root}\0${path}`;
      const file = files.get(key) ?? { root, path, changes: 0, refusals: 0, lastMs: entry.atMs, writers: [] };
      files.set(key, file);
      if (entry.kind === 'refusal') file.refusals += 1;
      else {
        file.changes += 1;
        if (!file.writers.includes(entry.session)) file.writers = [...file.writers, entry.session];
      }
    }
  }
  return [...files.values()];
}

export function filesOf(entry: Entry): { root: string; path: string }[] {
  const { root, path } = entry;
  if (entry.kind === 'refusal')
    return path === undefined || ELSEWHERE.test(path) || entry.observed === true ? [] : [{ root, path }];
  const files = byPath(deltasOf(entry)).filter(
    ({ relative, before, after }) =>
      (before.kind === 'file' || after.kind === 'file') && !isGitsOwn(relative),
  );
  const byKey = new Map(files.map(({ key, relative }) => [key, relative]));
  return [...byKey].map(([key, relative]) => ({ root: rootOfPath(key, relative) ?? root, path: relative }));
}

/** Matches an empty path, and a path outside the root. The entry of a refusal may have such a path. */
const ELSEWHERE = /^(?:$|\/|\.\.)/;
