/** Lines `from` to `to`, 1-based, both included. */
export interface LineRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The part of a file that was shown: all of it, some lines, or nothing (only its hash and stat
 * fields are known).
 */
export type Coverage =
  | { readonly kind: 'whole' }
  | { readonly kind: 'lines'; readonly ranges: readonly LineRange[] }
  | { readonly kind: 'none' };

export const WHOLE: Coverage = { kind: 'whole' };
export const NOTHING: Coverage = { kind: 'none' };

/**
 * Builds the coverage of some ranges, given in any order. The result is `whole` if they reach from
 * line 1 to `totalLines`.
 */
export function linesCoverage(ranges: readonly LineRange[], totalLines: number): Coverage {
  const merged = mergeRanges(ranges);
  const only = merged[0];
  if (only === undefined) return totalLines === 0 ? WHOLE : NOTHING;
  return merged.length === 1 && only.from <= 1 && only.to >= totalLines
    ? WHOLE
    : { kind: 'lines', ranges: merged };
}

/** The lines that two views of the same bytes show together. */
export function unionCoverage(a: Coverage, b: Coverage, totalLines: number): Coverage {
  if (a.kind === 'whole' || b.kind === 'whole') return WHOLE;
  return linesCoverage([...rangesOf(a, totalLines), ...rangesOf(b, totalLines)], totalLines);
}

export function rangesOf(coverage: Coverage, totalLines: number): readonly LineRange[] {
  switch (coverage.kind) {
    case 'whole':
      return totalLines === 0 ? [] : [{ from: 1, to: totalLines }];
    case 'lines':
      return coverage.ranges;
    case 'none':
      return [];
    default:
      return coverage satisfies never;
  }
}

export function covers(coverage: Coverage, range: LineRange): boolean {
  if (coverage.kind === 'whole') return true;
  if (coverage.kind === 'none') return false;
  return coverage.ranges.some((seen) => seen.from <= range.from && range.to <= seen.to);
}

/** The lines of 1…totalLines that the coverage does not include. */
export function missingLines(coverage: Coverage, totalLines: number): LineRange[] {
  const missing: LineRange[] = [];
  let next = 1;
  for (const seen of rangesOf(coverage, totalLines)) {
    if (seen.from > next) missing.push({ from: next, to: seen.from - 1 });
    next = Math.max(next, seen.to + 1);
  }
  if (next <= totalLines) missing.push({ from: next, to: totalLines });
  return missing;
}

/** Sorts the ranges and merges those that overlap or touch. */
export function mergeRanges(ranges: readonly LineRange[]): LineRange[] {
  const sorted = ranges.filter((range) => range.from <= range.to).sort((a, b) => a.from - b.from);
  const merged: LineRange[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && range.from <= last.to + 1) {
      merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, range.to) };
    } else merged.push(range);
  }
  return merged;
}
