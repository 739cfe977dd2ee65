import { shortTime } from '../report/amounts.ts';

/**
 * Formats a time: as an age such as `3h ago`, or as ISO 8601. A command that keeps running passes
 * the current time as `nowMs`.
 */
export type TimeText = (ms: number, nowMs?: number) => string;

/** Times in the form that `--date` chooses. */
export function timesIn(form: 'relative' | 'iso', startMs: number): TimeText {
  return (ms, nowMs = startMs) => (form === 'iso' ? iso(ms) : shortTime(ms, nowMs));
}

/**
 * ISO 8601, or an empty text for a number that is not a time. Journals and transcripts may hold any
 * number.
 */
function iso(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}
