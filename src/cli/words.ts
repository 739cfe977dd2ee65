import { relativeTime, shortTime } from '../report/amounts.ts';

/** Formats times as `--date` says: as an age, or as ISO 8601. */
export class Times {
  readonly #isIso: boolean;
  readonly #nowMs: number;

  constructor(form: 'relative' | 'iso', nowMs: number) {
    this.#isIso = form === 'iso';
    this.#nowMs = nowMs;
  }

  /** Formats a time as an age such as `3 hours ago`, or as ISO 8601. */
  age(ms: number): string {
    return this.#isIso ? iso(ms) : relativeTime(ms, this.#nowMs);
  }

  /**
   * Formats a time for tables: `3h ago`, or ISO 8601. A command that keeps running passes the
   * current time as `nowMs`.
   */
  shortAge(ms: number, nowMs: number = this.#nowMs): string {
    return this.#isIso ? iso(ms) : shortTime(ms, nowMs);
  }
}

/**
 * ISO 8601, or an empty text for a number that is not a time. Journals and transcripts may hold any
 * number.
 */
function iso(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}
