import type { FileStatus, Freshness } from '../../model/results.ts';
import type { Colours, Column } from '../../report/human.ts';
import { lineWords } from '../../report/ranges.ts';
import { relativeTime } from '../../report/relative-time.ts';

const STATES: Readonly<Record<Freshness, string>> = {
  unseen: 'not seen',
  fresh: 'up to date',
  stale: 'changed since',
  deleted: 'deleted since',
  missing: 'not there',
  unverifiable: 'cannot be checked',
};

/** In words that people use. */
const HOW: Readonly<Record<string, string>> = {
  cure: 'shown diff',
  history: 'transcript',
  witness: 'told of it',
};

/** Columns that say what was seen of a file; each table puts its own first. */
export function seenColumns(colours: Colours): readonly Column[] {
  return [
    { title: 'STATE', paint: (cell) => (/^(up|not)/.test(cell) ? cell : colours.yellow(cell)) },
    { title: 'SEEN', cut: 'end' },
    { title: 'WHEN' },
    { title: 'HOW' },
  ];
}

export function seenCells(file: FileStatus, nowMs: number): string[] {
  const { freshness, seenAtMs, how } = file;
  const when = seenAtMs === undefined ? '' : relativeTime(seenAtMs, nowMs);
  return [STATES[freshness], seenWords(file), when, HOW[how ?? ''] ?? how ?? ''];
}

function seenWords({ seen, but, ranges, totalLines }: FileStatus): string {
  if (seen !== 'some') return seen;
  if (but === 'described') return but;
  const of = totalLines === undefined ? '' : ` of ${totalLines}`;
  const lines = ranges === undefined || ranges.length === 0 ? 'some' : `${lineWords(ranges)}${of}`;
  return but === undefined ? lines : `${lines}, ${but}`;
}
