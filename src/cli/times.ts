import { relativeTime, shortTime } from '../report/amounts.ts';

/** Formats times as `--date` says: as an age, or as ISO 8601. */
export class Times {
  readonly #isIso: boolean;
  readonly #nowMs: number;

  /** `args`: the command line. The parser reports a wrong value; until then it counts as absent. */
  constructor(args: readonly string[], nowMs: number) {
    const at = args.findLastIndex((arg) => arg === '--date' || arg.startsWith('--date='));
    this.#isIso = args[at] === '--date=iso' || (args[at] === '--date' && args[at + 1] === 'iso');
    this.#nowMs = nowMs;
  }

  /** Formats a time as an age such as `3 hours ago`, or as ISO 8601. */
  age(ms: number): string {
    return this.#isIso ? iso(ms) : relativeTime(ms, this.#nowMs);
  }

  /**
   * Formats a time for tables: `3h ago`, or ISO 8601. A command that keeps running passes its
   * current time.
   */
  shortAge(ms: number, nowMs: number = this.#nowMs): string {
    return this.#isIso ? iso(ms) : shortTime(ms, nowMs);
  }
}

/** Times come from journals and transcripts, which may hold any number. */
function iso(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}
