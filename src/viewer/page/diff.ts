import { type Signal, signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { DiffRow, FileDiff } from '../../records/view/view-data.ts';
import { visibleName } from '../../report/bounded.ts';
import { colouring } from './colours.ts';
import type { Token } from './highlight.ts';
import { html, narrowPage, safe } from './html.ts';
import { contextLines, show } from './state.ts';

const SIGNS = { '-': 'removed', '+': 'added', ' ': '' } as const;
/** The numbers of unchanged lines that are shown around a hunk, one after the other on demand. */
const CONTEXTS = [25, 1_000_000];

/** True if diffs are shown in two columns. The browser remembers it for the next visit of the page. */
const isSplit: Signal<boolean> = signal(localStorage.getItem('diff') === 'Split');

/** The buttons that choose between one and two columns. */
export function layoutButtons(): VNode {
  const button = (word: 'Unified' | 'Split'): VNode => {
    const set = (): void => {
      isSplit.value = word === 'Split';
      localStorage.setItem('diff', word);
    };
    return html`<button type="button" aria-pressed=${isSplit.value === (word === 'Split')} onClick=${set}>${word}</button>`;
  };
  return html`<div class="segments" role="group" aria-label="Layout of differences">${button('Unified')}${button('Split')}</div>`;
}

/**
 * The rows of a diff. If it has several hunks and `onPart` is given, each hunk can be undone
 * separately.
 */
export function diffTable(file: FileDiff, onPart?: (hunk: number) => void): VNode | null {
  const { groups, path, cut, hidden } = file;
  if (groups.length === 0) return null;
  const starts = new Map(
    groups
      .flat()
      .map((row) => [row.hunk, row] as const)
      .reverse(),
  );
  starts.delete(undefined);
  const colours = colouring(path, groups);
  const split = isSplit.value && !narrowPage.matches;
  const next = CONTEXTS.find((lines) => lines > (contextLines.value ?? 0));
  const more = (): void => {
    contextLines.value = next;
    void show();
  };
  const offer = (...shown: RowPair): VNode | null => {
    const hunk = shown.find((row) => row !== undefined && starts.get(row.hunk) === row)?.hunk;
    if (onPart === undefined || starts.size < 2 || hunk === undefined) return null;
    return html`<button type="button" class="part" onClick=${() => onPart(hunk)}>Undo these lines</button>`;
  };
  const linesOf = (rows: readonly DiffRow[]): readonly VNode[] =>
    split
      ? splitRows(rows).map((pair) => pairOf(pair, colours, offer(...pair)))
      : rows.map((row) => lineOf(row, colours, offer(row, undefined)));
  return html`<div class=${`diff${split ? ' split' : ''}`} role="region" tabindex="0" aria-label=${`Difference in ${visibleName(path)}`}>
    ${groups.map((rows, i) => html`<table key=${i}><tbody>${linesOf(rows)}</tbody></table>`)}
    ${hidden === 0 || next === undefined || cut > 0 ? null : html`<button type="button" class="context small" onClick=${more}>Show more of the ${hidden} unchanged lines</button>`}
    ${cut === 0 ? null : html`<p class="dim pad">${cut} more lines of this difference are not shown.</p>`}
  </div>`;
}

type Colours = ReadonlyMap<DiffRow, readonly Token[]>;
type RowPair = readonly [DiffRow | undefined, DiffRow | undefined];

/** Pairs removed lines with the added lines that replace them. Unchanged lines are on both sides. */
function splitRows(rows: readonly DiffRow[]): readonly RowPair[] {
  const pairs: RowPair[] = [];
  for (let at = 0; at < rows.length; ) {
    const row = rows[at];
    const olds: DiffRow[] = [];
    const news: DiffRow[] = [];
    for (; rows[at]?.sign === '-'; at += 1) olds.push(...rows.slice(at, at + 1));
    for (; rows[at]?.sign === '+'; at += 1) news.push(...rows.slice(at, at + 1));
    for (let i = 0; i < Math.max(olds.length, news.length); i += 1) pairs.push([olds[i], news[i]]);
    if (row?.sign === ' ') {
      pairs.push([row, row]);
      at += 1;
    }
  }
  return pairs;
}

function lineOf(row: DiffRow, colours: Colours, act: VNode | null): VNode {
  const { sign, before, after } = row;
  return html`<tr class=${SIGNS[sign]}><td class="no">${before ?? ''}</td><td class="no">${after ?? ''}</td><td class="text">${act}<code>${signOf(row)}${textOf(row, colours)}</code></td></tr>`;
}

function pairOf([old, fresh]: RowPair, colours: Colours, act: VNode | null): VNode {
  const side = (row: DiffRow | undefined, number: number | undefined, button: VNode | null): VNode => {
    const name = row === undefined ? 'none' : SIGNS[row.sign];
    return html`<td class=${`no ${name}`}>${number ?? ''}</td><td class=${`text ${name}`}>${button}${row === undefined ? null : html`<code>${signOf(row)}${textOf(row, colours)}</code>`}</td>`;
  };
  return html`<tr>${side(old, old?.before, null)}${side(fresh, fresh?.after, act)}</tr>`;
}

/** The sign of a line, as a word for screen readers. */
function signOf({ sign }: DiffRow): VNode {
  const word = sign === ' ' ? null : html`<span class="unseen">${SIGNS[sign]} </span>`;
  return html`${word}<span class="sign" aria-hidden="true">${sign === '-' ? '−' : sign}</span>`;
}

/** The text of a line: coloured by its syntax, with the changed words marked. */
function textOf(row: DiffRow, colours: Colours): unknown {
  const { text, marks = [] } = row;
  const tokens = colours.get(row) ?? [{ text }];
  const parts: unknown[] = [];
  let at = 0;
  for (const { text: token, type } of tokens) {
    const end = at + token.length;
    const cuts = [at, ...marks.flat().filter((cut) => cut > at && cut < end), end];
    for (const [i, from] of cuts.slice(0, -1).entries()) {
      const piece = safe(text.slice(from, cuts[i + 1]));
      const inner = type === undefined ? piece : html`<span class=${`t-${type}`}>${piece}</span>`;
      parts.push(
        marks.some(([start, stop]) => start <= from && from < stop) ? html`<mark>${inner}</mark>` : inner,
      );
    }
    at = end;
  }
  return parts;
}
