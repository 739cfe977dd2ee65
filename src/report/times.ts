const STEPS: readonly (readonly [limitSeconds: number, seconds: number, unit: string])[] = [
  [60, 1, 's'],
  [3600, 60, 'm'],
  [86_400, 3600, 'h'],
  [Number.POSITIVE_INFINITY, 86_400, 'd'],
];

/**
 * Formats an age in the units that `--since` takes: `just now`, `42s ago`, `5m ago`, `3h ago`, `2d ago`. A time in the
 * future (another machine's clock), or a number that is not a time, is `just now`.
 */
export function timeAgo(ms: number, nowMs: number): string {
  const age = Math.floor((nowMs - ms) / 1000);
  const step = STEPS.find(([limit]) => age < limit);
  // A comparison with NaN is false.
  return step !== undefined && age >= 2 ? `${Math.floor(age / step[1])}${step[2]} ago` : 'just now';
}

/**
 * Formats a moment as RFC 3339 in UTC, with seconds. Empty for a number that is not a time: journals and transcripts may
 * hold any number.
 */
export function exactTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().replace(/\.\d+Z$/, 'Z');
}
