import type { LineRange } from '../model/coverage.ts';
import { countNewlines, lineCount } from '../text/lines.ts';
import type { Edited } from './edited.ts';

/** Lines that an edit touched, and how many it made of them. Where it only put lines in, `to` is before `from`. */
export interface ChangedLines extends LineRange {
  readonly now: number;
}

/** The lines that an edit touched, in order. Those of which it made common ones are one change. */
export function changedLines(edited: Edited): readonly ChangedLines[] {
  const { before, spans } = edited;
  const changes: ChangedLines[] = [];
  let from = 1;
  let counted = 0;
  for (let next = 0; next < spans.length; ) {
    const stretch = stretchAt(edited, next);
    from += countNewlines(before, stretch.start, counted);
    counted = stretch.start;
    const touched = lineCount(before.slice(stretch.start, stretch.end));
    changes.push({ from, to: from + touched - 1, now: stretch.now });
    next = stretch.next;
  }
  return changes;
}

/** Whole lines of the old text. */
interface Stretch {
  readonly start: number;
  readonly end: number;
  /** How many lines stand in their place. */
  readonly now: number;
  /** The first span behind them. */
  readonly next: number;
}

function stretchAt({ before, spans, put }: Edited, first: number): Stretch {
  const newlines = countNewlines(put, put.length);
  const start = startOfLine(before, spans[first]?.start ?? 0);
  let end = start;
  let endOfLast = start;
  let now = 0;
  let next = first;
  /** Does the new text end within a line? */
  let isOpen = false;
  for (let span = spans[next]; span !== undefined; span = spans[next]) {
    if (next > first && span.start >= endOfLast) break;
    isOpen = put === '' ? isOpen || span.start > end : !put.endsWith('\n');
    now += newlines;
    end = span.end;
    next += 1;
    if (!isOpen && isStartOfLine(before, end)) return { start, end, now, next };
    if (endOfLast <= end) endOfLast = endOfLine(before, end);
  }
  return { start, end: endOfLast, now: isOpen || endOfLast > end ? now + 1 : now, next };
}

function isStartOfLine(text: string, at: number): boolean {
  return at === 0 || text[at - 1] === '\n';
}

function startOfLine(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
}

/** Where the line that goes on at an offset ends, with its newline. */
function endOfLine(text: string, at: number): number {
  const newline = text.indexOf('\n', at);
  return newline === -1 ? text.length : newline + 1;
}
