import { type Coverage, type LineRange, mergeRanges, NOTHING, rangesOf } from '../model/coverage.ts';
import { carryRanges } from '../text/carry.ts';
import type { Hunk } from '../text/diff.ts';

/** Lines replaced by other lines: `removed` lines from `from` on became `added` lines. */
export interface LineChange {
  /** 1-based, in the old numbering; for an insert, the line it goes before. */
  readonly from: number;
  readonly removed: number;
  readonly added: number;
}

export interface Carry {
  /** Sorted, without overlaps. */
  readonly changes: readonly LineChange[];
  /** Do the new lines count? `seen` if this session wrote them or was shown them. */
  readonly addedAre: 'seen' | 'unseen';
  /** Of the file before the changes. */
  readonly totalLines: number;
}

/**
 * What is still in view after changes to lines: seen lines stay seen at their new numbers, removed ones go.
 * A partial view stays partial, even where only seen lines are left.
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

/** As the difference between the two texts would have it: 0-based, ends not included, both numberings. */
function hunksOf(changes: readonly LineChange[]): Hunk[] {
  let shift = 0;
  return changes.map(({ from, removed, added }) => {
    const beforeStart = from - 1;
    const afterStart = beforeStart + shift;
    shift += added - removed;
    return { beforeStart, beforeEnd: beforeStart + removed, afterStart, afterEnd: afterStart + added };
  });
}

/** Empty, and dropped by the merge, where nothing was added. */
function addedLines({ afterStart, afterEnd }: Hunk): LineRange {
  return { from: afterStart + 1, to: afterEnd };
}
