import htm from 'htm';
import { type ComponentChildren, h, type VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FeedRow } from '../../records/view/view-data.ts';
import { harmless, visibleName } from '../../report/bounded.ts';
import { timeAgo } from '../../report/times.ts';
import { hueOf } from './state.ts';

/** Builds markup without a compiler. Values become text nodes or attributes, never markup. */
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => VNode = htm.bind(h) as never;

/** Matches a page that has room for one column only: the list or the detail. */
export const narrowPage: MediaQueryList = matchMedia('(max-width: 900px)');

/** Text of files and agents, with control and direction characters made visible. */
export function safe(text: string): string {
  return harmless(text);
}

/** The style variables that colour an element as belonging to this session. */
export function tint(session: string): Record<string, string> {
  const hue = hueOf(session);
  return { '--h': String(hue ?? 220), '--s': hue === undefined ? '8%' : '62%' };
}

const UUID = /([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Session ids, or words with such ids, for people. Of a UUID, they have the part before the first hyphen. */
export function sessionName(text: string): string {
  return safe(text.replace(UUID, '$1'));
}

/** The name of a session in its colour. A pointer over it shows the whole id. */
export function who(id: string): VNode {
  return html`<span class="who clip" style=${tint(id)} title=${safe(id)}>${sessionName(id)}</span>`;
}

const SQUARE = 'M-4-4H4V4H-4Z';
const SHAPES: Readonly<Record<string, string>> = {
  read: 'M-3.5 0A3.5 3.5 0 1 1 3.5 0A3.5 3.5 0 1 1-3.5 0Z',
  change: SQUARE,
  undo: SQUARE,
  refusal: 'M0-5.5L5.5 4.5H-5.5Z',
  turn: 'M-1-8H1V8H-1Z',
};

/** The symbol for entries of a kind: its name, and its outline as an SVG path around the origin. */
export function shapeOf({ kind, undo }: Pick<FeedRow, 'kind' | 'undo'>): {
  readonly name: string;
  readonly path: string;
} {
  const name = undo === true ? 'undo' : kind;
  return { name, path: SHAPES[name] ?? 'M0-4V4' };
}

export function kindMark(row: Pick<FeedRow, 'kind' | 'undo'>): VNode {
  const { name, path } = shapeOf(row);
  return html`<svg class=${`shape ${name}`} width="11" height="11" viewBox="-6 -6 12 12" aria-hidden="true"><path d=${path} /></svg>`;
}

/** A path with its folder dimmed. */
export function pathSpan(path: string | undefined): VNode | null {
  if (path === undefined || path === '') return null;
  const text = visibleName(path);
  const slash = text.lastIndexOf('/') + 1;
  // A long path breaks between its folders.
  const folders = text.slice(0, slash).split(/(?<=\/)/);
  return html`<span class="path"><span class="dim">${folders.map((each) => [each, html`<wbr />`])}</span><span>${text.slice(slash)}</span></span>`;
}

/** Added and removed lines. */
export function lineCounts({ added, removed }: { readonly added: number; readonly removed: number }): VNode {
  return html`<span class="mono">${added === 0 ? null : html`<span class="good">+${added}</span>`} ${removed === 0 ? null : html`<span class="bad">−${removed}</span>`}</span>`;
}

const DAY_MS = 24 * 3_600_000;

/** The day of a time: `Today`, `Yesterday` or a date. */
export function dayWord(ms: number): string {
  const day = new Date(ms);
  const isDay = (at: number): boolean => new Date(at).toDateString() === day.toDateString();
  if (isDay(Date.now())) return 'Today';
  if (isDay(Date.now() - DAY_MS)) return 'Yesterday';
  const isThisYear = day.getFullYear() === new Date().getFullYear();
  const year = isThisYear ? {} : ({ year: 'numeric' } as const);
  return day.toLocaleDateString([], { weekday: 'short', month: 'short', day: 'numeric', ...year });
}

/** The time of day. */
function clock(ms: number): string {
  // Not `hour12: false`, with which American English writes midnight as 24:00.
  return new Date(ms).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}

/** When something was, below the heading of its day: its age, or the time of a day before today. */
export function timeOfDay(ms: number): VNode {
  return timeElement(ms, dayWord(ms) === 'Today' ? timeAgo(ms, Date.now()) : clock(ms));
}

/** How long ago something was. */
export function ageOf(ms: number): VNode {
  return timeElement(ms, timeAgo(ms, Date.now()));
}

/** A time in words. A pointer over it shows the exact time. */
function timeElement(ms: number, words: string): VNode {
  return html`<time class="dim small" datetime=${new Date(ms).toISOString()} title=${new Date(ms).toLocaleString()}>${words}</time>`;
}

interface WindowedProps {
  readonly count: number;
  readonly rowHeight: number;
  readonly row: (index: number) => ComponentChildren;
  readonly label: string;
  readonly class: string;
  readonly onEnd?: () => void;
  /** Called with the range of rows that are rendered. */
  readonly onShow?: (first: number, last: number) => void;
  /** The row to scroll to. */
  readonly at?: number | undefined;
  /**
   * The id of the item in row `at`. The list scrolls only if the item changes, not if new rows move
   * the same item.
   */
  readonly item?: number | undefined;
}

const OVERSCAN = 12;

/** A list that renders only the visible rows. All rows have the same height. */
export function Windowed(props: WindowedProps): VNode {
  const { count, rowHeight, row, label, onEnd, onShow, at, item = at, class: name } = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const node = box.current;
    if (node === null) return undefined;
    const observer = new ResizeObserver(() => setHeight(node.clientHeight));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const node = box.current;
    if (node === null || at === undefined) return;
    const place = at * rowHeight;
    if (place < node.scrollTop || place > node.scrollTop + node.clientHeight - rowHeight)
      node.scrollTop = Math.max(0, place - node.clientHeight / 3);
  }, [item, at === undefined]);
  const first = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN);
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + OVERSCAN);
  useEffect(() => {
    if (last >= count - OVERSCAN) onEnd?.();
    onShow?.(first, last);
  }, [first, last, count]);
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, i) => row(first + i));
  return html`<div class=${`windowed ${name}`} ref=${box} tabindex="-1" onScroll=${(event: Event) => setTop((event.currentTarget as HTMLElement).scrollTop)}>
    <ol aria-label=${label} style=${{ height: `${count * rowHeight}px` }}><li aria-hidden="true" role="presentation" style=${{ height: `${first * rowHeight}px` }}></li>${shown}</ol>
  </div>`;
}
