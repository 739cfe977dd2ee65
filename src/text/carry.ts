import { type Coverage, type LineRange, mergeRanges, NOTHING, rangesOf } from '../model/coverage.ts';
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

/** Replaced lines: `removed` lines starting at `from` became `added` lines. */
export interface LineChange {
  /** 1-based, in the old numbering. For an insert: the line it is inserted before. */
  readonly from: number;
  readonly removed: number;
  readonly added: number;
}

interface Carry {
  /** The changes, sorted and without overlaps. */
  readonly changes: readonly LineChange[];
  /** `seen` if the session wrote the new lines or was shown them. */
  readonly addedAre: 'seen' | 'unseen';
  /** The number of lines before the changes. */
  readonly totalLines: number;
}

/**
 * The coverage after changes to lines. Seen lines stay seen under their new numbers; removed lines
 * are dropped. A partial view stays partial, even if only seen lines remain.
 */
export function carryCoverage(coverage: Coverage, carry: Carry): Coverage {
  if (coverage.kind === 'none') return coverage;
  const nothingUnseen = carry.addedAre === 'seen' || carry.changes.every((change) => change.added === 0);
  if (coverage.kind === 'whole' && nothingUnseen) return coverage;
  const hunks = hunksOf(carry.changes);
  const kept = carryRanges(rangesOf(coverage, carry.totalLines), hunks);
  const ranges = carry.addedAre === 'seen' ? mergeRanges([...kept, ...hunks.map(addedLines)]) : kept;
  return ranges.length === 0 ? NOTHING : { kind: 'lines', ranges };
}

/** Converts line changes to diff hunks: 0-based, end-exclusive, with both numberings. */
function hunksOf(changes: readonly LineChange[]): Hunk[] {
  let shift = 0;
  return changes.map(({ from, removed, added }) => {
    const beforeStart = from - 1;
    const afterStart = beforeStart + shift;
    shift += added - removed;
    return { beforeStart, beforeEnd: beforeStart + removed, afterStart, afterEnd: afterStart + added };
  });
}

/** The added lines of a hunk. The range is empty if none were added; `mergeRanges` drops it. */
function addedLines({ afterStart, afterEnd }: Hunk): LineRange {
  return { from: afterStart + 1, to: afterEnd };
}
