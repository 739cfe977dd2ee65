import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { LineRange } from '../../model/coverage.ts';
import type { FilePicture, Strip } from '../../records/view/view-data.ts';
import { countOf } from '../../report/amounts.ts';
import { ageOf, html, pathSpan, safe, sessionName, tint, Windowed, who } from './html.ts';
import { rowLink } from './list.ts';
import { pageAddress } from './state.ts';

const LINE = 20;

type LineState = 'seen' | 'stale' | 'wrote' | '';

/**
 * Shows one file: for each session a strip with the lines that the session has seen and written,
 * then the text with one column per session.
 */
export function FilePage({ view }: { readonly view: FilePicture }): VNode {
  const [at, setAt] = useState<number | undefined>(() => newestLine(view.authors));
  const { strips, lines, totalLines, note, history } = view;
  return html`<header class="head"><div><h2>${pathSpan(view.path)}</h2><p class="dim small">${safe(note ?? countOf(totalLines, 'line'))}</p></div></header>
    <ul>${strips.map((strip) => html`<li>${who(strip.session)} ${strip.words}</li>`)}</ul>
    ${lines.length === 0 ? null : html`<p class="bar small dim" aria-hidden="true"><i class="cell seen"></i>has seen it<i class="cell stale"></i>changed since it was read<i class="cell wrote"></i>wrote it<i class="cell"></i>never shown</p>`}
    ${
      lines.length === 0
        ? null
        : html`<div class="picture">
      <div class="strips bar" role="img" aria-label=${strips.map(stripLabel).join('. ')}>${strips.map((strip) => stripOf(strip, Math.max(1, totalLines), setAt))}</div>
      <${Windowed} label="Text of the file" class="source" count=${lines.length} rowHeight=${LINE} at=${at} row=${(i: number) => sourceLine(view, i)} />
    </div>`
    }
    ${history.length === 0 ? null : html`<section class="file history"><h3>What happened to this file</h3><ol>${history.map((row) => html`<li>${rowLink(row)}</li>`)}</ol></section>`}`;
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

/** The lines of one session over the height of the file. A click goes to the line. */
function stripOf(strip: Strip, total: number, go: (line: number) => void): VNode {
  const percent = (lines: number): string => `${(lines / total) * 100}%`;
  const cells = (ranges: readonly LineRange[], state: LineState): unknown =>
    ranges.map(
      ({ from, to }) =>
        html`<i class=${`cell ${state}`} style=${{ top: percent(from - 1), height: percent(to + 1 - from) }}></i>`,
    );
  const jump = (event: MouseEvent): void => {
    const { top, height } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    go(Math.floor(((event.clientY - top) / height) * total));
  };
  return html`<div class="strip" style=${tint(strip.session)} onClick=${jump} title=${`${sessionName(strip.session)}: ${strip.words}`}>${cells(strip.seen, 'seen')}${cells(strip.stale, 'stale')}${cells(strip.wrote, 'wrote')}</div>`;
}

function sourceLine(view: FilePicture, index: number): VNode {
  const number = index + 1;
  const author = view.authors[index] ?? -1;
  const row = author >= 0 && view.authors[index - 1] !== author ? view.history[author] : undefined;
  return html`<li key=${number} class="source-line mono"><span class="no">${number}</span>${view.strips.map((strip) => html`<i class=${`cell ${stateOf(strip, number)}`} style=${tint(strip.session)} aria-hidden="true"></i>`)}<code class="clip">${safe(view.lines[index] ?? '')}</code>${row === undefined ? null : html`<a class="author" style=${tint(row.session)} href=${pageAddress({ kind: 'entry', seq: row.seq })}>${sessionName(row.session)} ${ageOf(row.atMs)}</a>`}</li>`;
}

function stateOf({ seen, stale, wrote }: Strip, line: number): LineState {
  const isIn = (ranges: readonly LineRange[]): boolean =>
    ranges.some(({ from, to }) => from <= line && line <= to);
  if (isIn(wrote)) return 'wrote';
  if (isIn(stale)) return 'stale';
  return isIn(seen) ? 'seen' : '';
}
