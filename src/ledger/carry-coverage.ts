import { type Coverage, type LineRange, mergeRanges, NOTHING, rangesOf } from '../model/coverage.ts';

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
  const ranges = mergeRanges(carryRanges(rangesOf(coverage, carry.totalLines), carry));
  return ranges.length === 0 ? NOTHING : { kind: 'lines', ranges };
}

const END: LineChange = { from: Number.POSITIVE_INFINITY, removed: 0, added: 0 };

function carryRanges(seen: readonly LineRange[], { changes, addedAre }: Carry): LineRange[] {
  const carried: LineRange[] = [];
  let at = 1;
  let shift = 0;
  let index = 0;
  for (const change of [...changes, END]) {
    // Untouched old lines from `at` to the change move by `shift`.
    index = copySeen(seen, { index, from: at, to: change.from - 1, shift, into: carried });
    const from = change.from + shift;
    if (addedAre === 'seen' && change.added > 0) carried.push({ from, to: from + change.added - 1 });
    at = change.from + change.removed;
    shift += change.added - change.removed;
  }
  return carried;
}

interface Stretch extends LineRange {
  readonly index: number;
  readonly shift: number;
  readonly into: LineRange[];
}

/** Copies what of the stretch was seen; returns the first range that may reach beyond it. */
function copySeen(seen: readonly LineRange[], stretch: Stretch): number {
  let { index } = stretch;
  for (let range = seen[index]; range !== undefined && range.from <= stretch.to; range = seen[index]) {
    const from = Math.max(range.from, stretch.from);
    const to = Math.min(range.to, stretch.to);
    if (from <= to) stretch.into.push({ from: from + stretch.shift, to: to + stretch.shift });
    if (range.to > stretch.to) break;
    index++;
  }
  return index;
}
