import { computed, type Signal, signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { EntryKind } from '../../model/entry.ts';
import type { FeedRow, TurnRow } from '../../records/view/view-data.ts';
import { refusedWord } from '../../records/view/view-words.ts';
import { countOf } from '../../report/amounts.ts';
import {
  ageOf,
  dayWord,
  html,
  kindMark,
  lineCounts,
  narrowPage,
  pathSpan,
  safe,
  sessionName,
  timeOfDay,
  tint,
  Windowed,
  who,
} from './html.ts';
import {
  ask,
  fetchCounts,
  files,
  filter,
  hasLoadFailed,
  hasOlderTurns,
  isFiltered,
  isSearching,
  knownCounts,
  loadOlder,
  loadOlderTurns,
  narrow,
  narrowTo,
  pageAddress,
  rows,
  selected,
  start,
  turns,
  type ViewerSelection,
} from './state.ts';

const ROW = 32;
const KINDS: readonly (readonly [EntryKind, string])[] = [
  ['change', 'Changes'],
  ['refusal', 'Refusals'],
  ['read', 'Reads'],
];
const SEARCH_AFTER_MS = 250;

/** Neighbouring entries in which one session did the same with one file, or read files. Newest first. */
type Run = readonly FeedRow[];

/** The prompt above the entries of its turn. */
type Heading = Pick<TurnRow, 'seq' | 'session' | 'words'>;

/** One line of the list: the name of a day, a prompt, a run, or an entry of an open run. */
interface Item {
  readonly key: string;
  readonly entries: Run;
  readonly line: () => VNode;
}

/** Kinds of entries that can join a run. */
const JOINED: ReadonlySet<EntryKind> = new Set(['change', 'read', 'refusal']);

/** The oldest entry of each run that the user has opened. */
const openRuns: Signal<ReadonlySet<number>> = signal(new Set());

function runsOf(all: readonly FeedRow[]): readonly Run[] {
  const runs: FeedRow[][] = [];
  const doing = ({ kind, what, session, path, turn, undo, atMs }: FeedRow): string =>
    // Reads join, whatever they read.
    JSON.stringify([kind, session, turn, dayWord(atMs), ...(kind === 'read' ? [] : [what, path, undo])]);
  for (const row of all) {
    const last = runs.at(-1);
    const canJoin = JOINED.has(row.kind) && row.path !== undefined;
    if (canJoin && last?.[0] !== undefined && doing(last[0]) === doing(row)) last.push(row);
    else runs.push([row]);
  }
  return runs;
}

/**
 * The lines of the list, newest first. A day begins with its date, unless it is today. A turn begins
 * with its prompt, so the entry of the prompt itself is left out.
 */
const items = computed<readonly Item[]>(() => {
  const prompts = promptsOf(rows.value, turns.value);
  let day = 'Today';
  return runsOf(rows.value).flatMap((run): Item[] => {
    const [row] = run;
    if (row === undefined) return [];
    const heads: Item[] = [];
    const isNewDay = dayWord(row.atMs) !== day;
    day = dayWord(row.atMs);
    if (isNewDay) heads.push(headOf(day, html`<h2 class="day dim">${day}</h2>`));
    const prompt = prompts.get(turnName(row));
    if (prompt !== undefined) heads.push(headOf(`prompt ${prompt.seq}`, promptLine(prompt)));
    prompts.delete(turnName(row));
    return row.kind === 'turn' ? heads : [...heads, ...linesOf(run)];
  });
});

function headOf(key: string, line: VNode): Item {
  return { key, entries: [], line: () => line };
}

function linesOf(run: Run): Item[] {
  const [row] = run;
  const oldest = run.at(-1)?.seq ?? 0;
  const each =
    (name: string) =>
    (entry: FeedRow): Item => ({
      key: `${entry.seq}${name}`,
      entries: [entry],
      line: () => entryLine(entry, name),
    });
  if (row === undefined || run.length === 1) return run.map(each(''));
  const opened = openRuns.value.has(oldest) ? run.map(each(' inner')) : [];
  return [{ key: `run ${oldest}`, entries: run, line: () => runLine(row, run) }, ...opened];
}

/** Sub-agents work in the turn of their parent, whose id is the first part of theirs. */
function turnName({ session, turn }: { readonly session: string; readonly turn?: string }): string {
  return JSON.stringify([session.split('/')[0], turn]);
}

function promptsOf(entries: readonly FeedRow[], known: readonly TurnRow[]): Map<string, Heading> {
  const begun = entries.filter(({ kind, session }) => kind === 'turn' && !session.includes('/'));
  const shown = begun.map((row) => ({ ...row, words: row.what.replace(/^turn: /, '') }));
  return new Map<string, Heading>([...shown, ...known].map((turn) => [turnName(turn), turn]));
}

export function Feed(): VNode {
  const all = items.value;
  const now = selected.value;
  const seq = now?.kind === 'entry' ? now.seq : undefined;
  const at = all.findIndex(({ entries }) => entries.some((row) => row.seq === seq));
  const isEmpty = all.length === 0 && !isSearching.value && !hasLoadFailed.value;
  const line = (i: number): VNode | null => {
    const item = all[i];
    return item === undefined
      ? null
      : html`<li key=${item.key} aria-setsize=${all.length} aria-posinset=${i + 1}>${item.line()}</li>`;
  };
  return html`<${Filters} />
    ${hasLoadFailed.value ? html`<p class="dim pad" role="status">Entries could not be loaded, because the viewer does not answer. The page tries again.</p>` : null}
    ${isEmpty && isFiltered.value ? html`<p class="dim pad">No entry matches this filter.</p>` : isEmpty ? html`<${Empty} />` : null}
    <${Windowed} label="Entries, newest first" class="feed" count=${all.length} rowHeight=${ROW} at=${at < 0 ? undefined : at} item=${at < 0 ? undefined : seq} onEnd=${() => void loadOlder()} onShow=${countShown} row=${line} />
    ${isSearching.value ? html`<p class="dim pad" role="status">searching older entries…</p>` : null}`;
}

/** Asks for the numbers of lines of the changes that are visible. */
function countShown(first: number, last: number): void {
  const shown = items.value.slice(first, last).flatMap(({ entries }) => entries);
  void fetchCounts(shown.flatMap(({ kind, seq }) => (kind === 'change' ? [seq] : [])));
}

/** The state of the demo: `playing`, or why it could not be played. */
const demoState: Signal<string | undefined> = signal(undefined);

/** The page for an empty journal: the next command, and the demo. */
function Empty(): VNode {
  const state = demoState.value;
  const isPlaying = state === 'playing';
  const words = state ?? 'Two agents, refusals, a merge and an undo, in a temporary folder.';
  return html`<div class="empty pad"><p>Nothing is recorded here yet. It appears as soon as a session reads or changes a file.</p>
    <p>Connect your agent:</p><pre class="banner"><code>lookfirst init claude-code --hooks</code></pre><p class="dim">or codex, gemini, cursor, vscode, opencode</p>
    ${start.value?.canDemo === true ? html`<button type="button" disabled=${isPlaying} onClick=${() => void playDemo()}>Play a demo</button><p class="dim" role="status">${isPlaying ? 'Playing. This takes a few seconds.' : words}</p>` : null}</div>`;
}

async function playDemo(): Promise<void> {
  demoState.value = 'playing';
  try {
    const { url } = await ask<{ readonly url: string }>('demo', {});
    location.href = url;
  } catch (error) {
    demoState.value = `The demo could not be played: ${(error as Error).message}`;
  }
}

/** A link that opens an item. It is marked while the item is open. */
function itemLink(name: string, what: ViewerSelection, session: string | undefined, content: unknown): VNode {
  const href = pageAddress(what);
  const isOn = selected.value !== undefined && pageAddress(selected.value) === href;
  return html`<a class=${`${name}${isOn ? ' on' : ''}`} href=${href} aria-current=${isOn ? 'true' : undefined} style=${session === undefined ? {} : tint(session)} onKeyDown=${moveFocus}>${content}</a>`;
}

function promptLine({ seq, session, words }: Heading): VNode {
  const content = html`${kindMark({ kind: 'turn' })}${who(session)}<span class="what clip" title=${safe(words)}>${safe(words)}</span>`;
  return itemLink('row turn', { kind: 'entry', seq }, session, content);
}

function entryLine(row: FeedRow, name: string): VNode {
  const line = lineOf(row, wordsOf(row), [row]);
  return itemLink(`row ${row.kind}${name}`, { kind: 'entry', seq: row.seq }, row.session, line);
}

/** A run of entries as one row, which shows or hides them. */
function runLine(row: FeedRow, run: Run): VNode {
  const oldest = run.at(-1)?.seq ?? 0;
  const isOpen = openRuns.value.has(oldest);
  const toggle = (): void => {
    const others = [...openRuns.value].filter((seq) => seq !== oldest);
    openRuns.value = new Set(isOpen ? others : [...others, oldest]);
  };
  return html`<button type="button" class=${`row run ${row.kind}`} aria-expanded=${isOpen} style=${tint(row.session)} onClick=${toggle} onKeyDown=${moveFocus}>${lineOf(row, whatOfRun(row, run), run)}</button>`;
}

/** Describes a run of similar entries: `3 edits of`, `read 3 files`, or `3 × not read` for refusals. */
function whatOfRun(row: FeedRow, run: Run): string {
  const files = new Set(run.map(({ path }) => path)).size;
  if (files > 1) return `read ${countOf(files, 'file')}`;
  if (row.kind === 'refusal') return `${run.length} × ${wordsOf(row)}`;
  const doing = row.kind === 'read' ? 'read' : row.what;
  return `${/^[a-z]+$/.test(doing) ? countOf(run.length, doing) : `${run.length} × ${doing}`} of`;
}

function lineOf(row: FeedRow, what: string, run: Run): VNode {
  const sum = (side: 'added' | 'removed'): number =>
    run.reduce((all, { seq }) => all + (knownCounts.value[seq]?.[side] ?? 0), 0);
  const isQuiet = row.kind !== 'change' && row.kind !== 'refusal';
  // The words of a notice name its file.
  const isNamed = row.kind !== 'notice' && run.every(({ path }) => path === row.path);
  return html`${kindMark(row)}${who(row.session)}<span class=${`what clip${isQuiet ? ' dim' : ''}`} title=${safe(what)}>${sessionName(what)}</span>${isNamed ? pathSpan(row.path) : null}${row.destroyed === true ? html`<span class="tag warn">destroyed, kept</span>` : null}<span class="push"></span>${lineCounts({ added: sum('added'), removed: sum('removed') })}${timeOfDay(row.atMs)}`;
}

/** A link to an entry, for the page's right side. */
export function rowLink(row: FeedRow): VNode {
  return html`<a class="bar" href=${pageAddress({ kind: 'entry', seq: row.seq })}>${kindMark(row)}${who(row.session)}<span>${sessionName(wordsOf(row))}</span>${pathSpan(row.path)}${ageOf(row.atMs)}</a>`;
}

/** An entry in a few words. Those of a refusal are short enough never to be cut. */
function wordsOf({ code, what }: FeedRow): string {
  if (code === undefined) return what.replace(/^notice: |(?<=^read) whole/, '');
  return `${what.startsWith('would') ? 'would refuse: ' : ''}${refusedWord(code)}`;
}

/** Moves the focus in a list with the arrow keys, or with `j` and `k`. */
function moveFocus(event: KeyboardEvent): void {
  const isDown = event.key === 'ArrowDown' || event.key === 'j';
  if ((!isDown && event.key !== 'ArrowUp' && event.key !== 'k') || event.metaKey || event.ctrlKey) return;
  const list = [...document.querySelectorAll<HTMLElement>(ITEMS)];
  const next = list[list.indexOf(event.currentTarget as HTMLElement) + (isDown ? 1 : -1)];
  event.preventDefault();
  next?.focus();
}

/** Selects the rows and cards of the shown list. */
export const ITEMS = '.list :is(.row, .card)';

/** The timer that delays the search while the user types. The page has one search field. */
let timer = 0;
/**
 * The text in the search field until the search begins. Without it, each new journal entry would
 * redraw the field with the text of the last search.
 */
const typed: Signal<string | undefined> = signal(undefined);

function searchField(label: string, value: string, set: (text: string) => void): VNode {
  const input = (event: Event): void => set((event.currentTarget as HTMLInputElement).value);
  return html`<input id="search" type="search" placeholder=${narrowPage.matches ? label : `${label}   /`} aria-label=${label} value=${value} onInput=${input} />`;
}

function Filters(): VNode {
  const { kinds, path, code, turn, session } = filter.value;
  const chosen = turns.value.find((each) => each.turn === turn);
  const search = (value: string): void => {
    typed.value = value;
    clearTimeout(timer);
    timer = setTimeout(() => {
      void narrow({ path: value });
      typed.value = undefined;
    }, SEARCH_AFTER_MS);
  };
  const toggle = (kind: EntryKind): void =>
    void narrow({ kinds: kinds?.includes(kind) === true ? [] : [kind] });
  const codes = new Set<string>(rows.value.flatMap((row) => row.code ?? []));
  if (code !== undefined) codes.add(code);
  return html`<div class="filters" role="search">${searchField('Filter by path', typed.value ?? path ?? '', search)}
    <div class="bar kinds small" role="group" aria-label="Kinds of entries">${KINDS.map(([kind, word]) => html`<button type="button" aria-pressed=${kinds?.includes(kind) === true} onClick=${() => toggle(kind)}>${kindMark({ kind })} ${word}</button>`)}
    ${kinds?.includes('refusal') !== true ? null : html`<select aria-label="Reason of a refusal" value=${code ?? ''} onChange=${(event: Event) => void narrow({ code: (event.currentTarget as HTMLSelectElement).value })}><option value="">any reason</option>${[...codes].sort().map((each) => html`<option value=${each}>${refusedWord(each)}</option>`)}</select>`}</div>
    ${isFiltered.value ? html`<p class="active">Showing ${session === undefined ? null : html`<b>${sessionName(session)}</b> `}${chosen === undefined ? null : html`the turn <b>${safe(chosen.words)}</b> `}${path === undefined ? null : html`paths with <b>${safe(path)}</b> `}<button type="button" class="link" onClick=${() => void narrowTo({})}>show everything</button></p>` : null}
  </div>`;
}

/** The text by which the list of turns or files is filtered. */
export const listWord: Signal<string> = signal('');

/** A list with a filter. `cards`: the items, each with its sessions and the texts that the filter searches. */
function cardList(
  label: string,
  cards: readonly {
    readonly key: string;
    readonly sessions: readonly string[];
    readonly texts: readonly string[];
    readonly card: VNode;
  }[],
  more: VNode | null,
): VNode {
  const wanted = listWord.value.toLowerCase();
  const { session } = filter.value;
  const shown = cards.filter(
    ({ sessions, texts }) =>
      (session === undefined || sessions.includes(session)) &&
      texts.some((text) => text.toLowerCase().includes(wanted)),
  );
  const set = (text: string): void => {
    listWord.value = text;
  };
  return html`<div class="filters" role="search">${searchField(`Filter ${label}`, listWord.value, set)}</div><ol class="cards" aria-label=${`${label}, newest first`}>${shown.map(({ key, card }) => html`<li key=${key}>${card}</li>`)}${more}</ol>`;
}

export function TurnList(): VNode {
  if (turns.value.length === 0)
    return html`<p class="dim pad">No turns are on record. Hooks and adapters record them: a turn is what happens between two prompts.</p>`;
  const cards = turns.value.map((turn, i) => {
    const { seq, session, words, atMs, files: paths, stands } = turn;
    const changed = paths.length === 0 ? 'no files changed' : `${countOf(paths.length, 'file')} changed`;
    const content = html`${i === 0 ? html`<span class="tag">since the last prompt</span>` : null}<b class="prompt">${safe(words)}</b>
      <span class="bar small">${who(session)}${ageOf(atMs)}<span class="dim">${changed}${paths.length > 0 && !stands ? ', undone' : ''}</span></span>`;
    const card = itemLink('card', { kind: 'entry', seq }, session, content);
    return { key: String(seq), sessions: [session], texts: [words, ...paths], card };
  });
  const more = html`<li class="pad"><button type="button" onClick=${() => void loadOlderTurns()}>Show older turns</button></li>`;
  return cardList('turns', cards, hasOlderTurns.value ? more : null);
}

export function Files(): VNode {
  if (files.value === undefined) return html`<p class="dim pad" role="status">loading…</p>`;
  if (files.value.length === 0) return html`<p class="dim pad">No file was changed yet.</p>`;
  const cards = files.value.map(({ root, path, changes, refusals, lastMs, writers }) => {
    const content = html`${pathSpan(path)}<span class="bar small">${ageOf(lastMs)}${changes === 0 ? null : html`<span class="dim">${countOf(changes, 'change')}</span>`}${refusals === 0 ? null : html`<span class="bad">${refusals} refused</span>`}${writers.map(who)}</span>`;
    const card = itemLink('card', { kind: 'file', root, path }, undefined, content);
    return { key: `${root}/${path}`, sessions: writers, texts: [path], card };
  });
  return cardList('files', cards, null);
}
