import type { VNode } from 'preact';
import type { DiffRow, FileDiff } from '../../records/view/view-data.ts';
import { visibleName } from '../../report/bounded.ts';
import { html, safe } from './html.ts';

const SIGNS = { '-': 'removed', '+': 'added', ' ': '' } as const;

interface DiffProps {
  readonly file: FileDiff;
  /** Undoes one hunk; absent if that is not offered. */
  readonly onPart?: ((hunk: number) => void) | undefined;
}

/** The rows of a diff. If it has several hunks and `onPart` is given, each hunk can be undone separately. */
export function Diff({ file, onPart }: DiffProps): VNode {
  const hunks = new Set(file.groups.flat().flatMap(({ hunk }) => (hunk === undefined ? [] : [hunk])));
  const offers = onPart !== undefined && hunks.size > 1;
  return html`<div class="diff" role="region" tabindex="0" aria-label=${`Difference in ${visibleName(file.path)}`}>
    ${file.groups.map((rows, i) => html`<table key=${i}><tbody>${rows.map((row, at) => html`<${Line} row=${row} onPart=${offers && isFirst(rows, at) && row.hunk !== undefined ? () => onPart(row.hunk ?? 0) : undefined} />`)}</tbody></table>`)}
    ${file.cut === 0 ? null : html`<p class="hint">${file.cut} more lines of this difference are not shown.</p>`}
  </div>`;
}

function isFirst(rows: readonly DiffRow[], at: number): boolean {
  return rows[at]?.hunk !== undefined && rows[at - 1]?.hunk !== rows[at]?.hunk;
}

function Line({ row, onPart }: { readonly row: DiffRow; readonly onPart?: (() => void) | undefined }): VNode {
  const { sign, before, after, text, marks } = row;
  return html`<tr class=${SIGNS[sign]}><td class="no">${before ?? ''}</td><td class="no">${after ?? ''}</td><td class="sign">${sign === ' ' ? '' : html`<span class="unseen">${SIGNS[sign]}</span><span aria-hidden="true">${sign === '-' ? '−' : '+'}</span>`}</td><td class="text"><code>${marked(text, marks)}</code></td><td class="act">${onPart === undefined ? null : html`<button type="button" class="part" onClick=${onPart}>Undo these lines</button>`}</td></tr>`;
}

function marked(text: string, marks: DiffRow['marks']): unknown {
  if (marks === undefined || marks.length === 0) return safe(text);
  const parts: unknown[] = [];
  let at = 0;
  for (const [start, end] of marks) {
    parts.push(safe(text.slice(at, start)), html`<mark>${safe(text.slice(start, end))}</mark>`);
    at = end;
  }
  return [...parts, safe(text.slice(at))];
}

export function Counts({ file }: { readonly file: FileDiff }): VNode {
  return html`<span class="counts">${file.added === 0 ? null : html`<span class="plus">+${file.added}</span>`} ${file.removed === 0 ? null : html`<span class="minus">−${file.removed}</span>`} ${file.note === undefined || file.note === '' ? null : html`<span class="note">${safe(file.note)}</span>`}</span>`;
}
