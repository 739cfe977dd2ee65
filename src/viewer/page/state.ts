import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type {
  EntryView,
  FeedFilter,
  FeedPage,
  FeedRow,
  FilePicture,
  FileRow,
  LiveView,
  Numbers,
  SessionRow,
  StartView,
  StateView,
  TurnDetail,
  TurnRow,
} from '../../records/view/view-data.ts';

/** The interval at which the page requests new entries. */
const POLL_MS = 1000;
/**
 * Maximum number of rows in the list. At this number, no older rows are fetched, and each new row
 * removes the oldest one.
 */
const MAX_ROWS = 20_000;
const TOKEN = /^[\w-]{43}$/;

export type Tab = 'activity' | 'turns' | 'files' | 'numbers';
type ViewerSelection =
  | { readonly kind: 'entry'; readonly seq: number }
  | { readonly kind: 'turn'; readonly seq: number }
  | { readonly kind: 'file'; readonly root: string; readonly path: string };

interface NumbersView {
  readonly numbers: Numbers;
  readonly state: StateView;
}

/** The content of the page's right side. */
export type Detail =
  | { readonly kind: 'entry'; readonly view: EntryView }
  | { readonly kind: 'turn'; readonly view: TurnDetail }
  | { readonly kind: 'file'; readonly view: FilePicture }
  | { readonly kind: 'failed'; readonly text: string };

export const start: Signal<StartView | undefined> = signal(undefined);
export const problemText: Signal<string | undefined> = signal(undefined);
export const live: Signal<boolean> = signal(false);
export const tab: Signal<Tab> = signal('activity');
export const rows: Signal<readonly FeedRow[]> = signal([]);
/** The position from which the server continues with older rows; undefined if there are none. */
export const older: Signal<number | undefined> = signal(undefined);
export const isSearching: Signal<boolean> = signal(false);
/** True if the last request for entries failed. The page repeats it when the server answers again. */
export const hasLoadFailed: Signal<boolean> = signal(false);
export const filter: Signal<FeedFilter> = signal({});
export const sessions: Signal<readonly SessionRow[]> = signal([]);
export const turns: Signal<readonly TurnRow[]> = signal([]);
/** True if the server may have turns that are older than those in `turns`. */
export const hasOlderTurns: Signal<boolean> = signal(false);
export const files: Signal<readonly FileRow[]> = signal([]);
export const selected: Signal<ViewerSelection | undefined> = signal(undefined);
export const detail: Signal<Detail | undefined> = signal(undefined);
export const countedText: Signal<NumbersView | undefined> = signal(undefined);

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
  const init: RequestInit =
    body === undefined
      ? {}
      : { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const answer = await fetch(`/api/${path}`, {
    ...init,
    headers: { ...init.headers, authorization: `Bearer ${token}` },
  });
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

let lists: Promise<void> | undefined;

/** Fetches turns and files once; `update` keeps them up to date. */
export function fetchLists(): Promise<void> {
  const fetchBoth = async (): Promise<void> => {
    await fetchTurns();
    files.value = await ask('files');
  };
  lists ??= fetchBoth().catch(() => {
    lists = undefined;
  });
  return lists;
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

async function follow(cursor: string): Promise<void> {
  for (let after = cursor; ; ) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    try {
      const { path } = filter.value;
      const query = new URLSearchParams({ after, ...(path === undefined ? {} : { path }) });
      const came = await ask<LiveView>(`live?${query}`);
      after = came.cursor;
      live.value = true;
      if (came.isCut === true) await reload();
      else addNew(came, path);
      noteOutdated(came.rows);
      await update();
      if (hasLoadFailed.value) await load(older.value);
      if (tab.value === 'numbers' && countedText.value === undefined) await countText();
    } catch {
      live.value = false;
    }
  }
}

/**
 * Adds new rows that match the filter. `matching`: the numbers of the rows that concern the path
 * `asked`, as the server has found.
 */
function addNew({ rows: came, matching = [] }: LiveView, asked: string | undefined): void {
  const { path, ...rest } = filter.value;
  const found = new Set(matching);
  // If the user has changed the filter's path meanwhile, `matching` does not apply. Then compare
  // only the path in the row.
  const concerns = (row: FeedRow): boolean =>
    path === asked ? path === undefined || found.has(row.seq) : fits(row, { path });
  const fitting = came.filter((row) => fits(row, rest) && concerns(row));
  const isKnown = new Set(rows.value.slice(0, came.length).map(({ seq }) => seq));
  rows.value = [...fitting.filter(({ seq }) => !isKnown.has(seq)), ...rows.value].slice(0, MAX_ROWS);
}

type Part = 'sessions' | 'turns' | 'files' | 'numbers' | 'detail';

/** The parts of the page that `update` must fetch again. A part stays here if the server does not answer. */
const outdated = new Set<Part>();

/** Notes the parts of the page that new entries concern. */
function noteOutdated(came: readonly FeedRow[]): void {
  const has = (...kinds: readonly FeedRow['kind'][]): boolean =>
    came.some(({ kind }) => kinds.includes(kind));
  const isNew = ({ session }: FeedRow): boolean => sessions.value.every(({ id }) => id !== session);
  if (has('session') || came.some(isNew)) outdated.add('sessions');
  if (has('turn', 'change')) outdated.add('turns');
  if (has('change', 'refusal')) outdated.add('files').add('numbers');
  const shown = detail.value;
  const concernsFile = shown?.kind === 'file' && has('change', 'read', 'refusal');
  const concernsTurn = shown?.kind === 'turn' && has('change');
  const concernsEntry = shown?.kind === 'entry' && shown.view.kind !== 'plain' && has('change', 'refusal');
  if (concernsFile || concernsTurn || concernsEntry) outdated.add('detail');
}

/** Fetches the outdated parts. Throws if the server does not answer; the next update then fetches the rest. */
async function update(): Promise<void> {
  for (const part of [...outdated]) {
    await fetchPart(part).catch(unlessUnanswered);
    outdated.delete(part);
  }
}

/**
 * Ignores an error that the server sent. If the server did not answer, the error is a TypeError of
 * `fetch`, and this function throws it again.
 */
function unlessUnanswered(error: unknown): void {
  if (error instanceof TypeError) throw error;
}

async function fetchPart(part: Part): Promise<void> {
  if (part === 'sessions') sessions.value = await ask('sessions');
  else if (part === 'turns') await fetchTurns();
  else if (part === 'files') files.value = await ask('files');
  else if (part === 'detail') await showAgain();
  else if (tab.value === 'numbers') await countAgain();
}

function fits(row: FeedRow, { session, kinds, path, code, turn }: FeedFilter): boolean {
  return (
    (session === undefined || row.session === session) &&
    (kinds === undefined || kinds.includes(row.kind)) &&
    (path === undefined || (row.path ?? '').toLowerCase().includes(path.toLowerCase())) &&
    (code === undefined || row.code === code) &&
    (turn === undefined || row.turn === turn)
  );
}

let request = 0;

/** Shows only the entries that match the filter. Parts of the filter that are not given stay as they are. */
export async function narrow(part: FeedFilter): Promise<void> {
  filter.value = Object.fromEntries(
    Object.entries({ ...filter.value, ...part }).filter(
      ([, value]) => value !== undefined && value.length > 0,
    ),
  );
  await reload();
}

/** Shows only the entries that match this filter, without any earlier filter. */
export function narrowTo(whole: FeedFilter): Promise<void> {
  filter.value = {};
  return narrow(whole);
}

async function reload(): Promise<void> {
  rows.value = [];
  older.value = undefined;
  await load(undefined);
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
      const page = await ask<FeedPage>(`feed?${queryOf(filter.value, next)}`);
      if (mine !== request) return;
      // While the request ran, `addNew` may have added rows that are also in its answer.
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

function queryOf({ kinds, ...rest }: FeedFilter, before: number | undefined): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) if (typeof value === 'string') query.set(name, value);
  for (const kind of kinds ?? []) query.append('kind', kind);
  if (before !== undefined) query.set('before', String(before));
  return query.toString();
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
  return `#/${what.kind}/${what.seq}`;
}

/** Text as a part of an address. A refused path may contain half of a surrogate pair, which cannot be encoded. */
function escaped(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'));
}

/** Shows the item that the address names. */
export async function followAddress(): Promise<void> {
  selected.value = selectedIn(location.hash);
  detail.value = undefined;
  await show();
}

function selectedIn(hash: string): ViewerSelection | undefined {
  const [, kind, first = '', second = ''] = hash.split('/');
  if (kind === 'file') return fileIn(first, second);
  if ((kind === 'entry' || kind === 'turn') && /^\d+$/.test(first)) return { kind, seq: Number(first) };
  return undefined;
}

/**
 * The file that the address names. Undefined if the user has altered the address so that its
 * escapes are invalid.
 */
function fileIn(root: string, path: string): ViewerSelection | undefined {
  try {
    return { kind: 'file', root: decodeURIComponent(root), path: decodeURIComponent(path) };
  } catch {
    return undefined;
  }
}

/** Fetches the selected item, even if it is shown already. */
export async function show(): Promise<void> {
  const what = selected.value;
  try {
    await showAgain();
  } catch {
    outdated.add('detail');
    if (selected.value === what) detail.value = { kind: 'failed', text: UNANSWERED };
  }
}

const UNANSWERED = 'The viewer does not answer. The page tries again.';

/** Fetches the selected item. If the server does not answer, throws and leaves the shown item as it is. */
async function showAgain(): Promise<void> {
  const what = selected.value;
  if (what === undefined) return;
  const found = await fetchDetail(what).catch((error: Error): Detail => {
    unlessUnanswered(error);
    return { kind: 'failed', text: error.message };
  });
  if (selected.value === what) detail.value = found;
}

async function fetchDetail(what: ViewerSelection): Promise<Detail> {
  if (what.kind === 'entry') return { kind: 'entry', view: await ask(`entry?seq=${what.seq}`) };
  if (what.kind === 'turn') return { kind: 'turn', view: await ask(`turn?seq=${what.seq}`) };
  const query = new URLSearchParams({ root: what.root, path: what.path });
  return { kind: 'file', view: await ask(`file?${query}`) };
}

/**
 * Fetches the content of the tab `numbers`. If that fails, keeps the earlier content, and `update`
 * tries again.
 */
export async function countText(): Promise<void> {
  await countAgain().catch(() => outdated.add('numbers'));
}

async function countAgain(): Promise<void> {
  countedText.value = await ask<NumbersView>('numbers');
}
