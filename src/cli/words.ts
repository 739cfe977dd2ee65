import { nearestName } from '../model/nearest-name.ts';
import { relativeTime, shortTime } from '../report/amounts.ts';

/** Returns ` Did you mean log?`, or an empty text if no known word is similar. */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearestName(word, known);
  return meant === undefined ? '' : ` Did you mean ${meant}?`;
}

/** The message for an unknown word, with a suggestion if a known word is similar. */
export function unknownWord(what: string, word: string, known: readonly string[]): string {
  const meant = didYouMean(word, known);
  return `unknown ${what} '${word}'${meant === '' ? '' : `.${meant}`}`;
}

/** The message for an unknown choice: the wrong word, a suggestion, and the known choices. */
export function unknownChoice(what: string, word: string, known: readonly string[]): string {
  return `unknown ${what} '${word}'.${didYouMean(word, known)} Choose from ${known.join(', ')}.`;
}

const WRONG_ARGUMENT =
  /^error: command-argument value '(?<word>.*)' is invalid for argument '(?<what>.*)'\. Allowed choices are (?<list>.*)\.$/s;

const WRONG_OPTION =
  /^error: option '(?<what>[^ ']*).*' argument '(?<word>.*)' is invalid\. Allowed choices are (?<list>.*)\.$/s;

/** Rewrites an error of the argument parser in the style of this program. */
export function usageText(text: string): string {
  const { what, word = '', list = '' } = (WRONG_ARGUMENT.exec(text) ?? WRONG_OPTION.exec(text))?.groups ?? {};
  if (what !== undefined) return `error: ${unknownChoice(what, word, list.split(', '))}`;
  return text
    .replace(/\n\(Did you mean (.*)\?\)$/, '. Did you mean $1?')
    .replace(/^error: missing required argument '(.*)'/, (_all, name: string) => missing(name.toUpperCase()))
    .replace(/^error: option '([^ ']*)[^']*' argument missing/, 'error: $1 needs a value')
    .replace(/^error: option '([^ ']*)[^']*' argument ('.*' is invalid\.)/s, 'error: $1 $2');
}

/** The error for a missing argument. `name`: the argument's name in the help. */
export function missing(name: string): string {
  return `error: ${name} is missing`;
}

/** The error for an empty path, as from an unset variable. An empty path must not mean the current folder. */
export const EMPTY_PATH = 'error: the path is empty';

/** Formats times as `--date` says: as an age, or as ISO 8601. */
export class Times {
  readonly #isIso: boolean;
  readonly #nowMs: number;

  /** `args`: the command line. A wrong value of `--date` is ignored here, because the parser reports it later. */
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
