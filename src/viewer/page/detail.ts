import type { VNode } from 'preact';
import type {
  ChangeView,
  FeedRow,
  FileDiff,
  PlainView,
  RefusalView,
  TurnDetail,
} from '../../records/view/view-data.ts';
import { Counts, Diff } from './diff.ts';
import { KindMark, RowLink } from './feed.ts';
import { FilePage } from './file.ts';
import { html, Path, safe, Time, tint, Who } from './html.ts';
import { closeDetail, detail, narrow, pageAddress, selected, sessions, start, tab } from './state.ts';
import { offerUndo } from './undo.ts';

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
  if (shown.kind === 'turn') return html`<${Turn} view=${shown.view} />`;
  if (shown.kind === 'file')
    return html`<${FilePage} key=${`${shown.view.root}/${shown.view.path}`} view=${shown.view} />`;
  if (shown.view.kind === 'change') return html`<${Change} key=${shown.view.row.seq} view=${shown.view} />`;
  if (shown.view.kind === 'refusal') return html`<${Refusal} key=${shown.view.row.seq} view=${shown.view} />`;
  return html`<${Plain} view=${shown.view} />`;
}

function Welcome(): VNode {
  return html`<div class="welcome"><h2>What happened to your files</h2>
    <ul>
      <li><i class="shape change" aria-hidden="true"></i><p><b>Who changed it?</b> Open a change, or a file: each line names the session that wrote it.</p></li>
      <li><i class="shape read" aria-hidden="true"></i><p><b>Had it seen it?</b> Every change says what its session had read before.</p></li>
      <li><i class="shape refusal" aria-hidden="true"></i><p><b>Why was it refused?</b> A refusal says what the session had seen and what had changed since.</p></li>
      <li><i class="shape undo" aria-hidden="true"></i><p><b>Take it back</b>: a change, one file, single lines, or everything since a prompt.</p></li>
    </ul></div>`;
}

function Head({ row, children }: { readonly row: FeedRow; readonly children?: unknown }): VNode {
  return html`<header class="head" style=${tint(row.session)}><div><h2><${KindMark} row=${row} /><${Who} id=${row.session} /> <span>${safe(row.what)}</span> ${row.code === undefined ? null : html`<span class="code">${row.code}</span>`}</h2>
    <p class="meta"><${Time} ms=${row.atMs} />${clientWords(row)}${row.change === undefined ? null : html` · change <code>${row.change}</code>`}${
      row.turn === undefined
        ? null
        : html` · <button type="button" class="link" onClick=${() => {
            tab.value = 'activity';
            void narrow({ turn: row.turn });
          }}>its turn</button>`
    }</p></div><div class="actions">${children}</div></header>`;
}

/** The program that the session belongs to, and the machine if it is another one. */
function clientWords({ session, machine }: FeedRow): string {
  const client = sessions.value.find(({ id }) => id === session)?.client;
  return [client, machine].map((each) => (each === undefined ? '' : ` · ${safe(each)}`)).join('');
}

const STANDING: Readonly<Record<ChangeView['standing'], string>> = {
  stands: '',
  partly: 'Parts of this change were taken back.',
  'taken back': 'This change was taken back.',
};

function Change({ view }: { readonly view: ChangeView }): VNode {
  const { row, files, standing } = view;
  const canUndo = start.value?.canUndo === true && standing !== 'taken back' && row.change !== undefined;
  const undo = (title: string, more: object): void =>
    void offerUndo(title, 'undo', { change: row.change, ...more });
  return html`<${Head} row=${row}>${canUndo ? html`<button type="button" class="primary" onClick=${() => undo(`Take back this change of ${row.session}?`, {})}>${row.undo === true ? 'Redo' : 'Undo this change'}</button>` : null}<//>
    ${start.value?.readOnly === undefined ? null : html`<p class="hint">Read-only: ${safe(start.value.readOnly)}.</p>`}
    ${standing === 'stands' ? null : html`<div class="banner"><p>${STANDING[standing]}</p>${view.undoneBy.map((each) => html`<${RowLink} row=${each} />`)}</div>`}
    ${view.undoes === undefined ? null : html`<div class="banner"><p>It took back:</p><${RowLink} row=${view.undoes} /></div>`}
    ${view.command === undefined ? null : html`<p>A command made it: <code class="command">${safe(view.command)}</code></p>`}
    ${view.notices.map((notice) => html`<p class="remark">${notice}</p>`)}
    ${files.map(
      (
        file,
      ) => html`<section class="file"><h3><a href=${pageAddress({ kind: 'file', root: file.root, path: file.path })}><${Path} path=${file.path} /></a> <${Counts} file=${file} />${canUndo && files.length > 1 ? html`<button type="button" class="small" onClick=${() => undo(`Take back what this change did to ${file.path}?`, { root: file.root, path: file.path })}>Undo this file</button>` : null}</h3>
      <p class=${`known ${file.known.state}`}><span class="eye" aria-hidden="true"></span><b>Had it seen it?</b> ${KNOWN[file.known.state]} ${sentence(file.known.words)}</p>
      <${Diff} file=${file} onPart=${canUndo && file.parts ? (hunk: number) => undo('Take back these lines?', { root: file.root, path: file.path, hunk }) : undefined} /></section>`,
    )}
    ${view.more === 0 ? null : html`<p class="hint">${view.more} more files are not shown.</p>`}`;
}

const KNOWN: Readonly<Record<ChangeView['files'][number]['known']['state'], string>> = {
  new: 'New file:',
  wrote: 'Yes:',
  whole: 'Yes:',
  part: 'In part:',
  older: 'Not as it was:',
  unknown: 'No:',
};

function sentence(words: string): string {
  return `${safe(words)}.`;
}

const VERDICTS: Readonly<Record<RefusalView['verdict'], string>> = {
  right: 'Refusing was right.',
  'false alarm': 'This was a false alarm.',
  'cannot tell': 'Whether refusing was right cannot be told.',
};

function Refusal({ view }: { readonly view: RefusalView }): VNode {
  const { row } = view;
  const root = start.value?.folders[0] ?? '';
  return html`<${Head} row=${row} />
    ${row.path === undefined ? null : html`<p class="lead"><${Path} path=${row.path} /></p>`}
    <p class="lead">${view.why}${view.reason === undefined ? '' : ` (${safe(view.reason)})`}</p>
    <p class=${`verdict ${view.verdict.replace(' ', '-')}`}><b>${VERDICTS[view.verdict]}</b> ${safe(view.because)}</p>
    <dl>
      <dt>What it had seen</dt><dd>${view.seen}</dd>
      ${view.writers.length === 0 ? null : html`<dt>Changed since by</dt><dd>${view.writers.map((each) => html`<${RowLink} row=${each} />`)}</dd>`}
      <dt>It was told to</dt><dd>${view.next}</dd>
      <dt>Then</dt><dd>${view.after === undefined ? 'It has not tried again.' : html`${sentence(view.after.words)} <${RowLink} row=${view.after.row} />`}</dd>
    </dl>
    ${view.since === undefined ? null : html`<section class="file"><h3>What changed since it saw the file <${Counts} file=${view.since} /></h3><${Diff} file=${view.since} /></section>`}
    ${row.path === undefined || row.path.startsWith('/') || row.path.startsWith('..') || row.path === '' ? null : html`<p><a href=${pageAddress({ kind: 'file', root: view.since?.root ?? root, path: row.path })}>Who has seen which lines of this file</a></p>`}`;
}

function Plain({ view }: { readonly view: PlainView }): VNode {
  const { row } = view;
  const root = start.value?.folders[0] ?? '';
  return html`<${Head} row=${row} />${row.path === undefined || row.path === '' ? null : html`<p class="lead"><a href=${pageAddress({ kind: 'file', root, path: row.path })}><${Path} path=${row.path} /></a></p>`}<p>${safe(view.words)}</p>`;
}

function Turn({ view }: { readonly view: TurnDetail }): VNode {
  const { row, files } = view;
  const rewind = (everyone: object, title: string): void =>
    void offerUndo(title, 'rewind', { seq: row.seq, ...everyone });
  const canUndo = start.value?.canUndo === true;
  return html`<header class="head"><div><h2 class="prompt">${safe(row.words)}</h2><p class="meta"><${Who} id=${row.session} /> <${Time} ms=${row.atMs} /> · <button type="button" class="link" onClick=${() => {
    tab.value = 'activity';
    void narrow({ turn: row.turn });
  }}>everything it did</button></p></div>
    <div class="actions">${canUndo ? html`<button type="button" class="primary" onClick=${() => rewind({}, `Return to before "${row.words}"?`)}>Rewind to before this</button><button type="button" onClick=${() => rewind({ everyone: true }, `Return to before "${row.words}", for every session?`)}>For everyone</button>` : null}</div></header>
    <p class="lead">${files.length === 0 ? 'This turn changed no file.' : `What this turn changed: ${files.length} ${files.length === 1 ? 'file' : 'files'}${row.stands ? '' : ' (taken back since)'}.`}</p>
    ${files.map((file: FileDiff) => html`<section class="file"><h3><a href=${pageAddress({ kind: 'file', root: file.root, path: file.path })}><${Path} path=${file.path} /></a> <${Counts} file=${file} /></h3><${Diff} file=${file} /></section>`)}
    ${view.more === 0 ? null : html`<p class="hint">${view.more} more files are not shown.</p>`}`;
}
