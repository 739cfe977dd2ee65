import type { LineRange } from '../model/coverage.ts';

const UNITS = ['KB', 'MB', 'GB', 'TB'] as const;

/** Formats a size as `512 B`, `1.5 KB`, `12 MB`: powers of 1024, with one decimal below 10. */
export function byteSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  let amount = bytes / 1024;
  let unit = 0;
  // Use the next unit before the rounded number gets four digits.
  while (amount >= 999.5 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit++;
  }
  return `${amount < 9.95 ? amount.toFixed(1) : Math.round(amount)} ${UNITS[unit]}`;
}

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

/** Formats an amount with its noun: `1 file`, `3 files`, `2 entries`, `2 matches`. */
export function countOf(amount: number, word: string): string {
  if (amount === 1) return `1 ${word}`;
  if (/[^aeiou]y$/.test(word)) return `${amount} ${word.slice(0, -1)}ies`;
  return `${amount} ${word}${word.endsWith('ch') ? 'es' : 's'}`;
}
