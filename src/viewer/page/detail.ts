import type { VNode } from 'preact';
import type {
  ChangeView,
  FeedRow,
  FileDiff,
  PlainView,
  RefusalView,
  TurnDetail,
} from '../../records/view/view-data.ts';
import { knownWords, STANDING, verdictWords } from '../../records/view/view-words.ts';
import { countOf } from '../../report/amounts.ts';
import { visibleName } from '../../report/bounded.ts';
import { diffTable, layoutButtons } from './diff.ts';
import { FilePage } from './file.ts';
import { html, kindMark, lineCounts, longTime, pathSpan, safe, tint, who } from './html.ts';
import { rowLink } from './list.ts';
import { ask, closeDetail, detail, narrowTo, pageAddress, selected, sessions, start } from './state.ts';
import { offerUndo, tell } from './undo.ts';

export function DetailPane(): VNode {
  const shown = detail.value;
  return html`<article class="detail" aria-label="Details" aria-busy=${selected.value !== undefined && shown === undefined}>
    ${selected.value === undefined ? html`<${Welcome} />` : html`<button type="button" class="back" onClick=${closeDetail}>← Back</button>`}
    ${shown === undefined ? null : body()}
  </article>`;
}

function body(): VNode | null {
  const shown = detail.value;
  if (shown === undefined) return null;
  if (shown.kind === 'failed') return html`<p class="bad">${safe(shown.text)}</p>`;
  if (shown.kind === 'turn') return turnOf(shown.view);
  if (shown.kind === 'file')
    return html`<${FilePage} key=${`${shown.view.root}/${shown.view.path}`} view=${shown.view} />`;
  const { view } = shown;
  if (view.kind === 'change') return changeOf(view);
  if (view.kind === 'refusal') return refusalOf(view);
  return html`${headOf({ row: view.row, title: titleOf(view.row) })}<p>${safe(view.words)}</p>${fileLink(view)}`;
}

function Welcome(): VNode {
  return html`<div class="welcome"><h2>What happened to your files</h2>${WELCOME.map(([kind, question, answer]) => html`<p><i class=${`shape ${kind}`} aria-hidden="true"></i> <b>${question}</b> <span class="dim">${answer}</span></p>`)}
    <p class="dim">Press <code>?</code> for the keys.</p></div>`;
}

const WELCOME = [
  ['change', 'Who changed it?', 'Open a change, or a file: each line names the session that wrote it.'],
  ['read', 'Had the agent read it?', 'Every change says what its session had read before.'],
  ['refusal', 'Why was it refused?', 'A refusal says what the session had seen and what had changed since.'],
  ['undo', 'Can I take it back?', 'Yes: a change, one file, single lines, or everything since a prompt.'],
] as const;

interface Head {
  readonly row: Pick<FeedRow, 'session' | 'atMs' | 'seq' | 'turn' | 'change' | 'machine'>;
  readonly title: VNode;
  readonly share?: 'entry' | 'turn';
  readonly actions?: unknown;
}

/** The title of the page's right side, with its buttons. */
function headOf({ row, title, share, actions }: Head): VNode {
  const { session, atMs, seq, turn, change } = row;
  const showTurn = (): void => void narrowTo({ turn });
  return html`<header class="bar head" style=${tint(session)}><div><h2 class="bar">${title}</h2>
    <p class="bar small dim">${who(session)}${longTime(atMs)}${clientWords(row)}${change === undefined ? null : html`<code>${change}</code>`}${turn === undefined ? null : html`<button type="button" class="link" onClick=${showTurn}>everything in this turn</button>`}</p></div>
    ${share === undefined ? null : html`${layoutButtons()}${shareMenu(share, seq)}`}${actions}</header>`;
}

function titleOf(row: FeedRow): VNode {
  return html`${kindMark(row)}<span>${safe(row.what)}</span>${pathSpan(row.path)}${row.code === undefined ? null : html`<span class="tag bad">${row.code}</span>`}${row.destroyed === true ? html`<span class="tag warn">destroyed, kept</span>` : null}`;
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
function shareMenu(kind: 'entry' | 'turn', seq: number): VNode {
  const button = (word: string, form: string, share: (text: string) => void | Promise<void>): VNode => {
    const act = async (): Promise<void> => {
      const { text } = await ask<{ readonly text: string }>(`export?kind=${kind}&seq=${seq}&form=${form}`);
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

function fileHead(file: FileDiff, action: VNode | null): VNode {
  return html`<h3 class="bar"><a href=${pageAddress({ kind: 'file', root: file.root, path: file.path })}>${pathSpan(file.path)}</a>${lineCounts(file)}<span class="dim">${safe(file.note ?? '')}</span>${action}</h3>`;
}

function moreFiles(count: number): VNode | null {
  return count === 0 ? null : html`<p class="dim">${countOf(count, 'more file')} not shown.</p>`;
}

function changeOf(view: ChangeView): VNode {
  const { row, files, standing, undoneBy, undoes, command } = view;
  const canUndo = start.value?.canUndo === true && standing !== 'taken back' && row.change !== undefined;
  const undo = (title: string, more: object) => (): void =>
    void offerUndo(title, 'undo', { change: row.change, ...more });
  const undoAll = html`<button type="button" class="undo-this" onClick=${undo(`Take back this change of ${row.session}?`, {})}>${row.undo === true ? 'Redo' : 'Undo this change'}</button>`;
  return html`${headOf({ row, title: titleOf(row), share: 'entry', actions: canUndo ? undoAll : null })}
    ${start.value?.readOnly === undefined ? null : html`<p class="dim">Read-only: ${safe(start.value.readOnly)}.</p>`}
    ${standing === 'stands' ? null : html`<div class="banner"><p>${STANDING[standing]}</p>${undoneBy.map(rowLink)}</div>`}
    ${undoes === undefined ? null : html`<div class="banner"><p>This change undid:</p>${rowLink(undoes)}</div>`}
    ${command === undefined ? null : html`<p>Made by the command <code>${safe(command)}</code></p>`}
    ${view.notices.map((notice) => html`<p class="banner warn">${notice}</p>`)}
    ${files.map((file) => {
      const { root, path, known } = file;
      const undoFile = undo(`Take back what this change did to ${visibleName(path)}?`, { root, path });
      const action = html`<button type="button" class="small push" onClick=${undoFile}>Undo this file</button>`;
      const undoPart = (hunk: number): void => undo('Take back these lines?', { root, path, hunk })();
      return html`<section class="file">${fileHead(file, canUndo && files.length > 1 ? action : null)}
      <p class=${`known dim small ${known.state}`}><b>Had it read the file?</b> ${safe(knownWords(known))}</p>${diffTable(file, canUndo && file.parts ? undoPart : undefined)}</section>`;
    })}${moreFiles(view.more)}`;
}

function refusalOf(view: RefusalView): VNode {
  const { row, since, after, writers, next } = view;
  return html`${headOf({ row, title: titleOf(row), share: 'entry' })}
    ${view.observed === true ? html`<p class="banner warn">The call passed, because the policy only observes (mode: observe).</p>` : null}
    <p>${view.why}${view.reason === undefined ? '' : ` (${safe(view.reason)})`}</p>
    <p class=${`banner verdict ${view.verdict.replace(' ', '-')}`}><b>${verdictWords(view)}</b> ${safe(view.because)}</p>
    <dl>
      <dt class="dim">What the session had seen</dt><dd>${view.seen}</dd>
      ${writers.length === 0 ? null : html`<dt class="dim">Changed since by</dt><dd>${writers.map(rowLink)}</dd>`}
      ${next === undefined ? null : html`<dt class="dim">Next step given</dt><dd>${next}</dd>`}
      <dt class="dim">Then</dt><dd>${after === undefined ? 'The session has not tried again.' : html`${safe(after.words)}. ${rowLink(after.row)}`}</dd>
    </dl>
    ${fileLink(view)}
    ${since === undefined ? null : html`<section class="file"><h3 class="bar">What changed since the session saw the file ${lineCounts(since)}</h3>${diffTable(since)}</section>`}`;
}

/** A link to the page of the file that an entry is about, if the file is in its workspace. */
function fileLink({ row: { path = '' }, root }: RefusalView | PlainView): VNode | null {
  if (path === '' || path.startsWith('/') || path.startsWith('..')) return null;
  return html`<p><a href=${pageAddress({ kind: 'file', root, path })}>Who has seen which lines of this file</a></p>`;
}

function turnOf({ row, files, more }: TurnDetail): VNode {
  const rewind = (words: string, everyone: object): VNode => {
    const offer = (): void =>
      void offerUndo(`${words} "${row.words}"?`, 'rewind', { seq: row.seq, ...everyone });
    const isForAll = 'everyone' in everyone;
    return html`<button type="button" class=${isForAll ? '' : 'undo-this'} onClick=${offer}>${isForAll ? 'For all sessions' : 'Rewind to before this'}</button>`;
  };
  const canUndo = start.value?.canUndo === true && files.length > 0;
  const actions = canUndo
    ? [rewind('Return to before', {}), rewind('For all sessions, return to before', { everyone: true })]
    : [];
  const changed = `What this turn changed: ${countOf(files.length, 'file')}${row.stands ? '' : ' (taken back since)'}.`;
  return html`${headOf({ row, title: html`<span class="prompt">${safe(row.words)}</span>`, share: 'turn', actions })}
    <p>${files.length === 0 ? 'This turn changed no file.' : changed}</p>
    ${files.map((file) => html`<section class="file">${fileHead(file, null)}${diffTable(file)}</section>`)}${moreFiles(more)}`;
}
