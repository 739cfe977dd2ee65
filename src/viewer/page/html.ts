import htm from 'htm';
import { type ComponentChildren, h, type VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { harmless, visibleName } from '../../report/bounded.ts';
import { hueOf } from './state.ts';

/** Builds markup without a compiler. Values become text nodes or attributes, never markup. */
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => VNode = htm.bind(h) as never;

/** Text of files and agents, with control and direction characters made visible. */
export function safe(text: string): string {
  return harmless(text);
}

/** The style variables that colour an element as belonging to this session. */
export function tint(session: string): Record<string, string> {
  const hue = hueOf(session);
  return hue === undefined ? { '--h': '220', '--s': '8%' } : { '--h': String(hue), '--s': '62%' };
}

export function Who({ id }: { readonly id: string }): VNode {
  return html`<span class="who" style=${tint(id)}>${safe(id)}</span>`;
}

/** A time of day. */
export function timeOf(ms: number): string {
  return new Date(ms).toLocaleTimeString([], {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    // Not `hour12: false`, with which American English writes midnight as 24:00.
    hourCycle: 'h23',
  });
}

/** The day of a time, as `Nov 19`, `today` or `yesterday`. */
export function dayWord(ms: number): string {
  const day = (at: number): string => new Date(at).toLocaleDateString([], { month: 'short', day: 'numeric' });
  if (day(ms) === day(Date.now())) return 'today';
  return day(ms) === day(Date.now() - DAY_MS) ? 'yesterday' : day(ms);
}

const DAY_MS = 24 * 3_600_000;

export function clock(ms: number): string {
  return Date.now() - ms < DAY_MS / 2 ? timeOf(ms) : `${dayWord(ms)}, ${timeOf(ms)}`;
}

/** How long ago something was, for people: `just now`, `5 min ago`, `3 h ago`, then the day. */
function ago(ms: number): string {
  const minutes = Math.floor((Date.now() - ms) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  return minutes < 24 * 60 ? `${Math.floor(minutes / 60)} h ago` : dayWord(ms);
}

export function Time({ ms }: { readonly ms: number }): VNode {
  return html`<time datetime=${new Date(ms).toISOString()} title=${new Date(ms).toLocaleString()}>${ago(ms)}</time>`;
}

/** A path with its folder dimmed. */
export function Path({ path }: { readonly path: string }): VNode {
  const text = visibleName(path);
  const slash = text.lastIndexOf('/') + 1;
  return html`<span class="path"><span class="dir">${text.slice(0, slash)}</span><span class="base">${text.slice(slash)}</span></span>`;
}

interface WindowedProps {
  readonly count: number;
  readonly rowHeight: number;
  readonly row: (index: number) => ComponentChildren;
  readonly label: string;
  readonly onEnd?: () => void;
  /** The row to scroll to. */
  readonly at?: number | undefined;
  /**
   * The id of the item in row `at`. The list scrolls only if the item changes, not if new rows move
   * the same item.
   */
  readonly item?: number | undefined;
  readonly class?: string;
}

const OVERSCAN = 12;

/** A list that renders only the visible rows. All rows have the same height. */
export function Windowed({
  count,
  rowHeight,
  row,
  label,
  onEnd,
  at,
  item = at,
  class: name = '',
}: WindowedProps): VNode {
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
  }, [last, count]);
  const shown: ComponentChildren[] = [];
  for (let i = first; i < last; i += 1) shown.push(row(i));
  return html`<div class=${`windowed ${name}`} ref=${box} tabindex="-1" onScroll=${(event: Event) => setTop((event.currentTarget as HTMLElement).scrollTop)}>
    <ol aria-label=${label} style=${{ height: `${count * rowHeight}px` }}><li aria-hidden="true" role="presentation" style=${{ height: `${first * rowHeight}px` }}></li>${shown}</ol>
  </div>`;
}
