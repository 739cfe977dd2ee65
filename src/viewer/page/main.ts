import { render, type VNode } from 'preact';
import { DetailPane, NumbersPane } from './detail.ts';
import { Feed, Files, KeyHelp, keys, SessionList, TurnList } from './feed.ts';
import { html, safe } from './html.ts';
import { Lanes } from './lanes.ts';
import {
  begin,
  closeDetail,
  fetchLists,
  files,
  followAddress,
  hasOlderTurns,
  live,
  problemText,
  selected,
  start,
  type Tab,
  tab,
  takeToken,
  turns,
} from './state.ts';
import { toldText, UndoDialog } from './undo.ts';

const TABS: readonly (readonly [Tab, string])[] = [
  ['activity', 'Activity'],
  ['turns', 'Turns'],
  ['files', 'Files'],
  ['numbers', 'Saves'],
];

function App(): VNode {
  if (problemText.value !== undefined) return html`<${Problem} />`;
  if (start.value === undefined) return html`<p class="loading" role="status">Opening the journal…</p>`;
  const now = tab.value;
  return html`<header class="top">
      <h1><img src="/icon.svg" alt="" width="26" height="26" />Lookfirst</h1>
      <span class="folder" title=${safe(start.value.folders.join(', '))}><bdi dir="ltr">${safe(start.value.folders.join(', '))}</bdi></span>
      <span class=${`live${live.value ? ' on' : ''}`} role="status">${live.value ? 'live' : 'not connected'}</span>
      <nav aria-label="Views">${TABS.map(
        ([name, word]) =>
          html`<button type="button" aria-current=${now === name ? 'page' : undefined} onClick=${() => showTab(name)}>${word}${badge(name)}</button>`,
      )}</nav>
    </header>
    ${
      now === 'numbers'
        ? html`<main class="wide"><${NumbersPane} /></main>`
        : html`<div class="strip-bar" role="region" aria-label="Sessions"><${SessionList} /><${Lanes} /></div>
    <main class=${selected.value === undefined ? '' : 'has-detail'}><section class="list" aria-label=${now}>${now === 'activity' ? html`<${Feed} />` : now === 'turns' ? html`<${TurnList} />` : html`<${Files} />`}</section><${DetailPane} /></main>`
    }
    <${KeyHelp} /><${UndoDialog} />
    <div class="told" role="status">${toldText.value === undefined ? null : html`<p>${safe(toldText.value)}</p>`}</div>`;
}

function showTab(name: Tab): void {
  // The detail belongs to the list that is left. A narrow page shows only one of the two.
  if (selected.value !== undefined && (name !== tab.value || isNarrow())) closeDetail();
  tab.value = name;
  void fetchLists();
}

function isNarrow(): boolean {
  return matchMedia('(max-width: 900px)').matches;
}

function badge(name: Tab): VNode | null {
  const size = name === 'turns' ? turns.value.length : name === 'files' ? files.value.length : 0;
  return size === 0
    ? null
    : html`<span class="badge">${size}${name === 'turns' && hasOlderTurns.value ? '+' : ''}</span>`;
}

function Problem(): VNode {
  return html`<main class="problem"><h1><img src="/icon.svg" alt="" width="32" height="32" />Lookfirst</h1>${
    problemText.value === 'no-token'
      ? html`<p>Open this page with the address that <code>lookfirst view</code> printed. It contains the token that the page needs.</p>`
      : html`<p>${safe(problemText.value ?? '')}</p>`
  }</main>`;
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
      // These lists may take long. They delay no click, because the server answers clicks first.
      void fetchLists();
    }),
  );
  await followAddress();
}
