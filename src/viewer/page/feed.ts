import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { EntryKind } from '../../model/entry.ts';
import type { RefusalCode } from '../../model/verdict.ts';
import type { FeedRow } from '../../records/view/view-data.ts';
import { dayWord, html, Path, safe, Time, timeOf, tint, Who, Windowed } from './html.ts';
import {
  closeDetail,
  files,
  filter,
  hasLoadFailed,
  hasOlderTurns,
  isFiltered,
  isSearching,
  loadOlder,
  loadOlderTurns,
  narrow,
  narrowTo,
  older,
  open,
  pageAddress,
  rows,
  selected,
  sessions,
  turns,
} from './state.ts';

const ROW = 34;
const KINDS: readonly (readonly [EntryKind, string])[] = [
  ['change', 'Changes'],
  ['refusal', 'Refusals'],
  ['read', 'Reads'],
];
const SEARCH_AFTER_MS = 250;

export function KindMark({ row }: { readonly row: Pick<FeedRow, 'kind' | 'undo'> }): VNode {
  const kind = row.undo === true ? 'undo' : row.kind;
  return html`<i class=${`shape ${kind}`} aria-hidden="true"></i>`;
}

export function RowLink({ row }: { readonly row: FeedRow }): VNode {
  return html`<a class="ref" style=${tint(row.session)} href=${pageAddress({ kind: 'entry', seq: row.seq })}><${KindMark} row=${row} /><${Who} id=${row.session} /> <span>${safe(row.what)}</span> ${row.code === undefined ? null : html`<span class="code">${row.code}</span>`} <${Time} ms=${row.atMs} /></a>`;
}

/** A row of the list: the newest entry of a run, and all entries of the run. */
interface Run {
  readonly row: FeedRow;
  readonly all: readonly FeedRow[];
}

/** The newest entry of each run that the user has opened. */
const openRuns: Signal<ReadonlySet<number>> = signal(new Set());

/**
 * Joins neighbouring entries in which one session did the same with the same file. An open run is
 * one row, followed by a row for each of its entries.
 */
function runsOf(all: readonly FeedRow[], opened: ReadonlySet<number>): readonly Run[] {
  const runs: { row: FeedRow; all: FeedRow[] }[] = [];
  for (const row of all) {
    const last = runs.at(-1);
    if (last !== undefined && isSameDoing(last.row, row)) last.all.push(row);
    else runs.push({ row, all: [row] });
  }
  return runs.flatMap((run) =>
    opened.has(run.all.at(-1)?.seq ?? 0) ? [run, ...run.all.map((row) => ({ row, all: [row] }))] : [run],
  );
}

function isSameDoing(a: FeedRow, b: FeedRow): boolean {
  return (
    (a.kind === 'change' || a.kind === 'read') &&
    a.path !== undefined &&
    a.undo === b.undo &&
    a.kind === b.kind &&
    a.session === b.session &&
    a.path === b.path &&
    doing(a) === doing(b)
  );
}

/** The verb of a row. Reads name their lines after it. */
function doing({ kind, what }: FeedRow): string {
  return kind === 'read' ? '' : what;
}

const runs: ReadonlySignal<readonly Run[]> = computed(() => runsOf(rows.value, openRuns.value));

export function Feed(): VNode {
  const all = runs.value;
  const now = selected.value;
  const at =
    now?.kind === 'entry' ? all.findIndex(({ all: each }) => each.some(({ seq }) => seq === now.seq)) : -1;
  return html`<${Filters} />
    ${hasLoadFailed.value ? html`<p class="hint" role="status">Entries could not be loaded, because the viewer does not answer. The page tries again.</p>` : null}
    ${all.length === 0 && !isSearching.value && !hasLoadFailed.value ? html`<p class="hint">${isFiltered.value ? 'No entry matches this filter.' : html`Nothing is recorded here yet. It appears as soon as a session reads or changes a file.<br />Connect your agent with <code>lookfirst init claude-code --hooks</code> (or codex, gemini, cursor, vscode, opencode).<br />To see a scene with three agents, run <code>npm start</code> in a clone of Lookfirst.`}</p>` : null}
    <${Windowed} label="Entries, newest first" class="feed" count=${all.length} rowHeight=${ROW} at=${at < 0 ? undefined : at} item=${at < 0 || now?.kind !== 'entry' ? undefined : now.seq} onEnd=${() => void loadOlder()}
      row=${(i: number) => html`<${Row} key=${`${all[i]?.row.seq}-${all[i]?.all.length}`} run=${all[i]} day=${dayHeading(all, i)} place=${i} total=${all.length} />`} />
    ${isSearching.value ? html`<p class="hint" role="status">searching older entries…</p>` : null}
    ${!isSearching.value && !hasLoadFailed.value && older.value === undefined && all.length > 8 ? html`<p class="hint end">the journal begins here</p>` : null}`;
}

/** The day of a row, if the row above it is of another day. */
function dayHeading(all: readonly Run[], at: number): string | undefined {
  const [day, above = 'today'] = [all[at], all[at - 1]].map((run) => run && dayWord(run.row.atMs));
  return day === above ? undefined : day;
}

interface RowProps {
  readonly run: Run;
  readonly day: string | undefined;
  readonly place: number;
  readonly total: number;
}

function Row({ run, day, place, total }: RowProps): VNode {
  const { row, all } = run;
  if (all.length > 1) return html`<${RunRow} run=${run} day=${day} place=${place} total=${total} />`;
  const now = selected.value;
  const isOn = now?.kind === 'entry' && now.seq === row.seq;
  const target = { kind: row.kind === 'turn' ? ('turn' as const) : ('entry' as const), seq: row.seq };
  return html`<li aria-setsize=${total} aria-posinset=${place + 1}><a class=${`row ${row.kind}${isOn ? ' on' : ''}`} href=${pageAddress(target)} aria-current=${isOn ? 'true' : undefined} style=${tint(row.session)} onKeyDown=${moveFocus}>
    <${Moment} ms=${row.atMs} day=${day} /><${KindMark} row=${row} /><span class="session">${safe(row.session)}</span><span class="what">${safe(row.kind === 'refusal' ? refusalIn(row) : row.what)}</span>${row.path === undefined || row.path === '' ? null : html`<${Path} path=${row.path} />`}
  </a></li>`;
}

/** A run of entries as one row, which shows or hides them. */
function RunRow({ run, day, place, total }: RowProps): VNode {
  const { row, all } = run;
  const oldest = all.at(-1)?.seq ?? 0;
  const isOpen = openRuns.value.has(oldest);
  const toggle = (): void => {
    const others = [...openRuns.value].filter((seq) => seq !== oldest);
    openRuns.value = new Set(isOpen ? others : [...others, oldest]);
  };
  return html`<li aria-setsize=${total} aria-posinset=${place + 1}><button type="button" class=${`row run ${row.kind}`} aria-expanded=${isOpen} style=${tint(row.session)} onClick=${toggle} onKeyDown=${moveFocus}>
    <${Moment} ms=${row.atMs} day=${day} /><${KindMark} row=${row} /><span class="session">${safe(row.session)}</span><span class="what">${all.length} × ${safe(row.kind === 'read' ? 'read' : row.what)}</span><${Path} path=${row.path ?? ''} />
  </button></li>`;
}

/** The time of a row, with the day in the first row of a day. */
function Moment({ ms, day }: { readonly ms: number; readonly day: string | undefined }): VNode {
  return html`<time class=${day === undefined ? '' : 'day'} datetime=${new Date(ms).toISOString()} title=${new Date(ms).toLocaleString()}>${day === undefined ? '' : `${day}, `}${timeOf(ms)}</time>`;
}

/** A refusal in words that are short enough never to be cut. */
function refusalIn({ code, what }: FeedRow): string {
  const word = code === undefined ? undefined : REFUSED[code];
  return word === undefined ? what : what.startsWith('would') ? `would refuse: ${word}` : word;
}

const REFUSED: Partial<Readonly<Record<RefusalCode, string>>> = {
  OUTSIDE_WORKSPACE: 'outside',
  PROTECTED: 'protected',
  READ_ONLY: 'read-only',
  NOT_READ: 'not read',
  PARTIALLY_READ: 'partly read',
  READ_EXPIRED: 'read too long ago',
  STALE: 'outdated',
  DELETED: 'deleted meanwhile',
  ALREADY_EXISTS: 'already there',
  REVISION_MISMATCH: 'other revision',
  NO_MATCH: 'text not found',
  AMBIGUOUS_MATCH: 'text not unique',
  PLACEHOLDER_CONTENT: 'placeholder text',
  REDACTED_READ: 'secrets masked',
  COMMAND_CONFLICT: 'changed meanwhile',
  WOULD_DESTROY: 'would destroy work',
};

/** Moves the focus in a list with the arrow keys, or with `j` and `k`. */
function moveFocus(event: KeyboardEvent): void {
  const step =
    event.key === 'ArrowDown' || event.key === 'j'
      ? 'nextElementSibling'
      : event.key === 'ArrowUp' || event.key === 'k'
        ? 'previousElementSibling'
        : undefined;
  if (step === undefined || event.metaKey || event.ctrlKey) return;
  const next = (event.currentTarget as HTMLElement)
    .closest('li')
    ?.[step]?.querySelector<HTMLElement>('a, button');
  if (next === null || next === undefined) return;
  event.preventDefault();
  next.focus();
}

/**
 * The timer that delays the search while the user types. One variable is enough, because the page
 * has one search field.
 */
let timer = 0;
/**
 * The text in the search field until the search begins. Without it, each new journal entry would
 * redraw the field with the text of the last search.
 */
const typed: Signal<string | undefined> = signal(undefined);

function Filters(): VNode {
  const { kinds, path, code, turn, session } = filter.value;
  const chosen = turns.value.find((each) => each.turn === turn);
  const search = (event: Event): void => {
    const { value } = event.currentTarget as HTMLInputElement;
    typed.value = value;
    clearTimeout(timer);
    timer = setTimeout(() => {
      void narrow({ path: value });
      typed.value = undefined;
    }, SEARCH_AFTER_MS);
  };
  const toggle = (kind: EntryKind): void =>
    void narrow({ kinds: kinds?.includes(kind) === true ? [] : [kind] });
  const codes = [
    ...new Set([...rows.value.flatMap((row) => row.code ?? []), ...(code === undefined ? [] : [code])]),
  ].sort();
  return html`<div class="filters" role="search">
    <input id="search" type="search" placeholder="Filter by path   /" aria-label="Filter by path" value=${typed.value ?? path ?? ''} onInput=${search} />
    <div class="kinds" role="group" aria-label="Kinds of entries">${KINDS.map(([kind, word]) => html`<button type="button" aria-pressed=${kinds?.includes(kind) === true} onClick=${() => toggle(kind)}><${KindMark} row=${{ kind }} />${word}</button>`)}
    ${codes.length === 0 ? null : html`<select aria-label="Refusal code" value=${code ?? ''} onChange=${(event: Event) => void narrow({ code: (event.currentTarget as HTMLSelectElement).value })}><option value="">any code</option>${codes.map((each) => html`<option value=${each}>${each}</option>`)}</select>`}</div>
    ${isFiltered.value ? html`<p class="active">Showing ${session === undefined ? null : html`<b>${safe(session)}</b> `}${chosen === undefined ? null : html`the turn <b>${safe(chosen.words)}</b> `}${path === undefined ? null : html`paths with <b>${safe(path)}</b> `}<button type="button" class="link" onClick=${() => void narrowTo({})}>show everything</button></p>` : null}
  </div>`;
}

export function SessionList(): VNode {
  const chosen = filter.value.session;
  return html`<div class="sessions" role="group" aria-label="Sessions">${sessions.value.map(
    ({ id, client, open: isOpen }) =>
      html`<button type="button" class=${`chip${isOpen ? '' : ' closed'}`} style=${tint(id)} aria-pressed=${chosen === id} title=${`${client === undefined ? '' : `${safe(client)}, `}${isOpen ? 'open' : 'closed'}`} onClick=${() => void narrow({ session: chosen === id ? '' : id })}>${safe(id)}</button>`,
  )}</div>`;
}

export function TurnList(): VNode {
  const now = selected.value;
  if (turns.value.length === 0)
    return html`<p class="hint">No turns are on record. Hooks and adapters record them: a turn is what happens between two prompts.</p>`;
  const { session } = filter.value;
  const shown = turns.value.filter(
    (turn) =>
      (session === undefined || turn.session === session) &&
      hasWord(listWord.value, [turn.words, ...turn.files]),
  );
  return html`<${ListFilter} what="turns" /><ol class="cards" aria-label="Turns, newest first">${shown.map(
    (turn) => {
      const isOn = now?.kind === 'turn' && now.seq === turn.seq;
      return html`<li key=${turn.seq}><a class=${`card${isOn ? ' on' : ''}`} href=${pageAddress({ kind: 'turn', seq: turn.seq })} aria-current=${isOn ? 'true' : undefined} style=${tint(turn.session)} onKeyDown=${moveFocus}>
      ${turn === turns.value[0] ? html`<span class="tag">since the last prompt</span>` : null}
      <span class="prompt">${safe(turn.words)}</span>
      <span class="meta"><span class="session">${safe(turn.session)}</span> <${Time} ms=${turn.atMs} /> · ${turn.files.length === 0 ? 'no files changed' : `${turn.files.length} ${turn.files.length === 1 ? 'file' : 'files'} changed`}${turn.files.length > 0 && !turn.stands ? ' · taken back' : ''}</span>
    </a></li>`;
    },
  )}${hasOlderTurns.value ? html`<li><button type="button" class="more" onClick=${() => void loadOlderTurns()}>Show older turns</button></li>` : null}</ol>`;
}

/** The text by which the list of turns or files is filtered. */
const listWord: Signal<string> = signal('');

function ListFilter({ what }: { readonly what: string }): VNode {
  return html`<div class="filters" role="search"><input id="search" type="search" placeholder=${`Filter ${what}   /`} aria-label=${`Filter ${what}`} value=${listWord.value} onInput=${(
    event: Event,
  ) => {
    listWord.value = (event.currentTarget as HTMLInputElement).value;
  }} /></div>`;
}

function hasWord(word: string, texts: readonly string[]): boolean {
  const wanted = word.toLowerCase();
  return texts.some((text) => text.toLowerCase().includes(wanted));
}

export function Files(): VNode {
  const now = selected.value;
  if (files.value.length === 0) return html`<p class="hint">No file was changed yet.</p>`;
  const { session } = filter.value;
  const shown = files.value.filter(
    ({ path, writers }) =>
      (session === undefined || writers.includes(session)) && hasWord(listWord.value, [path]),
  );
  return html`<${ListFilter} what="files" /><ol class="cards" aria-label="Files, last touched first">${shown.map(
    ({ root, path, changes, refusals, lastMs, writers }) => {
      const isOn = now?.kind === 'file' && now.root === root && now.path === path;
      return html`<li key=${`${root}/${path}`}><a class=${`card${isOn ? ' on' : ''}`} href=${pageAddress({ kind: 'file', root, path })} aria-current=${isOn ? 'true' : undefined} onKeyDown=${moveFocus}>
      <${Path} path=${path} />
      <span class="meta"><${Time} ms=${lastMs} /> ${changes === 0 ? '' : `· ${changes} ${changes === 1 ? 'change' : 'changes'}`} ${refusals === 0 ? null : html`· <span class="bad">${refusals} refused</span>`} ${writers.map((id) => html`<span class="who small" style=${tint(id)}>${safe(id)}</span>`)}</span>
    </a></li>`;
    },
  )}</ol>`;
}

/** The keys of the page, as `?` shows them. */
const KEYS: readonly (readonly [string, string])[] = [
  ['j k', 'next, previous row'],
  ['Enter', 'open the row'],
  ['Esc', 'go back'],
  ['/', 'filter by path'],
  ['u', 'undo what is shown'],
  ['?', 'show these keys'],
];
const isHelpShown: Signal<boolean> = signal(false);

export function KeyHelp(): VNode | null {
  if (!isHelpShown.value) return null;
  return html`<aside class="keys" role="note" aria-label="Keys"><dl>${KEYS.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl></aside>`;
}

/** Handles keys of the whole page. Rows handle the arrow keys, `j` and `k` themselves. */
export function keys(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  const isTyping = target.matches('input, select, textarea');
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
  if (document.querySelector('dialog[open]') !== null) return;
  if (event.key === 'Escape') {
    if (isTyping) target.blur();
    else if (isHelpShown.value) isHelpShown.value = false;
    else if (selected.value !== undefined) closeDetail();
  } else if (!isTyping && pressed(event.key)) event.preventDefault();
}

/** Handles a key that was pressed outside of fields and rows. False for other keys. */
function pressed(key: string): boolean {
  if (key === '/') document.querySelector<HTMLInputElement>('#search')?.focus();
  else if (key === 'j' || key === 'k')
    document.querySelector<HTMLElement>('.list .on, .list .row, .list .card')?.focus();
  else if (key === 'u') document.querySelector<HTMLElement>('.detail .undo-this')?.click();
  else if (key === '?') isHelpShown.value = !isHelpShown.value;
  else return false;
  return true;
}

export function openRow(row: FeedRow): void {
  open({ kind: row.kind === 'turn' ? 'turn' : 'entry', seq: row.seq });
}
