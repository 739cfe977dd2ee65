import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { EntryKind } from '../../model/entry.ts';
import type {
  DetailView,
  FeedFilter,
  FeedPage,
  FeedRow,
  FilePicture,
  FileRow,
  LineCount,
  LiveView,
  Saves,
  SessionRow,
  StartView,
  TurnRow,
} from '../../records/view/view-data.ts';

/** The interval at which the page asks for new entries. */
const POLL_MS = 1000;
/** Maximum number of rows in the list. At this number, no older rows are fetched. */
const MAX_ROWS = 20_000;
const TOKEN = /^[\w-]{43}$/;

export type Tab = 'activity' | 'turns' | 'files' | 'saves';
export type ViewerSelection =
  | { readonly kind: 'entry'; readonly seq: number }
  | { readonly kind: 'file'; readonly root: string; readonly path: string };

/** The content of the page's right side. */
type Detail =
  | { readonly kind: 'entry'; readonly view: DetailView }
  | { readonly kind: 'file'; readonly view: FilePicture }
  | { readonly kind: 'failed'; readonly text: string };

export const start: Signal<StartView | undefined> = signal(undefined);
export const problemText: Signal<string | undefined> = signal(undefined);
export const live: Signal<boolean> = signal(false);
export const tab: Signal<Tab> = signal('activity');
export const rows: Signal<readonly FeedRow[]> = signal([]);
/** The position from which the server continues with older rows; undefined if there are none. */
const older: Signal<number | undefined> = signal(undefined);
export const isSearching: Signal<boolean> = signal(false);
/** True if the last request for entries failed. The page repeats it when the server answers again. */
export const hasLoadFailed: Signal<boolean> = signal(false);
export const filter: Signal<FeedFilter> = signal({});
export const sessions: Signal<readonly SessionRow[]> = signal([]);
export const turns: Signal<readonly TurnRow[]> = signal([]);
/** True if the server may have turns that are older than those in `turns`. */
export const hasOlderTurns: Signal<boolean> = signal(false);
export const files: Signal<readonly FileRow[] | undefined> = signal(undefined);
export const saves: Signal<Saves | undefined> = signal(undefined);
export const knownCounts: Signal<Readonly<Record<number, LineCount>>> = signal({});
export const selected: Signal<ViewerSelection | undefined> = signal(undefined);
export const detail: Signal<Detail | undefined> = signal(undefined);
/** The number of unchanged lines around each hunk of the shown diffs; undefined means a few. */
export const contextLines: Signal<number | undefined> = signal(undefined);

const HUES = [221, 158, 28, 276, 338, 190, 52, 300, 8, 120];
const places = new Map<string, number>();

/**
 * The hue in which the page shows a session; it stays the same while the page is open. Undefined
 * for undos by users, which are grey.
 */
export function hueOf(session: string): number | undefined {
  if (session === 'command-line' || session.startsWith('viewer')) return undefined;
  const place = places.get(session) ?? places.size;
  places.set(session, place);
  return HUES[place % HUES.length];
}

export const isFiltered: ReadonlySignal<boolean> = computed(() =>
  Object.values(filter.value).some((value) => value !== undefined && value.length > 0),
);

let token = '';

/**
 * Takes the token from the address, or exchanges the one-time code in the address for a token.
 * Removes both from the address, so that no history or bookmark holds them. Returns false if there
 * is no token.
 */
export async function takeToken(): Promise<boolean> {
  const given = location.hash.slice(1);
  const [, code] = /^open-([\w-]{43})$/.exec(given) ?? [];
  if (TOKEN.test(given) || code !== undefined) history.replaceState(null, '', '/');
  if (TOKEN.test(given)) sessionStorage.setItem('token', given);
  else if (code !== undefined) {
    const { token: granted } = await ask<{ readonly token: string }>('enter', { code });
    sessionStorage.setItem('token', granted);
  }
  token = sessionStorage.getItem('token') ?? '';
  return token !== '';
}

export async function ask<T>(path: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const answer = await fetch(`/api/${path}`, { ...init, headers });
  const value: unknown = await answer.json();
  // Status 409 is an answer too: an undo that was refused, with the reason.
  if (answer.ok || answer.status === 409) return value as T;
  if (answer.status === 401) problemText.value = 'no-token';
  const { error } = value as { readonly error?: string };
  throw new Error(error ?? `the server answered ${answer.status}`);
}

export async function begin(): Promise<void> {
  const first = await ask<StartView>('start');
  for (const { id } of [...first.sessions].sort((a, b) => a.id.localeCompare(b.id))) hueOf(id);
  batch(() => {
    start.value = first;
    rows.value = first.feed.rows;
    older.value = first.feed.next;
    sessions.value = first.sessions;
    live.value = true;
  });
  void follow(first.cursor);
}

async function follow(cursor: string): Promise<void> {
  for (let after = cursor; ; ) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    try {
      const came = await ask<LiveView>(`live?${new URLSearchParams({ after })}`);
      after = came.cursor;
      for (const kind of came.kinds) {
        for (const part of ['feed', 'sessions', ...(CONCERNED[kind] ?? [])] as const) outdated.add(part);
      }
      live.value = true;
      if (hasLoadFailed.value) await load(older.value);
      await update();
    } catch {
      live.value = false;
    }
  }
}

/** The parts of the page that are fetched from the server. */
type Part = 'feed' | 'sessions' | 'turns' | 'files' | 'saves' | 'detail';

/** The parts that entries of a kind change, besides the list of entries and the sessions. */
const CONCERNED: Partial<Readonly<Record<EntryKind, readonly Part[]>>> = {
  change: ['turns', 'files', 'saves', 'detail'],
  notice: ['saves', 'detail'],
  refusal: ['files', 'saves', 'detail'],
  read: ['detail'],
  turn: ['turns'],
};

/** The parts that must be fetched again. A part stays here until the server has answered. */
const outdated = new Set<Part>();

/** Fetches outdated parts, except lists that are not shown. Throws if the server does not answer. */
async function update(): Promise<void> {
  for (const part of [...outdated]) {
    if ((part === 'files' || part === 'saves') && tab.value !== part) continue;
    await FETCH[part]().catch(unlessUnanswered);
    outdated.delete(part);
  }
}

/** Fetches parts of the page now. If the server does not answer, the page tries again. */
export async function refresh(...parts: readonly Part[]): Promise<void> {
  for (const part of parts) outdated.add(part);
  await update().catch(() => {});
}

const FETCH: Readonly<Record<Part, () => Promise<void>>> = {
  feed: fetchNewest,
  sessions: async () => {
    sessions.value = await ask('sessions');
  },
  turns: fetchTurns,
  files: async () => {
    files.value = await ask('files');
  },
  saves: async () => {
    saves.value = await ask('saves');
  },
  detail: fetchDetail,
};

/**
 * Ignores an error that the server sent. If the server did not answer, the error is a TypeError of
 * `fetch`, and this function throws it again.
 */
function unlessUnanswered(error: unknown): void {
  if (error instanceof TypeError) throw error;
}

/** The server sends at most this many turns at once. */
const TURNS_AT_ONCE = 20;

/** Fetches the newest turns, and keeps the older ones that are shown. */
async function fetchTurns(): Promise<void> {
  const newest = await ask<readonly TurnRow[]>('turns');
  const last = newest.at(-1)?.seq ?? 0;
  const kept = newest.length < TURNS_AT_ONCE ? [] : turns.value.filter(({ seq }) => seq < last);
  if (kept.length === 0) hasOlderTurns.value = newest.length === TURNS_AT_ONCE;
  turns.value = [...newest, ...kept];
}

export async function loadOlderTurns(): Promise<void> {
  const came = await ask<readonly TurnRow[]>(`turns?before=${turns.value.at(-1)?.seq ?? 0}`);
  hasOlderTurns.value = came.length === TURNS_AT_ONCE;
  turns.value = [...turns.value, ...came];
}

let request = 0;

/** Shows only the entries that match the filter. Parts of the filter that are not given stay as they are. */
export async function narrow(part: FeedFilter): Promise<void> {
  filter.value = Object.fromEntries(
    Object.entries({ ...filter.value, ...part }).filter(
      ([, value]) => value !== undefined && value.length > 0,
    ),
  );
  rows.value = [];
  older.value = undefined;
  await load(undefined);
}

/** Shows the entries that match this filter in the list of all entries, without any earlier filter. */
export function narrowTo(whole: FeedFilter): Promise<void> {
  tab.value = 'activity';
  filter.value = {};
  return narrow(whole);
}

/** Fetches the newest rows, and keeps the older ones that are shown if no row between them is missing. */
async function fetchNewest(): Promise<void> {
  const mine = request;
  const page = await askFeed(undefined);
  // The user has changed the filter meanwhile.
  if (mine !== request) return;
  const last = page.rows.at(-1)?.seq ?? 0;
  const kept = rows.value.filter(({ seq }) => seq < last);
  const isWhole = page.next === undefined || (rows.value[0]?.seq ?? 0) >= last;
  batch(() => {
    rows.value = [...page.rows, ...(isWhole ? kept : [])].slice(0, MAX_ROWS);
    if (!isWhole || kept.length === 0) older.value = page.next;
  });
}

/**
 * Fetches at least a hundred older rows, or all that are left. Does nothing while rows are being
 * fetched, or if the list is full.
 */
export async function loadOlder(): Promise<void> {
  if (!isSearching.value && older.value !== undefined && rows.value.length < MAX_ROWS)
    await load(older.value);
}

async function load(before: number | undefined): Promise<void> {
  request += 1;
  const mine = request;
  isSearching.value = true;
  hasLoadFailed.value = false;
  try {
    const wanted = rows.value.length + 100;
    for (let next = before; ; ) {
      const page = await askFeed(next);
      if (mine !== request) return;
      // While the request ran, `fetchNewest` may have added rows that are also in its answer.
      const isKnown = new Set(rows.value.map(({ seq }) => seq));
      rows.value = [...rows.value, ...page.rows.filter(({ seq }) => !isKnown.has(seq))];
      older.value = page.next;
      next = page.next;
      if (next === undefined || rows.value.length >= wanted) return;
    }
  } catch {
    if (mine === request) hasLoadFailed.value = true;
  } finally {
    if (mine === request) isSearching.value = false;
  }
}

function askFeed(before: number | undefined): Promise<FeedPage> {
  const { kinds, ...rest } = filter.value;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) if (typeof value === 'string') query.set(name, value);
  for (const kind of kinds ?? []) query.append('kind', kind);
  if (before !== undefined) query.set('before', String(before));
  return ask(`feed?${query}`);
}

const asked = new Set<number>();

/** Fetches the numbers of lines that changes added and removed, once for each change. */
export async function fetchCounts(changes: readonly number[]): Promise<void> {
  const wanted = changes.filter((seq) => !asked.has(seq)).slice(0, 100);
  if (wanted.length === 0) return;
  for (const seq of wanted) asked.add(seq);
  try {
    const came = await ask<Readonly<Record<number, LineCount>>>(
      `counts?${wanted.map((seq) => `seq=${seq}`).join('&')}`,
    );
    knownCounts.value = { ...knownCounts.value, ...came };
    await fetchCounts(changes);
  } catch {
    for (const seq of wanted) asked.delete(seq);
  }
}

/** Shows another list. The lists of files and saves are fetched when they are shown. */
export function showTab(name: Tab): void {
  tab.value = name;
  if (name === 'files' || name === 'saves') void refresh(name);
}

/** Opens an item on the page's right side. The address names the item, so that the browser's back button works. */
export function open(what: ViewerSelection): void {
  location.hash = pageAddress(what);
}

export function closeDetail(): void {
  location.hash = '#/';
}

export function pageAddress(what: ViewerSelection): string {
  if (what.kind === 'file') return `#/file/${escaped(what.root)}/${escaped(what.path)}`;
  return `#/entry/${what.seq}`;
}

/** Text as a part of an address. A refused path may contain half of a surrogate pair, which cannot be encoded. */
function escaped(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'));
}

/** Shows the item that the address names. */
export async function followAddress(): Promise<void> {
  batch(() => {
    selected.value = selectedIn(location.hash);
    detail.value = undefined;
    contextLines.value = undefined;
  });
  // Saves has no room for details, so its links lead to the list that has the item.
  if (selected.value !== undefined && tab.value === 'saves')
    showTab(selected.value.kind === 'file' ? 'files' : 'activity');
  await show();
}

function selectedIn(hash: string): ViewerSelection | undefined {
  const [, kind, first = '', second = ''] = hash.split('/');
  if (kind === 'entry' && /^\d+$/.test(first)) return { kind, seq: Number(first) };
  if (kind !== 'file') return undefined;
  try {
    return { kind, root: decodeURIComponent(first), path: decodeURIComponent(second) };
  } catch {
    // The user has altered the address so that its escapes are invalid.
    return undefined;
  }
}

/** Fetches the selected item, even if it is shown already. */
export async function show(): Promise<void> {
  const what = selected.value;
  try {
    await fetchDetail();
  } catch {
    outdated.add('detail');
    const text = 'The viewer does not answer. The page tries again.';
    if (selected.value === what) detail.value = { kind: 'failed', text };
  }
}

/** Fetches the selected item. If the server does not answer, throws and leaves the shown item as it is. */
async function fetchDetail(): Promise<void> {
  const what = selected.value;
  if (what === undefined) return;
  const found = await askDetail(what).catch((error: Error): Detail => {
    unlessUnanswered(error);
    return { kind: 'failed', text: error.message };
  });
  if (selected.value === what) detail.value = found;
}

async function askDetail(what: ViewerSelection): Promise<Detail> {
  if (what.kind === 'file') {
    const query = new URLSearchParams({ root: what.root, path: what.path });
    return { kind: 'file', view: await ask(`file?${query}`) };
  }
  const context = contextLines.value === undefined ? '' : `&context=${contextLines.value}`;
  return { kind: 'entry', view: await ask(`entry?seq=${what.seq}${context}`) };
}
