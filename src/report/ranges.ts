import type { LineRange } from '../model/coverage.ts';

const MAX_RANGES = 12;

/**
 * Formats ranges as `1-20, 40, 60-99`. After a dozen ranges it only says how many more there are.
 */
export function formatRanges(ranges: readonly LineRange[]): string {
  const shown = ranges
    .slice(0, MAX_RANGES)
    .map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`));
  const more = ranges.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

/** Formats ranges as `line 7` or `lines 1-20, 40`. */
export function lineWords(ranges: readonly LineRange[]): string {
  const only = ranges.length === 1 ? ranges[0] : undefined;
  return `${only !== undefined && only.from === only.to ? 'line' : 'lines'} ${formatRanges(ranges)}`;
}
