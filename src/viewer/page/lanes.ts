import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { durationWords, laneAxis } from '../../records/view/lanes.ts';
import type { FeedRow } from '../../records/view/view-data.ts';
import { openRow } from './feed.ts';
import { clock, html, safe } from './html.ts';
import { hueOf, rows, selected } from './state.ts';

const LANE = 26;
const TOP = 8;
const FOOT = 20;
const MAX_LANES = 12;
/** Only this many entries are drawn, the newest ones. More could not be distinguished on any screen. */
const MAX_MARKS = 1000;
const HIT = 12;

interface Mark {
  readonly x: number;
  readonly y: number;
  readonly row: FeedRow;
}

/**
 * One lane per session, with time from left to right and idle time cut. Hidden from screen readers,
 * because the feed has the same entries as a list.
 */
export function Lanes(): VNode | null {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [hover, setHover] = useState<Mark | undefined>(undefined);
  const [dark, setDark] = useState(matchMedia('(prefers-color-scheme: dark)').matches);
  const marks = useRef<readonly Mark[]>([]);
  const shown = rows.value.slice(0, MAX_MARKS).reverse();
  const lanes = [...new Set(rows.value.slice(0, MAX_MARKS).map(({ session }) => session))]
    .slice(0, MAX_LANES)
    .sort();
  const height = TOP + lanes.length * LANE + FOOT;
  useEffect(() => {
    const node = canvas.current?.parentElement;
    if (node === null || node === undefined) return undefined;
    const observer = new ResizeObserver(() => setWidth(node.clientWidth));
    observer.observe(node);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const change = (): void => setDark(scheme.matches);
    scheme.addEventListener('change', change);
    return () => {
      observer.disconnect();
      scheme.removeEventListener('change', change);
    };
  }, [lanes.length > 0]);
  const now = selected.value;
  const on = now?.kind === 'entry' ? now.seq : 0;
  useEffect(() => {
    if (canvas.current !== null && width > 0)
      marks.current = draw(canvas.current, { shown, lanes, width, height, dark, on });
  });
  if (lanes.length === 0) return null;
  const find = (event: MouseEvent): Mark | undefined => nearest(marks.current, event.offsetX, event.offsetY);
  return html`<section class="lanes" aria-hidden="true">
    <canvas ref=${canvas} style=${{ width: '100%', height: `${height}px`, cursor: hover === undefined ? 'default' : 'pointer' }}
      onMouseMove=${(event: MouseEvent) => setHover(find(event))} onMouseLeave=${() => setHover(undefined)}
      onClick=${(event: MouseEvent) => {
        const mark = find(event);
        if (mark !== undefined) openRow(mark.row);
      }}></canvas>
    ${hover === undefined ? null : html`<div class="tip" style=${{ left: `${Math.min(hover.x, width - 250)}px`, top: `${hover.y + 14}px` }}>${clock(hover.row.atMs)} <b>${safe(hover.row.what)}</b> ${safe(hover.row.path ?? '')} ${hover.row.code ?? ''}</div>`}
  </section>`;
}

function nearest(marks: readonly Mark[], x: number, y: number): Mark | undefined {
  let best: Mark | undefined;
  let least = HIT;
  for (const mark of marks) {
    const distance = Math.hypot(mark.x - x, mark.y - y);
    if (distance < least) {
      best = mark;
      least = distance;
    }
  }
  return best;
}

interface Scene {
  /** The drawn entries, oldest first. */
  readonly shown: readonly FeedRow[];
  readonly lanes: readonly string[];
  readonly width: number;
  readonly height: number;
  readonly dark: boolean;
  readonly on: number;
}

function draw(canvas: HTMLCanvasElement, { shown, lanes, width, height, dark, on }: Scene): Mark[] {
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext('2d');
  if (pen === null) return [];
  pen.scale(scale, scale);
  const narrow = width < 600;
  const left = narrow ? 12 : 132;
  const right = width - 16;
  const quiet = dark ? '#9aa4b5' : '#5b6575';
  const rail = dark ? '#2b323e' : '#e4e8ee';
  pen.font = '12px system-ui, sans-serif';
  pen.textBaseline = 'middle';
  for (const [i, id] of lanes.entries()) {
    const y = TOP + i * LANE + LANE / 2;
    pen.strokeStyle = rail;
    line(pen, left, y, right, y);
    if (narrow) continue;
    pen.fillStyle = colour({ session: id, dark });
    pen.fillText(fitted(pen, safe(id), left - 22), 4, y);
  }
  const axis = laneAxis(shown.map(({ atMs }) => atMs));
  const place = (at: number): number => left + 8 + at * (right - left - 16);
  pen.textAlign = 'center';
  for (const { at } of axis.cuts) {
    const x = place(at);
    pen.setLineDash([2, 4]);
    pen.strokeStyle = dark ? '#4a5362' : '#b9c1cd';
    line(pen, x, TOP, x, height - FOOT);
    pen.setLineDash([]);
  }
  labels(pen, {
    axis: axis.cuts.map(({ at, ms }) => [place(at), `${durationWords(ms)} idle`] as const),
    y: height - 9,
    quiet,
    left,
    right,
    ends: [shown[0]?.atMs, shown.at(-1)?.atMs],
  });
  const marks: Mark[] = [];
  for (const [i, row] of shown.entries()) {
    const lane = lanes.indexOf(row.session);
    if (lane < 0) continue;
    const mark = { x: place(axis.at[i] ?? 0), y: TOP + lane * LANE + LANE / 2, row };
    marks.push(mark);
    drawMark(pen, mark, { dark, isOn: row.seq === on });
  }
  return marks;
}

function labels(
  pen: CanvasRenderingContext2D,
  {
    axis,
    y,
    quiet,
    left,
    right,
    ends,
  }: {
    axis: readonly (readonly [number, string])[];
    y: number;
    quiet: string;
    left: number;
    right: number;
    ends: readonly (number | undefined)[];
  },
): void {
  pen.fillStyle = quiet;
  pen.font = '11px system-ui, sans-serif';
  const [first, last] = ends;
  if (first === undefined || last === undefined) return;
  pen.textAlign = 'left';
  pen.fillText(clock(first), left, y);
  const end = right - pen.measureText(clock(last)).width;
  pen.fillText(clock(last), end, y);
  pen.textAlign = 'center';
  let free = left + pen.measureText(clock(first)).width + 16;
  for (const [x, text] of axis) {
    const half = pen.measureText(text).width / 2;
    if (x - half < free || x + half > end - 16) continue;
    pen.fillText(text, x, y);
    free = x + half + 16;
  }
}

function drawMark(
  pen: CanvasRenderingContext2D,
  { x, y, row }: Mark,
  { dark, isOn }: { dark: boolean; isOn: boolean },
): void {
  const ink = colour({ session: row.session, dark });
  const paper = dark ? '#171b22' : '#fff';
  pen.lineWidth = 1.8;
  pen.strokeStyle = ink;
  pen.fillStyle = ink;
  if (isOn) {
    pen.fillStyle = dark ? '#39435a' : '#dbe4fb';
    pen.beginPath();
    pen.arc(x, y, 11, 0, 7);
    pen.fill();
  }
  pen.beginPath();
  if (row.kind === 'read' || row.kind === 'look') {
    pen.arc(x, y, 3.6, 0, 7);
    pen.fillStyle = paper;
  } else if (row.kind === 'change') {
    pen.roundRect(x - 5, y - 5, 10, 10, 2);
    pen.fillStyle = row.undo === true ? paper : ink;
  } else if (row.kind === 'refusal') {
    pen.moveTo(x, y - 7);
    pen.lineTo(x + 7, y + 5.5);
    pen.lineTo(x - 7, y + 5.5);
    pen.closePath();
    pen.fillStyle = pen.strokeStyle = dark ? '#ff7b72' : '#c3362b';
  } else {
    pen.moveTo(x, y - 6);
    pen.lineTo(x, y + 6);
    pen.lineWidth = row.kind === 'turn' ? 3 : 1;
  }
  pen.fill();
  pen.stroke();
  pen.lineWidth = 1;
}

function line(pen: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
}

function colour({ session, dark }: { readonly session: string; readonly dark: boolean }): string {
  const hue = hueOf(session);
  const strength = hue === undefined ? 8 : 62;
  return `hsl(${hue ?? 220} ${strength}% ${dark ? 68 : 36}%)`;
}

function fitted(pen: CanvasRenderingContext2D, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}
