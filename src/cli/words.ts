import { nearestName } from '../model/nearest-name.ts';

/** Formats an amount with its noun: `1 file`, `3 files`, `2 entries`. */
export function countOf(amount: number, word: string): string {
  if (amount === 1) return `1 ${word}`;
  return `${amount} ${word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`}`;
}

/** Returns ` Did you mean log?`, or an empty text if no known word is similar. */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearestName(word, known);
  return meant === undefined ? '' : ` Did you mean ${meant}?`;
}

/** The message for an unknown choice: the wrong word, a suggestion, and the known choices. */
export function unknownChoice(what: string, word: string, known: readonly string[]): string {
  return `unknown ${what} '${word}'.${didYouMean(word, known)} Choose from ${known.join(', ')}.`;
}

const WRONG_ARGUMENT =
  /^error: command-argument value '(?<word>.*)' is invalid for argument '(?<what>.*)'\. Allowed choices are (?<list>.*)\.$/s;
const WRONG_OPTION =
  /^error: option '(?<what>[^ ']*).*' argument '(?<word>.*)' is invalid\. Allowed choices are (?<list>.*)\.$/s;

/** The parser's error in the style of this program. */
export function usageText(text: string): string {
  const { what, word = '', list = '' } = (WRONG_ARGUMENT.exec(text) ?? WRONG_OPTION.exec(text))?.groups ?? {};
  if (what !== undefined) return `error: ${unknownChoice(what, word, list.split(', '))}`;
  return text
    .replace(/\n\(Did you mean (.*)\?\)$/, '. Did you mean $1?')
    .replace(/^error: missing required argument '(.*)'/, (_all, name: string) => missing(name.toUpperCase()))
    .replace(/^error: option '([^ ']*)[^']*' argument missing/, 'error: $1 needs a value')
    .replace(/^error: option '([^ ']*)[^']*' argument ('.*' is invalid\.)/s, 'error: $1 $2');
}

/** The error for an argument that the command needs, under its name in the help. */
export function missing(name: string): string {
  return `error: ${name} is missing`;
}
