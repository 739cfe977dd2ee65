import { type LineRange, mergeRanges } from '../model/coverage.ts';
import type { Hunk } from './diff.ts';

/**
 * Maps ranges of the old text to the new text. Only unchanged lines are mapped; changed and new lines are in
 * no range.
 */
export function carryRanges(ranges: readonly LineRange[], hunks: readonly Hunk[]): LineRange[] {
  const carried: LineRange[] = [];
  for (const { start, end, shift } of unchanged(hunks)) {
    for (const range of ranges) {
      const from = Math.max(range.from, start + 1);
      const to = Math.min(range.to, end);
      if (from <= to) carried.push({ from: from + shift, to: to + shift });
    }
  }
  return mergeRanges(carried);
}

/**
 * Maps the position "after line N" (0 = top) to the new text. Undefined if the line before or after the
 * position changed, or if text was inserted there.
 */
export function carryLine(line: number, hunks: readonly Hunk[]): number | undefined {
  let shift = 0;
  for (const hunk of hunks) {
    if (line < hunk.beforeStart) break;
    if (line <= hunk.beforeEnd) return undefined;
    shift = hunk.afterEnd - hunk.beforeEnd;
  }
  return line + shift;
}

/**
 * The unchanged stretches between hunks (0-based, end exclusive), with the number of lines each one moved.
 */
function unchanged(hunks: readonly Hunk[]): { start: number; end: number; shift: number }[] {
  const ends = [0, ...hunks.map((hunk) => hunk.beforeEnd)];
  const shifts = [0, ...hunks.map((hunk) => hunk.afterEnd - hunk.beforeEnd)];
  return ends.map((start, index) => ({
    start,
    end: hunks[index]?.beforeStart ?? Number.POSITIVE_INFINITY,
    shift: shifts[index] ?? 0,
  }));
}
