import type { VNode } from 'preact';
import type { DetailView, Fact, FeedRow } from '../../records/view/view-data.ts';
import { visibleName } from '../../report/bounded.ts';
import { diffTable, layoutButtons } from './diff.ts';
import { FilePage } from './file.ts';
import { ageOf, html, kindMark, lineCounts, pathSpan, safe, tint, who } from './html.ts';
import { rowLink } from './list.ts';
import { ask, closeDetail, detail, narrowTo, pageAddress, selected, sessions, start } from './state.ts';
import { offerUndo, tell } from './undo.ts';

export function DetailPane(): VNode {
  const shown = detail.value;
  return html`<article class="detail" aria-label="Details" aria-busy=${selected.value !== undefined && shown === undefined}>
    ${selected.value === undefined ? html`<${Welcome} />` : html`<button type="button" class="back" onClick=${closeDetail}>← Back</button>`}
    ${shown?.kind === 'failed' ? html`<p class="bad">${safe(shown.text)}</p>` : null}
    ${shown?.kind === 'file' ? html`<${FilePage} key=${`${shown.view.root}/${shown.view.path}`} view=${shown.view} />` : null}
    ${shown?.kind === 'entry' ? itemOf(shown.view) : null}
  </article>`;
}

function Welcome(): VNode {
  return html`<div class="welcome"><h2>What happened to your files</h2>${WELCOME.map(([mark, question, answer]) => html`<p>${kindMark(mark)} <b>${question}</b> <span class="dim">${answer}</span></p>`)}
    <p class="dim">Press <code>?</code> for the keys.</p></div>`;
}

const WELCOME = [
  [
    { kind: 'change' },
    'Who changed it?',
    'Open a change, or a file: each line names the session that wrote it.',
  ],
  [{ kind: 'read' }, 'Had the agent read it?', 'Every change says what its session had read before.'],
  [
    { kind: 'refusal' },
    'Why was it refused?',
    'A refusal says what the session had seen and what had changed since.',
  ],
  [
    { kind: 'change', undo: true },
    'Can I take it back?',
    'Yes: a change, one file, single lines, or everything since a prompt.',
  ],
] as const;

/** One entry or turn: its title and buttons, what is known about it, and its differences. */
function itemOf(view: DetailView): VNode {
  const { row, facts, files } = view;
  const readOnly = start.value?.readOnly;
  const named = facts.filter(({ name, tone }) => name !== undefined && tone === undefined);
  return html`${headOf(view)}
    ${view.canUndo && readOnly !== undefined ? html`<p class="dim">Read-only: ${safe(readOnly)}.</p>` : null}
    ${facts.filter((fact) => !named.includes(fact)).map(factLine)}
    ${named.length === 0 ? null : html`<dl>${named.map(({ name, words, rows = [] }) => html`<dt class="dim">${name}</dt><dd>${safe(words)} ${rows.map(rowLink)}</dd>`)}</dl>`}
    ${files.map((file) => {
      const { root, path } = file;
      const undoFile = (): void =>
        void offerUndo(`Undo what this change did to ${visibleName(path)}?`, 'undo', {
          change: row.change,
          root,
          path,
        });
      const undoPart = (hunk: number): void =>
        void offerUndo('Undo these lines?', 'undo', { change: row.change, root, path, hunk });
      const isUndoable = mayUndo(view) && row.kind === 'change';
      const link = html`<a href=${pageAddress({ kind: 'file', root, path })}>${pathSpan(path)}</a>`;
      const action = html`<button type="button" class="small push" onClick=${undoFile}>Undo this file</button>`;
      const counts = html`${lineCounts(file)}${file.note === undefined ? null : html`<span class="dim">${safe(file.note)}</span>`}`;
      const known = file.about === undefined ? null : factLine(file.about);
      const head = isTitled(view)
        ? html`<div class="bar known">${known}<span class="push"></span>${counts}</div>`
        : html`<h3 class="bar">${link}${counts}${isUndoable && files.length > 1 ? action : null}</h3><div class="known">${known}</div>`;
      return html`<section class="file">${head}${diffTable(file, isUndoable && file.parts ? undoPart : undefined)}</section>`;
    })}`;
}

/** True if the title names the only file. */
function isTitled({ row, files: [first, second] }: DetailView): boolean {
  return first !== undefined && second === undefined && first.path === row.path;
}

function mayUndo({ canUndo }: DetailView): boolean {
  return canUndo && start.value !== undefined && start.value.readOnly === undefined;
}

function factLine({ name, words, tone, rows = [] }: Fact): VNode {
  const title = name === undefined ? null : html`<b>${name}</b> `;
  return html`<div class=${tone === undefined ? '' : `banner ${tone}`}><p>${title}${safe(words)}</p>${rows.map(rowLink)}</div>`;
}

/** The title of the page's right side, with its buttons. */
function headOf(view: DetailView): VNode {
  const { row, root, files } = view;
  const { session, atMs, seq, turn, change, path = '', kind } = row;
  const showTurn = (): void => void narrowTo({ turn });
  const isInside = path !== '' && !path.startsWith('/') && !path.startsWith('..');
  const isShared = kind === 'change' || kind === 'refusal' || kind === 'turn';
  return html`<header class="bar head" style=${tint(session)}><div><h2 class="bar">${titleOf(row)}</h2>
    <p class="bar small dim">${who(session)}${ageOf(atMs)}${clientWords(row)}${change === undefined ? null : html`<code>${change}</code>`}${turn === undefined ? null : html`<button type="button" class="link" onClick=${showTurn}>everything in this turn</button>`}${isInside ? html`<a href=${pageAddress({ kind: 'file', root, path })}>who has seen this file</a>` : null}</p></div>
    ${files.some(({ groups }) => groups.length > 0) ? layoutButtons() : null}${isShared ? shareMenu(seq) : null}${mayUndo(view) ? undoButton(row) : null}</header>`;
}

function titleOf(row: FeedRow): VNode {
  if (row.kind === 'turn') return html`<span class="prompt">${safe(row.what)}</span>`;
  return html`${kindMark(row)}<span>${safe(row.what)}</span>${pathSpan(row.path)}${row.code === undefined ? null : html`<span class="tag bad">${row.code}</span>`}${row.destroyed === true ? html`<span class="tag warn">destroyed, kept</span>` : null}`;
}

function undoButton({ kind, seq, session, what, change, undo }: FeedRow): VNode {
  const offer = (): void =>
    void (kind === 'turn'
      ? offerUndo(`Return to before "${what}"?`, 'rewind', { seq })
      : offerUndo(`Undo this change by ${session}?`, 'undo', { change }));
  const word = kind === 'turn' ? 'Rewind to before this' : undo === true ? 'Redo' : 'Undo this change';
  return html`<button type="button" class="undo-this" onClick=${offer}>${word}</button>`;
}

/**
 * The program that the session belongs to, and the machine of the entry if it is not the viewer's
 * machine.
 */
function clientWords({ session, machine }: Pick<FeedRow, 'session' | 'machine'>): string {
  const client = sessions.value.find(({ id }) => id === session)?.client;
  return [client, machine].flatMap((each) => (each === undefined ? [] : safe(each))).join(', ');
}

/** Gives the shown item to people without a viewer: a file, or Markdown for a pull request. */
function shareMenu(seq: number): VNode {
  const button = (word: string, form: string, share: (text: string) => void | Promise<void>): VNode => {
    const act = async (): Promise<void> => {
      const { text } = await ask<{ readonly text: string }>(`export?seq=${seq}&form=${form}`);
      await share(text);
      document.querySelector('.menu')?.removeAttribute('open');
    };
    const tellFailure = (error: Error): void => tell(`Not shared: ${error.message}`);
    return html`<button type="button" onClick=${() => void act().catch(tellFailure)}>${word}</button>`;
  };
  const download = (text: string): void => {
    const href = URL.createObjectURL(new Blob([text], { type: 'text/html' }));
    Object.assign(document.createElement('a'), { href, download: `lookfirst-${seq}.html` }).click();
    URL.revokeObjectURL(href);
  };
  const copy = async (text: string): Promise<void> => {
    await navigator.clipboard.writeText(text);
    tell('Copied as Markdown.');
  };
  return html`<details key=${seq} class="menu"><summary>Share</summary><div>${button('Download as HTML', 'html', download)}${button('Copy as Markdown', 'markdown', copy)}</div></details>`;
}
