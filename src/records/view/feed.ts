import type { Entry } from '../../model/entry.ts';
import { defined } from '../../model/record.ts';
import type { EntryFilter, Store } from '../../store/store.ts';
import { refusalWords, whatOf } from '../entry-words.ts';
import { rootOfPath } from '../net-effects.ts';
import type { FeedFilter, FeedPage, FeedRow, FileRow } from './view-data.ts';

/**
 * The maximum number of entries read for one page, so that no request takes long. If few entries
 * match, a client needs several requests.
 */
const MAX_LOOKED_AT = 4000;

const BATCH = 1000;

/** An entry as one row of the viewer's list of events (the feed). */
export function feedRow(entry: Entry): FeedRow {
  const { seq, atMs, session, kind, path, code, change, turn, machine } = entry;
  return {
    seq,
    atMs,
    session,
    kind,
    what: kind === 'refusal' ? refusalWords(entry, [entry.action]) : whatOf(entry),
    ...(entry.action === 'undo' && kind === 'change' ? { undo: true as const } : {}),
    ...(entry.notices?.includes('destroyed') === true ? { destroyed: true as const } : {}),
    ...defined({ path, code, change, turn, machine }),
  };
}

/** True if an entry matches the parts of a filter that the store cannot apply. */
export function fitsFeed(entry: Entry, { path, code, turn }: FeedFilter): boolean {
  if (code !== undefined && entry.code !== code) return false;
  if (turn !== undefined && entry.turn !== turn) return false;
  if (path === undefined || path === '') return true;
  const part = path.toLowerCase();
  const names = [entry.path ?? '', ...(entry.effects ?? []).map(({ relative }) => relative)];
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
 * Returns a page of the feed (the viewer's list of events). Stops after about `MAX_LOOKED_AT`
 * entries. If few of them match the filter, the page may be short or empty although more entries
 * follow.
 */
export async function feedPage(store: Store, request: FeedRequest): Promise<FeedPage> {
  const { filter, limit } = request;
  const rows: FeedRow[] = [];
  let before = request.before;
  for (let looked = 0; looked < MAX_LOOKED_AT; ) {
    const wanted = isPlain(filter) ? limit - rows.length : BATCH;
    const batch = await store.entries(filterFor({ ...request, before, limit: wanted }));
    const fitting = batch.filter((entry) => fitsFeed(entry, filter)).slice(0, limit - rows.length);
    rows.push(...fitting.map(feedRow));
    if (rows.length >= limit) return { rows, next: fitting.at(-1)?.seq ?? 0 };
    if (batch.length < wanted) return { rows };
    before = batch.at(-1)?.seq;
    looked += batch.length;
  }
  return { rows, ...(before === undefined ? {} : { next: before }) };
}

function filterFor({ near, filter: { session, kinds }, before, limit }: FeedRequest): EntryFilter {
  return {
    ...near,
    ...defined({ session, kinds, beforeSeq: before }),
    limit,
  };
}

/** True if the store can apply the whole filter. */
function isPlain({ path, code, turn }: FeedFilter): boolean {
  return (path === undefined || path === '') && code === undefined && turn === undefined;
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

export function filesOf({
  kind,
  root,
  path,
  observed,
  effects = [],
}: Entry): { root: string; path: string }[] {
  if (kind === 'refusal')
    return path === undefined || isElsewhere(path) || observed === true ? [] : [{ root, path }];
  const files = effects.filter(({ before, after }) => before.kind === 'file' || after.kind === 'file');
  const byKey = new Map(files.map(({ key, relative }) => [key, relative]));
  return [...byKey].map(([key, relative]) => ({ root: rootOfPath(key, relative) ?? root, path: relative }));
}

/** True for an empty path, or a path outside the root. The entry of a refusal may have such a path. */
function isElsewhere(path: string): boolean {
  return path === '' || path.startsWith('/') || path.startsWith('..');
}
