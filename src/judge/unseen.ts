import { type Coverage, type LineRange, mergeRanges, missingLines } from '../model/coverage.ts';

/** The parts of `touched` that `coverage` does not hold, sorted. */
export function unseenOf(coverage: Coverage, touched: readonly LineRange[]): LineRange[] {
  const wanted = mergeRanges(touched);
  const gaps = missingLines(coverage, wanted.at(-1)?.to ?? 0);
  const unseen: LineRange[] = [];
  let first = 0;
  for (const range of wanted) {
    // Both lists are sorted: gaps before this range lie before all later ranges too.
    while ((gaps[first]?.to ?? range.from) < range.from) first++;
    for (let i = first; i < gaps.length; i++) {
      const gap = gaps[i];
      if (gap === undefined || gap.from > range.to) break;
      unseen.push({ from: Math.max(range.from, gap.from), to: Math.min(range.to, gap.to) });
    }
  }
  return unseen;
}
