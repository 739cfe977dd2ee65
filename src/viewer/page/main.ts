import { type Signal, signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { DetailPane } from './detail.ts';
import { html, narrowPage, safe } from './html.ts';
import { Lanes } from './lanes.ts';
import { Feed, Files, ITEMS, listWord, TurnList } from './list.ts';
import { SavesPane } from './saves.ts';
import {
  begin,
  closeDetail,
  followAddress,
  live,
  pageAddress,
  problemText,
  refresh,
  selected,
  showTab,
  start,
  type Tab,
  tab,
  takeToken,
} from './state.ts';
import { toldText, UndoDialog } from './undo.ts';

const TABS: readonly (readonly [Tab, string])[] = [
  ['activity', 'Activity'],
  ['turns', 'Turns'],
  ['files', 'Files'],
  ['saves', 'Saves'],
];

/** Moves the focus into a detail that hides the list, and back to the row when a detail is closed. */
function useFocus(): void {
  const now = selected.value;
  const last = useRef(now);
  useEffect(() => {
    const row = last.current && `.list [href="${pageAddress(last.current)}"]`;
    const target = now === undefined ? row : narrowPage.matches ? '.back' : undefined;
    if (target !== undefined) document.querySelector<HTMLElement>(target)?.focus();
    last.current = now;
  }, [now]);
}

function App(): VNode {
  useFocus();
  if (problemText.value !== undefined) return html`<${Problem} />`;
  if (start.value === undefined) return html`<p class="problem dim" role="status">Opening the journal…</p>`;
  const now = tab.value;
  const folders = safe(start.value.folders.join(', '));
  return html`<header class="bar top">
      <h1 class="bar"><img src="/icon.svg" alt="" width="22" height="22" />Lookfirst</h1>
      <span class="folder mono dim clip" title=${folders}><bdi dir="ltr">${folders}</bdi></span>
      <span class=${`live clip small ${live.value ? 'on good' : 'dim'}`} role="status">${live.value ? 'live' : 'not connected'}</span>
      <nav class="push" aria-label="Views">${TABS.map(([name, word]) => html`<button type="button" aria-current=${now === name ? 'page' : undefined} onClick=${() => choose(name)}>${word}</button>`)}</nav>
    </header>
    ${
      now === 'saves'
        ? html`<main class="wide" tabindex="-1"><${SavesPane} /></main>`
        : html`<${Lanes} /><main class=${selected.value === undefined ? '' : 'has-detail'}><section class="list" aria-label=${now}>${now === 'activity' ? html`<${Feed} />` : now === 'turns' ? html`<${TurnList} />` : html`<${Files} />`}</section><${DetailPane} /></main>`
    }
    <${KeyHelp} /><${UndoDialog} />
    <div class="told" role="status">${toldText.value === undefined ? null : html`<p>${safe(toldText.value)}</p>`}</div>`;
}

function choose(name: Tab): void {
  // The detail belongs to the list that is left. A narrow page shows only one of the two.
  if (selected.value !== undefined && (name !== tab.value || narrowPage.matches)) closeDetail();
  if (name !== tab.value) listWord.value = '';
  showTab(name);
}

function Problem(): VNode {
  return html`<main class="problem"><h1 class="bar"><img src="/icon.svg" alt="" width="28" height="28" />Lookfirst</h1>${
    problemText.value === 'no-token'
      ? html`<p>Open this page with the address that <code>lookfirst view</code> printed. It contains the token that the page needs.</p>`
      : html`<p>${safe(problemText.value ?? '')}</p>`
  }</main>`;
}

/** The keys of the page, as `?` shows them. */
const KEYS: readonly (readonly [string, string])[] = [
  ['j k', 'next, previous row'],
  ['Enter', 'open the row'],
  ['Esc', 'go back'],
  ['/', 'filter the list'],
  ['u', 'undo what is shown'],
  ['?', 'show these keys'],
];
const isHelpShown: Signal<boolean> = signal(false);

function KeyHelp(): VNode | null {
  if (!isHelpShown.value) return null;
  return html`<aside class="keys" aria-label="Keys"><dl>${KEYS.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl></aside>`;
}

/** Handles keys of the whole page. Rows handle the arrow keys, `j` and `k` themselves. */
function keys(event: KeyboardEvent): void {
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
  const find = (selector: string): HTMLElement | null => document.querySelector(selector);
  if (key === '/') find('#search')?.focus();
  else if (key === 'j' || key === 'k') (find('.list .on') ?? find(ITEMS))?.focus();
  else if (key === 'u') find('.detail .undo-this')?.click();
  else if (key === '?') isHelpShown.value = !isHelpShown.value;
  else return false;
  return true;
}

const app = document.getElementById('app');
if (app !== null) {
  render(html`<${App} />`, app);
  addEventListener('hashchange', () => {
    // If the user has pasted an address with a new token or one-time code, the page must start
    // again to use it.
    if (/^#(open-)?[\w-]{43}$/.test(location.hash)) location.reload();
    else void followAddress();
  });
  addEventListener('keydown', keys);
  run().catch((error: Error) => {
    problemText.value ??= error.message;
  });
}

async function run(): Promise<void> {
  if (!(await takeToken())) {
    problemText.value = 'no-token';
    return;
  }
  await begin();
  // The second frame begins after the browser has painted the data. The benchmark reads the
  // performance mark `first-picture`.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      performance.mark('first-picture');
      // The turns may take long. They delay no click, because the server answers clicks first.
      void refresh('turns');
    }),
  );
  await followAddress();
}
