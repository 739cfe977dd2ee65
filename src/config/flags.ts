import { nearestName } from '../model/nearest-name.ts';

/**
 * A flag or an argument of a command: how its text becomes a value, and its line in the help. One
 * table of flags per command drives the parser, the help, shell completion and the manual page.
 */
export interface Flag<T> {
  readonly about: string;
  /** The name of the value in the help; a switch has none. */
  readonly value?: string;
  /**
   * The words that belong to the flag. `maybe`: the next word, if `accepts` says so. `many`: all
   * words up to the next flag.
   */
  readonly takes: 'nothing' | 'one' | 'maybe' | 'many';
  readonly choices?: readonly string[];
  /** The value of a flag that is not given. */
  readonly fallback?: T;
  /** The value of a flag that may have a value, but was given without one. */
  readonly bare?: T;
  readonly isRequired?: true;
  /** True for words of another program, which may be empty. */
  readonly mayBeEmpty?: true;
  /** True if the help does not show the flag. */
  readonly isHidden?: true;
  accepts?(word: string): boolean;
  /** Reads one word; `earlier`: the value of the words before. Undefined if the word is invalid. */
  read(text: string, earlier?: T): T | undefined;
  /** Tells the user which values are valid. */
  hint?(text: string): string;
}

/** The flags of a command by their names in camel case, or its arguments in their order. */
export type Flags = Readonly<Record<string, Flag<unknown>>>;

type Sure<F> = {
  [K in keyof F]: F[K] extends { readonly fallback: unknown } | { readonly isRequired: true } ? K : never;
}[keyof F];
type ValueOf<F> = F extends Flag<infer T> ? T : never;

/** The values that a command line gives to a table of flags. */
export type Values<F> = { readonly [K in Sure<F>]: ValueOf<F[K]> } & {
  readonly [K in Exclude<keyof F, Sure<F>>]?: ValueOf<F[K]>;
};

/** The table whose values have this type. Members that are always there have a default in the table. */
export type FlagsOf<V> = {
  readonly [K in keyof V]-?: Record<never, never> extends Pick<V, K>
    ? Flag<NonNullable<V[K]>>
    : Flag<V[K]> & { readonly fallback: V[K] };
};

/** A command line that does not fit the table of its command. */
export class UsageError extends Error {}

/** The first line that users see of a wrong command line. */
export function usageText({ message }: UsageError): string {
  return `lookfirst: ${message} [INVALID_ARGUMENT]`;
}

export function toggle(about: string): Flag<true> {
  return { about, takes: 'nothing', read: () => true };
}

export function text(value: string, about: string): Flag<string> {
  return { about, value, takes: 'one', read: (word) => word };
}

/** A flag that may be given several times. */
export function several(value: string, about: string): Flag<readonly string[]> {
  return { about, value, takes: 'one', read: (word, earlier = []) => [...earlier, word] };
}

/** All words that are left, for the last argument of a command. */
export function words(value: string, about: string): Flag<readonly string[]> {
  return { ...several(value, about), takes: 'many' };
}

/** A flag whose value `read` parses. `hint` completes the message about an invalid value. */
export function parsed<T>(
  [value, about]: readonly [value: string, about: string],
  read: (word: string) => T | undefined,
  hint: (word: string) => string,
): Flag<T> {
  return { about, value, takes: 'one', read, hint };
}

export function choice<const C extends string>(
  value: string,
  about: string,
  choices: readonly C[],
): Flag<C> & { readonly choices: readonly C[] } {
  return { about, value, takes: 'one', choices, read: (word) => choices.find((each) => each === word) };
}

/** Adds a value for command lines without the flag. */
export function withDefault<T>(flag: Flag<T>, fallback: T): Flag<T> & { readonly fallback: T } {
  return { ...flag, fallback };
}

export function required<T>(flag: Flag<T>): Flag<T> & { readonly isRequired: true } {
  return { ...flag, isRequired: true };
}

/** The flag as it is typed: `--read-only-root`. */
export function flagName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

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
