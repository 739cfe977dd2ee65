const STEPS: readonly (readonly [limitSeconds: number, seconds: number, word: string])[] = [
  [60, 1, 'second'],
  [3600, 60, 'minute'],
  [86_400, 3600, 'hour'],
  [Number.POSITIVE_INFINITY, 86_400, 'day'],
];

/**
 * Formats an age: `just now`, `42 seconds ago`, `3 hours ago`. A time in the future (another machine's clock) is
 * `just now`.
 */
export function relativeTime(ms: number, nowMs: number): string {
  return timeWords(ms, nowMs, (count, word) => ` ${word}${count === 1 ? '' : 's'}`);
}

/** Formats an age for narrow tables: `just now`, `42s ago`, `3h ago`. */
export function shortTime(ms: number, nowMs: number): string {
  return timeWords(ms, nowMs, (_count, word) => word.slice(0, 1));
}

function timeWords(ms: number, nowMs: number, unit: (count: number, word: string) => string): string {
  const age = Math.floor((nowMs - ms) / 1000);
  // NaN also counts as just now.
  if (!(age >= 2)) return 'just now';
  const step = STEPS.find(([limit]) => age < limit);
  if (step === undefined) return 'just now';
  const count = Math.floor(age / step[1]);
  return `${count}${unit(count, step[2])} ago`;
}
