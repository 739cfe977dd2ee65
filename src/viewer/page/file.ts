import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { LineRange } from '../../model/coverage.ts';
import type { FilePicture, Strip } from '../../records/view/view-data.ts';
import { RowLink } from './feed.ts';
import { clock, html, Path, safe, tint, Who, Windowed } from './html.ts';
import { pageAddress } from './state.ts';

const LINE = 20;
const HEIGHT = 420;
const WIDTH = 34;

type LineState = 'seen' | 'stale' | 'wrote' | '';

/**
 * A file with the lines that each session has seen and written: strips over its height, and its
 * text with one column per session.
 */
export function FilePage({ view }: { readonly view: FilePicture }): VNode {
  const [at, setAt] = useState<number | undefined>(() => newestLine(view.authors));
  const total = Math.max(1, view.totalLines);
  return html`<header class="head"><div><h2><${Path} path=${view.path} /></h2><p class="meta">${view.totalLines} lines${view.note === undefined ? '' : ` · ${safe(view.note)}`}</p></div></header>
    <ul class="strip-words">${view.strips.map((strip) => html`<li style=${tint(strip.session)}><${Who} id=${strip.session} /> ${strip.words}</li>`)}</ul>
    ${view.strips.length === 0 ? null : html`<p class="legend" aria-hidden="true"><span><i class="cell seen"></i>knows it as it is</span><span><i class="cell stale"></i>changed since it read it</span><span><i class="cell wrote"></i>wrote it</span><span><i class="cell"></i>never shown</span></p>`}
    ${
      view.lines.length === 0
        ? null
        : html`<div class="picture">
      <div class="strips" role="img" aria-label=${view.strips.map(stripLabel).join('. ')}>${view.strips.map((strip) => html`<${StripColumn} strip=${strip} total=${total} go=${setAt} />`)}</div>
      <${Windowed} label="Text of the file" class="source" count=${view.lines.length} rowHeight=${LINE} at=${at} row=${(i: number) => html`<${SourceLine} key=${i} view=${view} index=${i} />`} />
    </div>`
    }
    ${view.history.length === 0 ? null : html`<section class="history"><h3>What happened to it</h3><ol>${view.history.map((row) => html`<li><${RowLink} row=${row} /></li>`)}</ol></section>`}`;
}

/** The first line of the newest change that is still in the text. */
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

/** Hashes a text for use in an id: ids must be unique and plain, and session names are neither. */
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
