import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { durationWords, laneAxis } from '../../records/view/lanes.ts';
import type { FeedRow } from '../../records/view/view-data.ts';
import { html, kindMark, narrowPage, safe, sessionName, shapeOf, tint } from './html.ts';
import { filter, narrow, open, rows, selected, sessions } from './state.ts';

const LANE = 24;
const FOOT = 16;
/** A narrow page has half as many. */
const MAX_LANES = 6;
/** The room at both ends of a lane for half a mark. */
const EDGE = 10;
/** Only this many of the newest entries are placed; no screen has room for more. */
const MAX_MARKS = 500;

/**
 * One lane per session, with its newest entries from left to right. The name of a lane filters the
 * page by its session. The marks are hidden from screen readers, because the list has the same
 * entries.
 */
export function Lanes(): VNode | null {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const hasRows = sessions.value.length + rows.value.length > 0;
  useEffect(() => {
    const node = box.current;
    if (node === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(node.clientWidth));
    observer.observe(node);
    return () => observer.disconnect();
  }, [hasRows]);
  if (!hasRows) return null;
  const newest = rows.value
    .slice(0, MAX_MARKS)
    .filter(({ kind }) => DRAWN.has(kind))
    .reverse();
  const axis = laneAxis(
    newest.map(({ atMs }) => atMs),
    Math.max(0, width - 2 * EDGE),
  );
  const drawn = newest.slice(axis.first);
  const { lanes, others } = lanesFor(drawn);
  const height = lanes.length * LANE;
  const foot = axis.pauses.length === 0 ? 0 : FOOT;
  const chosen = filter.value.session;
  const toggle = (id: string): void => void narrow({ session: chosen === id ? '' : id });
  return html`<section class="lanes" aria-label="Sessions">
    <div class="names" role="group" aria-label="Show one session">${lanes.map((id) => html`<button type="button" class="lane clip" aria-pressed=${chosen === id} style=${tint(id)} title=${titleOf(id)} onClick=${() => toggle(id)}>${sessionName(id)}</button>`)}
      ${others.length === 0 ? null : html`<select class="lane" aria-label="Other sessions" value="" onChange=${(event: Event) => toggle((event.currentTarget as HTMLSelectElement).value)}><option value="">${others.length} more…</option>${others.map((id) => html`<option value=${id}>${sessionName(id)}</option>`)}</select>`}</div>
    <div class="marks" ref=${box} aria-hidden="true"><svg width="100%" height=${height + foot}>
      ${lanes.map((id, i) => html`<line key=${id} x1="0" x2="100%" y1=${i * LANE + LANE / 2} y2=${i * LANE + LANE / 2} />`)}
      ${axis.pauses.map(({ at, ms }) => html`<g class="pause"><line x1=${at + EDGE} x2=${at + EDGE} y1="2" y2=${height} /><text x=${at + EDGE} y=${height + FOOT - 4}>${durationWords(ms)}</text></g>`)}
      ${drawn.map((row, i) => mark(row, (axis.at[i] ?? 0) + EDGE, lanes.indexOf(row.session) * LANE + LANE / 2))}
    </svg></div>
    <p class="bar small dim" aria-hidden="true">${LEGEND.map(([row, word]) => html`<span>${kindMark(row)} ${word}</span>`)}</p>
  </section>`;
}

const LEGEND: readonly (readonly [Pick<FeedRow, 'kind' | 'undo'>, string])[] = [
  [{ kind: 'read' }, 'read'],
  [{ kind: 'change' }, 'change'],
  [{ kind: 'change', undo: true }, 'undo'],
  [{ kind: 'refusal' }, 'refusal'],
  [{ kind: 'turn' }, 'prompt'],
];
/** The kinds of entries that have a mark. */
const DRAWN: ReadonlySet<FeedRow['kind']> = new Set(LEGEND.map(([{ kind }]) => kind));

/** The sessions that have a lane, by name, and all others. The chosen session has one. */
function lanesFor(drawn: readonly FeedRow[]): { lanes: readonly string[]; others: readonly string[] } {
  const { session } = filter.value;
  const active = [
    ...(session === undefined ? [] : [session]),
    ...drawn.toReversed().map((row) => row.session),
  ];
  const known = sessions.value.map(({ id }) => id);
  // With a filter, only one session has entries here, and the other lanes must stay in reach.
  const all = [...new Set([...active, ...known])];
  const lanes = (session === undefined ? [...new Set(active)] : all).slice(
    0,
    narrowPage.matches ? MAX_LANES / 2 : MAX_LANES,
  );
  return { lanes: [...lanes].sort(), others: all.filter((id) => !lanes.includes(id)) };
}

function titleOf(id: string): string {
  const found = sessions.value.find((session) => session.id === id);
  if (found === undefined) return safe(id);
  return `${safe(id)}${found.client === undefined ? '' : `, ${safe(found.client)}`}, ${found.open ? 'open' : 'closed'}`;
}

function mark(row: FeedRow, x: number, y: number): VNode | null {
  // The session has no lane.
  if (y < 0) return null;
  const now = selected.value;
  const isOn = now !== undefined && now.kind !== 'file' && now.seq === row.seq;
  const { name, path } = shapeOf(row);
  const go = (): void => open({ kind: 'entry', seq: row.seq });
  return html`<g key=${row.seq} class=${`mark ${name}${isOn ? ' on' : ''}`} style=${tint(row.session)} transform=${`translate(${x} ${y})`} onClick=${go}>
    <title>${safe(`${row.session}: ${row.what} ${row.path ?? ''}, ${new Date(row.atMs).toLocaleString()}`)}</title>
    <rect x="-6.5" y="-12" width="13" height="24" /><path d=${path} /></g>`;
}
