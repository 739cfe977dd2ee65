import { type Signal, signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { EntryKind } from '../../model/entry.ts';
import type { FeedRow } from '../../records/view/view-data.ts';
import { html, Path, safe, Time, tint, Who, Windowed } from './html.ts';
import {
  files,
  filter,
  hasLoadFailed,
  isFiltered,
  isSearching,
  loadOlder,
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

export function Feed(): VNode {
  const all = rows.value;
  const now = selected.value;
  const at = now?.kind === 'entry' ? all.findIndex(({ seq }) => seq === now.seq) : -1;
  return html`<${Filters} />
    ${hasLoadFailed.value ? html`<p class="hint" role="status">Entries could not be loaded, because the viewer does not answer. The page tries again.</p>` : null}
    ${all.length === 0 && !isSearching.value && !hasLoadFailed.value ? html`<p class="hint">${isFiltered.value ? 'No entry matches this filter.' : 'Nothing is recorded here yet. It appears as soon as a session reads or changes a file.'}</p>` : null}
    <${Windowed} label="Entries, newest first" class="feed" count=${all.length} rowHeight=${ROW} at=${at < 0 ? undefined : at} item=${all[at]?.seq} onEnd=${() => void loadOlder()}
      row=${(i: number) => html`<${Row} key=${all[i]?.seq} row=${all[i]} place=${i} total=${all.length} />`} />
    ${isSearching.value ? html`<p class="hint" role="status">searching older entries…</p>` : null}
    ${!isSearching.value && !hasLoadFailed.value && older.value === undefined && all.length > 8 ? html`<p class="hint end">the journal begins here</p>` : null}`;
}

function Row({
  row,
  place,
  total,
}: {
  readonly row: FeedRow;
  readonly place: number;
  readonly total: number;
}): VNode {
  const now = selected.value;
  const isOn = now?.kind === 'entry' && now.seq === row.seq;
  const target = { kind: row.kind === 'turn' ? ('turn' as const) : ('entry' as const), seq: row.seq };
  return html`<li aria-setsize=${total} aria-posinset=${place + 1}><a class=${`row ${row.kind}${isOn ? ' on' : ''}`} href=${pageAddress(target)} aria-current=${isOn ? 'true' : undefined} style=${tint(row.session)} onKeyDown=${moveFocus}>
    <${Time} ms=${row.atMs} /><${KindMark} row=${row} /><span class="session">${safe(row.session)}</span><span class="what">${safe(row.what)}</span>${row.path === undefined || row.path === '' ? null : html`<${Path} path=${row.path} />`}${row.code === undefined ? null : html`<span class="code">${row.code}</span>`}
  </a></li>`;
}

/** Moves the focus in a list with the arrow keys, or with `j` and `k`. */
function moveFocus(event: KeyboardEvent): void {
  const step =
    event.key === 'ArrowDown' || event.key === 'j'
      ? 'nextElementSibling'
      : event.key === 'ArrowUp' || event.key === 'k'
        ? 'previousElementSibling'
        : undefined;
  if (step === undefined || event.metaKey || event.ctrlKey) return;
  const next = (event.currentTarget as HTMLElement).closest('li')?.[step]?.querySelector('a');
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
  return html`<ol class="cards" aria-label="Turns, newest first">${turns.value.map((turn, i) => {
    const isOn = now?.kind === 'turn' && now.seq === turn.seq;
    return html`<li key=${turn.seq}><a class=${`card${isOn ? ' on' : ''}`} href=${pageAddress({ kind: 'turn', seq: turn.seq })} aria-current=${isOn ? 'true' : undefined} style=${tint(turn.session)} onKeyDown=${moveFocus}>
      ${i === 0 ? html`<span class="tag">since the last prompt</span>` : null}
      <span class="prompt">${safe(turn.words)}</span>
      <span class="meta"><span class="session">${safe(turn.session)}</span> <${Time} ms=${turn.atMs} /> · ${turn.files.length === 0 ? 'no files changed' : `${turn.files.length} ${turn.files.length === 1 ? 'file' : 'files'} changed`}${turn.files.length > 0 && !turn.stands ? ' · taken back' : ''}</span>
    </a></li>`;
  })}</ol>`;
}

export function Files(): VNode {
  const now = selected.value;
  if (files.value.length === 0) return html`<p class="hint">No file was changed yet.</p>`;
  return html`<ol class="cards" aria-label="Files, last touched first">${files.value.map(
    ({ root, path, changes, refusals, lastMs, writers }) => {
      const isOn = now?.kind === 'file' && now.root === root && now.path === path;
      return html`<li key=${`${root}/${path}`}><a class=${`card${isOn ? ' on' : ''}`} href=${pageAddress({ kind: 'file', root, path })} aria-current=${isOn ? 'true' : undefined} onKeyDown=${moveFocus}>
      <${Path} path=${path} />
      <span class="meta"><${Time} ms=${lastMs} /> ${changes === 0 ? '' : `· ${changes} ${changes === 1 ? 'change' : 'changes'}`} ${refusals === 0 ? null : html`· <span class="bad">${refusals} refused</span>`} ${writers.map((id) => html`<span class="who small" style=${tint(id)}>${safe(id)}</span>`)}</span>
    </a></li>`;
    },
  )}</ol>`;
}

/** Handles keys: `/` focuses the search field, Escape leaves a field. */
export function keys(event: KeyboardEvent): void {
  const isTyping = (event.target as HTMLElement).matches('input, select, textarea');
  if (event.key === '/' && !isTyping) {
    event.preventDefault();
    document.querySelector<HTMLInputElement>('#search')?.focus();
  } else if (event.key === 'Escape' && isTyping) (event.target as HTMLElement).blur();
}

export function openRow(row: FeedRow): void {
  open({ kind: row.kind === 'turn' ? 'turn' : 'entry', seq: row.seq });
}
