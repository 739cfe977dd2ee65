import { type LineRange, mergeRanges } from '../model/coverage.ts';

/** Parses ranges such as `1-20,40-60`. `whole` means every line, any other text none. */
export function parseLines(lines: string, total: number): LineRange[] {
  if (lines === 'whole') return total === 0 ? [] : [{ from: 1, to: total }];
  const ranges = lines.split(',').flatMap((part) => {
    const [, from, to] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    return from === undefined ? [] : [{ from: Number(from), to: Number(to ?? from) }];
  });
  return clippedTo(mergeRanges(ranges), total);
}

/** The ranges without lines after the last one. */
export function clippedTo(ranges: readonly LineRange[], total: number): LineRange[] {
  return ranges.flatMap(({ from, to }) => (from > total ? [] : [{ from, to: Math.min(to, total) }]));
}

export function countIn(ranges: readonly LineRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
}
