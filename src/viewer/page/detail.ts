import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LineRange } from '../../model/coverage.ts';
import type {
  ChangeView,
  FeedRow,
  FileDiff,
  FilePicture,
  Numbers,
  PlainView,
  RefusalView,
  Strip,
  TurnDetail,
} from '../../records/view/view-data.ts';
import { byteSize } from '../../report/amounts.ts';
import { Counts, Diff } from './diff.ts';
import { KindMark, RowLink } from './feed.ts';
import { clock, html, Path, safe, Time, tint, Who, Windowed } from './html.ts';
import {
  ask,
  closeDetail,
  countedText,
  countText,
  detail,
  narrowTo,
  pageAddress,
  selected,
  sessions,
  start,
  tab,
} from './state.ts';
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
      <li><i class="shape read" aria-hidden="true"></i><p><b>Had the agent read it?</b> Every change says what its session had read before.</p></li>
      <li><i class="shape refusal" aria-hidden="true"></i><p><b>Why was it refused?</b> A refusal says what the session had seen and what had changed since.</p></li>
      <li><i class="shape undo" aria-hidden="true"></i><p><b>Undo</b>: a change, one file, single lines, or everything since a prompt.</p></li>
    </ul></div>`;
}

function Head({ row, children }: { readonly row: FeedRow; readonly children?: unknown }): VNode {
  return html`<header class="head" style=${tint(row.session)}><div><h2><${KindMark} row=${row} /><${Who} id=${row.session} /> <span>${safe(row.what)}</span> ${row.code === undefined ? null : html`<span class="code">${row.code}</span>`}</h2>
    <p class="meta"><${Time} ms=${row.atMs} />${clientWords(row)}${row.change === undefined ? null : html` · change <code>${row.change}</code>`}${
      row.turn === undefined
        ? null
        : html` · <button type="button" class="link" onClick=${() => {
            tab.value = 'activity';
            void narrowTo({ turn: row.turn });
          }}>its turn</button>`
    }</p></div><div class="actions">${children}</div></header>`;
}

/**
 * The program that the session belongs to, and the machine of the entry if it is not the viewer's
 * machine.
 */
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
  return html`<${Head} row=${row}>${canUndo ? html`<button type="button" class="undo-this" onClick=${() => undo(`Take back this change of ${row.session}?`, {})}>${row.undo === true ? 'Redo' : 'Undo this change'}</button>` : null}<//>
    ${start.value?.readOnly === undefined ? null : html`<p class="hint">Read-only: ${safe(start.value.readOnly)}.</p>`}
    ${standing === 'stands' ? null : html`<div class="banner"><p>${STANDING[standing]}</p>${view.undoneBy.map((each) => html`<${RowLink} row=${each} />`)}</div>`}
    ${view.undoes === undefined ? null : html`<div class="banner"><p>This change undid:</p><${RowLink} row=${view.undoes} /></div>`}
    ${view.command === undefined ? null : html`<p>Made by the command <code class="command">${safe(view.command)}</code></p>`}
    ${view.notices.map((notice) => html`<p class="remark">${notice}</p>`)}
    ${files.map(
      (
        file,
      ) => html`<section class="file"><h3><a href=${pageAddress({ kind: 'file', root: file.root, path: file.path })}><${Path} path=${file.path} /></a> <${Counts} file=${file} />${canUndo && files.length > 1 ? html`<button type="button" class="small" onClick=${() => undo(`Take back what this change did to ${file.path}?`, { root: file.root, path: file.path })}>Undo this file</button>` : null}</h3>
      <p class=${`known ${file.known.state}`}><span class="eye" aria-hidden="true"></span><b>Had it read the file?</b> ${KNOWN[file.known.state]} ${sentence(file.known.words)}</p>
      <${Diff} file=${file} onPart=${canUndo && file.parts ? (hunk: number) => undo('Take back these lines?', { root: file.root, path: file.path, hunk }) : undefined} /></section>`,
    )}
    ${view.more === 0 ? null : html`<p class="hint">${view.more} more files are not shown.</p>`}`;
}

const KNOWN: Readonly<Record<ChangeView['files'][number]['known']['state'], string>> = {
  new: 'New file:',
  wrote: 'Yes:',
  whole: 'Yes:',
  part: 'In part:',
  older: 'Not this version:',
  unknown: 'No:',
};

function sentence(words: string): string {
  return `${safe(words)}.`;
}

const VERDICTS: Readonly<Record<RefusalView['verdict'], string>> = {
  right: 'Refusing was right.',
  'false alarm': 'This was a false alarm.',
  'cannot tell': 'It is not known whether refusing was right.',
};

/** The verdicts on refusals that were only recorded. */
const OBSERVED_VERDICTS: Readonly<Record<RefusalView['verdict'], string>> = {
  right: 'Refusing would have been right.',
  'false alarm': 'Refusing would have been a false alarm.',
  'cannot tell': 'It is not known whether refusing would have been right.',
};

function Refusal({ view }: { readonly view: RefusalView }): VNode {
  const { row, root } = view;
  const verdicts = view.observed === true ? OBSERVED_VERDICTS : VERDICTS;
  return html`<${Head} row=${row} />
    ${view.observed === true ? html`<p class="remark">The call passed, because the policy only observes (mode: observe).</p>` : null}
    ${row.path === undefined ? null : html`<p class="lead"><${Path} path=${row.path} /></p>`}
    <p class="lead">${view.why}${view.reason === undefined ? '' : ` (${safe(view.reason)})`}</p>
    <p class=${`verdict ${view.verdict.replace(' ', '-')}`}><b>${verdicts[view.verdict]}</b> ${safe(view.because)}</p>
    <dl>
      <dt>What the session had seen</dt><dd>${view.seen}</dd>
      ${view.writers.length === 0 ? null : html`<dt>Changed since by</dt><dd>${view.writers.map((each) => html`<${RowLink} row=${each} />`)}</dd>`}
      ${view.next === undefined ? null : html`<dt>Next step given</dt><dd>${view.next}</dd>`}
      <dt>Then</dt><dd>${view.after === undefined ? 'The session has not tried again.' : html`${sentence(view.after.words)} <${RowLink} row=${view.after.row} />`}</dd>
    </dl>
    ${view.since === undefined ? null : html`<section class="file"><h3>What changed since the session saw the file <${Counts} file=${view.since} /></h3><${Diff} file=${view.since} /></section>`}
    ${row.path === undefined || row.path.startsWith('/') || row.path.startsWith('..') || row.path === '' ? null : html`<p><a href=${pageAddress({ kind: 'file', root, path: row.path })}>Who has seen which lines of this file</a></p>`}`;
}

function Plain({ view }: { readonly view: PlainView }): VNode {
  const { row, root } = view;
  return html`<${Head} row=${row} />${row.path === undefined || row.path === '' ? null : html`<p class="lead"><a href=${pageAddress({ kind: 'file', root, path: row.path })}><${Path} path=${row.path} /></a></p>`}<p>${safe(view.words)}</p>`;
}

function Turn({ view }: { readonly view: TurnDetail }): VNode {
  const { row, files } = view;
  const rewind = (everyone: object, title: string): void =>
    void offerUndo(title, 'rewind', { seq: row.seq, ...everyone });
  const canUndo = start.value?.canUndo === true;
  return html`<header class="head"><div><h2 class="prompt">${safe(row.words)}</h2><p class="meta"><${Who} id=${row.session} /> <${Time} ms=${row.atMs} /> · <button type="button" class="link" onClick=${() => {
    tab.value = 'activity';
    void narrowTo({ turn: row.turn });
  }}>everything in this turn</button></p></div>
    <div class="actions">${canUndo ? html`<button type="button" class="undo-this" onClick=${() => rewind({}, `Return to before "${row.words}"?`)}>Rewind to before this</button><button type="button" onClick=${() => rewind({ everyone: true }, `Return to before "${row.words}", for every session?`)}>For all sessions</button>` : null}</div></header>
    <p class="lead">${files.length === 0 ? 'This turn changed no file.' : `What this turn changed: ${files.length} ${files.length === 1 ? 'file' : 'files'}${row.stands ? '' : ' (taken back since)'}.`}</p>
    ${files.map((file: FileDiff) => html`<section class="file"><h3><a href=${pageAddress({ kind: 'file', root: file.root, path: file.path })}><${Path} path=${file.path} /></a> <${Counts} file=${file} /></h3><${Diff} file=${file} /></section>`)}
    ${view.more === 0 ? null : html`<p class="hint">${view.more} more files are not shown.</p>`}`;
}

const LINE = 20;
const HEIGHT = 420;
const WIDTH = 34;

type LineState = 'seen' | 'stale' | 'wrote' | '';

/**
 * Shows one file: for each session a strip with the lines that the session has seen and written,
 * then the text with one column per session.
 */
function FilePage({ view }: { readonly view: FilePicture }): VNode {
  const [at, setAt] = useState<number | undefined>(() => newestLine(view.authors));
  const total = Math.max(1, view.totalLines);
  return html`<header class="head"><div><h2><${Path} path=${view.path} /></h2><p class="meta">${view.totalLines} lines${view.note === undefined ? '' : ` · ${safe(view.note)}`}</p></div></header>
    <ul class="strip-words">${view.strips.map((strip) => html`<li style=${tint(strip.session)}><${Who} id=${strip.session} /> ${strip.words}</li>`)}</ul>
    ${view.strips.length === 0 ? null : html`<p class="legend" aria-hidden="true"><span><i class="cell seen"></i>has seen it</span><span><i class="cell stale"></i>changed since it was read</span><span><i class="cell wrote"></i>wrote it</span><span><i class="cell"></i>never shown</span></p>`}
    ${
      view.lines.length === 0
        ? null
        : html`<div class="picture">
      <div class="strips" role="img" aria-label=${view.strips.map(stripLabel).join('. ')}>${view.strips.map((strip) => html`<${StripColumn} strip=${strip} total=${total} go=${setAt} />`)}</div>
      <${Windowed} label="Text of the file" class="source" count=${view.lines.length} rowHeight=${LINE} at=${at} row=${(i: number) => html`<${SourceLine} key=${i} view=${view} index=${i} />`} />
    </div>`
    }
    ${view.history.length === 0 ? null : html`<section class="history"><h3>What happened to this file</h3><ol>${view.history.map((row) => html`<li><${RowLink} row=${row} /></li>`)}</ol></section>`}`;
}

/** The index of the first line that the newest change wrote; undefined if no change wrote any. */
function newestLine(authors: readonly number[]): number | undefined {
  const changes = authors.filter((author) => author >= 0);
  return changes.length === 0 ? undefined : authors.indexOf(Math.min(...changes));
}

function stripLabel({ session, seen, stale, wrote }: Strip): string {
  const words = (name: string, ranges: readonly LineRange[]): string =>
    `${name} ${ranges.length === 0 ? 'none' : ranges.map(({ from, to }) => `${from}-${to}`).join(', ')}`;
  return `${safe(session)}: ${words('knows lines', seen)}; ${words('changed since', stale)}; ${words('wrote', wrote)}`;
}

function StripColumn({
  strip,
  total,
  go,
}: {
  readonly strip: Strip;
  readonly total: number;
  readonly go: (line: number) => void;
}): VNode {
  const y = (line: number): number => ((line - 1) / total) * HEIGHT;
  const rects = (ranges: readonly LineRange[], name: string, least: number): unknown =>
    ranges.map(
      ({ from, to }) =>
        html`<rect class=${name} x="0" y=${y(from)} width=${WIDTH} height=${Math.max(least, y(to + 1) - y(from))} />`,
    );
  return html`<div class="strip" style=${tint(strip.session)} onClick=${(event: MouseEvent) => go(Math.floor((event.offsetY / HEIGHT) * total))} title=${`${safe(strip.session)}: ${strip.words}`}>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} width=${WIDTH} height=${HEIGHT} aria-hidden="true">
      <defs><pattern id=${`stale-${hash(strip.session)}`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="6" /></pattern></defs>
      ${rects(strip.seen, 'seen', 1)}${rects(strip.stale, 'paper', 4)}
      ${strip.stale.map(({ from, to }) => html`<rect x="0" y=${y(from)} width=${WIDTH} height=${Math.max(4, y(to + 1) - y(from))} fill=${`url(#stale-${hash(strip.session)})`} />`)}
      ${rects(strip.wrote, 'wrote', 3)}<rect class="frame" x="0.5" y="0.5" width=${WIDTH - 1} height=${HEIGHT - 1} rx="4" />
    </svg></div>`;
}

/**
 * Hashes a session name for use in an element's id. The name itself may contain characters that an
 * id must not have.
 */
function hash(text: string): number {
  let value = 7;
  for (const char of text) value = (value * 31 + (char.codePointAt(0) ?? 0)) >>> 0;
  return value;
}

function SourceLine({ view, index }: { readonly view: FilePicture; readonly index: number }): VNode {
  const number = index + 1;
  const author = view.authors[index] ?? -1;
  const row = author >= 0 && view.authors[index - 1] !== author ? view.history[author] : undefined;
  return html`<li class="source-line"><span class="no">${number}</span>${view.strips.map((strip) => html`<i class=${`cell ${stateOf(strip, number)}`} style=${tint(strip.session)} aria-hidden="true"></i>`)}<code>${safe(view.lines[index] ?? '')}</code>${row === undefined ? null : html`<a class="author" style=${tint(row.session)} href=${pageAddress({ kind: 'entry', seq: row.seq })}>${safe(row.session)} <span>${clock(row.atMs)}</span></a>`}</li>`;
}

function stateOf({ seen, stale, wrote }: Strip, line: number): LineState {
  const isIn = (ranges: readonly LineRange[]): boolean =>
    ranges.some(({ from, to }) => from <= line && line <= to);
  if (isIn(wrote)) return 'wrote';
  if (isIn(stale)) return 'stale';
  return isIn(seen) ? 'seen' : '';
}

/** The approximate number of bytes of text per token of a model. */
const BYTES_PER_TOKEN = 4;
const MAX_DAYS = 30;

type Chain =
  | { readonly ok: true; readonly entries: number }
  | { readonly ok: false; readonly seq: number; readonly problem: string };

const chain = signal<Chain | 'checking' | 'failed' | undefined>(undefined);

async function verify(): Promise<void> {
  chain.value = 'checking';
  chain.value = await ask<Chain>('verify').catch(() => 'failed' as const);
}

export function NumbersPane(): VNode {
  useEffect(() => void countText(), []);
  const all = countedText.value;
  if (all === undefined) return html`<p class="hint" role="status">counting…</p>`;
  const { numbers, state } = all;
  const saved = Math.max(0, numbers.saved.rereadBytes - numbers.saved.diffBytes);
  return html`<div class="numbers">
    <section class="wide"><h2>What was prevented</h2><p class="big">${prevented(numbers.byCode)}</p></section>
    <section><h2>Refusals</h2><p class="big">${numbers.refusals}</p><p class="meta">the newest, at most 20,000</p>
      <table class="bars"><tbody>${numbers.byCode.map(
        ([code, times]) =>
          html`<tr><th scope="row"><button type="button" class="link" onClick=${() => {
            tab.value = 'activity';
            void narrowTo({ code, kinds: ['refusal'] });
          }}>${code}</button></th><td><i style=${{ width: `${(times / (numbers.byCode[0]?.[1] ?? 1)) * 100}%` }}></i></td><td class="n">${times}</td></tr>`,
      )}</tbody></table></section>
    <section><h2>By day</h2>${numbers.byDay.length === 0 ? html`<p class="hint">None.</p>` : html`<table class="bars"><tbody>${numbers.byDay.slice(-MAX_DAYS).map(([day, times]) => html`<tr><th scope="row">${day}</th><td><i style=${{ width: `${(times / Math.max(...numbers.byDay.map((each) => each[1]))) * 100}%` }}></i></td><td class="n">${times}</td></tr>`)}</tbody></table>`}</section>
    <section><h2>False alarms</h2><p class="big">${numbers.falseAlarms.length}<small> of ${numbers.refusals}</small></p><p class="meta">The bytes had not changed, or the session read the file and then wrote the same content.</p><ol class="plain">${numbers.falseAlarms.slice(0, 20).map((row) => html`<li><${RowLink} row=${row} /></li>`)}</ol></section>
    <section><h2>Saved by diffs</h2><p class="big">${byteSize(saved)}</p><p class="meta">about ${Math.round(saved / BYTES_PER_TOKEN).toLocaleString()} tokens: ${numbers.saved.times} times a session was shown what had changed (${byteSize(numbers.saved.diffBytes)}) and did not have to read the file again (${byteSize(numbers.saved.rereadBytes)}).</p></section>
    <section><h2>State</h2><p class="big">${byteSize(state.storeBytes + state.images.bytes)}</p><p class="meta">${state.entries.toLocaleString()} entries (${byteSize(state.storeBytes)}) and ${state.images.count.toLocaleString()} kept files (${byteSize(state.images.bytes)})</p></section>
    <section><h2>Journal</h2><${ChainWords} /><button type="button" disabled=${chain.value === 'checking'} onClick=${() => void verify()}>Verify the chain</button></section>
  </div>`;
}

/** Refusals as a user would say them. The codes of one line are counted together. */
const PREVENTED: readonly (readonly [words: string, codes: readonly string[]])[] = [
  ['overwrites of unread text', ['NOT_READ', 'PARTIALLY_READ', 'REDACTED_READ']],
  ['outdated edits', ['STALE', 'DELETED', 'REVISION_MISMATCH']],
  ['commands that would have destroyed work', ['WOULD_DESTROY']],
  ['steps out of the workspace', ['OUTSIDE_WORKSPACE']],
  ['changes of protected files', ['PROTECTED', 'READ_ONLY']],
];

function prevented(byCode: Numbers['byCode']): string {
  const counts = new Map(byCode);
  const parts = PREVENTED.flatMap(([words, codes]) => {
    const sum = codes.reduce((all, code) => all + (counts.get(code) ?? 0), 0);
    return sum === 0 ? [] : [`${words}: ${sum}`];
  });
  return parts.length === 0 ? 'Nothing had to be prevented yet.' : parts.join(' · ');
}

function ChainWords(): VNode {
  const now = chain.value;
  if (now === undefined) return html`<p class="meta">Every entry carries the hash of the one before it.</p>`;
  if (now === 'checking') return html`<p class="meta" role="status">verifying…</p>`;
  if (now === 'failed')
    return html`<p class="bad" role="status">The chain could not be verified, because the viewer does not answer.</p>`;
  return now.ok
    ? html`<p class="good" role="status">Intact: ${now.entries.toLocaleString()} entries in an unbroken chain.</p>`
    : html`<p class="bad" role="status">Broken at entry ${now.seq} (${now.problem}).</p>`;
}
