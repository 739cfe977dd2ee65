import type { Word, WordPart } from 'unbash';
import { expandBraces } from '../../../text/glob/glob.ts';

/** A word that the shell expands to the names of files. */
export interface Glob {
  /** The pattern, with braces. A special character that is meant literally has a backslash before it. */
  readonly pattern: string;
  /**
   * The word itself, if its only special characters are brackets, as in `app/[id]/page.tsx`: the
   * shell leaves it unchanged unless it matches another file.
   */
  readonly text: string | undefined;
  /** True if a star also matches a dot at the beginning of a name. */
  readonly dots?: true | undefined;
}

/** The meaning of a word to the shell. Undefined if the line does not show how the shell expands it. */
export type Value = string | Glob | undefined;

/** The values of variables. A variable that is not listed is unknown. Of a list, `@` or `a[@]` has the length. */
export type Variables = ReadonlyMap<string, Value>;

/** The text of a value. Undefined for a glob, unless it counts as text. */
export function textOfValue(value: Value): string | undefined {
  return typeof value === 'string' ? value : value?.text;
}

/** The text that a word means to the shell; undefined if the shell expands it. */
export function literalOf(word: Word, variables: Variables): string | undefined {
  return textOfValue(wordValue(word, variables));
}

/** The value of a word. `~` at its beginning means the variable HOME, and `$PWD` the folder `.`. */
function wordValue(word: Pick<Word, 'parts' | 'text' | 'value'>, variables: Variables): Value {
  const { parts, text, value } = word;
  if (text.startsWith('~')) return atHome(word, variables);
  if (parts === undefined) return value;
  const leaves = parts.flatMap((part) =>
    part.type === 'DoubleQuoted'
      ? part.parts.map((leaf) => ({ leaf, quoted: true }))
      : { leaf: part, quoted: false },
  );
  const pieces: (string | Glob)[] = [];
  for (const [at, { leaf, quoted }] of leaves.entries()) {
    if (variableIn(leaf) === 'PWD' && at === 0 && isHere(word)) pieces.push('.');
    else {
      const piece = pieceOf(leaf, variables);
      // The shell splits and expands the text of a variable that is not in quotes.
      const isSplit =
        typeof piece === 'string' && !quoted && variableIn(leaf) !== undefined && /[\s*?[\\]/.test(piece);
      if (piece === undefined || isSplit) return undefined;
      pieces.push(piece);
    }
  }
  return joined(pieces);
}

/** Matches a word that stands for all parameters, or for all elements of an array. */
const LIST = /^(?:"\$\{?(@|\w+\[@\])\}?"|\$\{?(@|\w+\[@\])\}?)$/;

/** The values of a word, of which `"$@"` and `"${NAME[@]}"` have any number. */
export function wordValues(
  word: Pick<Word, 'parts' | 'text' | 'value'>,
  variables: Variables,
): readonly Value[] {
  const [, quoted, plain] = LIST.exec(word.text) ?? [];
  const list = quoted ?? plain;
  const count = list === undefined ? undefined : variables.get(list);
  if (list === undefined || typeof count !== 'string') return [wordValue(word, variables)];
  return Array.from({ length: Number(count) }, (_each, at) => variables.get(elementOf(list, at)));
}

/** The name under which the variables have an element of a list: `1` of `@`, `a[0]` of `a[@]`. */
export function elementOf(list: string, at: number): string {
  return list === '@' ? `${at + 1}` : list.replace('@', `${at}`);
}

const PWD_FIRST = /^"?\$(?:PWD\b|\{PWD\})(?=\/|"|$)/;

/** True for a word that begins with `$PWD`. */
export function isHere({ text }: Pick<Word, 'text'>): boolean {
  return PWD_FIRST.test(text);
}

/**
 * The values of a word in the list of a loop: those of its braces, as in `{a,b}.txt`. The value
 * itself if it has no braces, or more than `most`.
 */
export function bracesIn(value: Value, most: number): readonly Value[] {
  if (value === undefined || typeof value === 'string' || value.text !== undefined) return [value];
  const patterns = expandBraces(value.pattern, most) ?? [];
  if (patterns.length < 2) return [value];
  return patterns.map((pattern) =>
    /(?<!\\)[*?[(]/.test(pattern) ? { pattern, text: undefined } : pattern.replaceAll(/\\(.)/g, '$1'),
  );
}

function atHome(word: Parameters<typeof wordValue>[0], variables: Variables): Value {
  const home = variables.get('HOME');
  if (!/^~(?=\/|$)/.test(word.text) || typeof home !== 'string') return undefined;
  const [first, ...others] = word.parts ?? [];
  const begin = (first?.type === 'Literal' ? first.value : word.value).slice(1);
  const rest = others.length === 0 ? '' : wordValue({ ...word, text: '', parts: others }, variables);
  return rest === undefined ? undefined : joined([home, begin, rest]);
}

function joined(pieces: readonly (string | Glob)[]): Value {
  const texts = pieces.map(textOfValue);
  const text = texts.includes(undefined) ? undefined : texts.join('');
  if (pieces.every((piece) => typeof piece === 'string')) return text;
  const pattern = pieces
    .map((piece) => (typeof piece === 'string' ? escaped(piece) : piece.pattern))
    .join('');
  return { pattern, text };
}

/** Puts a backslash before each character that is special in a glob. */
function escaped(text: string): string {
  return text.replace(/[\\*?[\]{},!()+@|]/g, '\\$&');
}

function pieceOf(part: WordPart, variables: Variables): Value {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return part.value;
    case 'Glob': {
      const isText = part.kind === 'bracket' && part.parts.every((inner) => inner.type === 'Literal');
      if (part.kind === 'bracket' && !isText) return undefined;
      return { pattern: part.text, text: isText ? part.value : undefined };
    }
    case 'BraceExpansion':
      return /[$`]/.test(part.text) ? undefined : { pattern: part.text, text: undefined };
    default: {
      const name = variableIn(part);
      const value = name === undefined ? undefined : variables.get(name);
      return OTHERWISE.test(part.text) && value === '' ? undefined : value;
    }
  }
}

/** Matches `${NAME:?…}` and `${NAME:-…}`, which stand for a variable that is not empty. */
const OTHERWISE = /^\$\{\w+:?[?=-]/;

/** The name of the variable that a part of a word stands for, if it is no other expansion. */
function variableIn(part: WordPart): string | undefined {
  if (part.type === 'SimpleExpansion') return part.text.slice(1);
  if (part.type !== 'ParameterExpansion') return undefined;
  const { parameter, prefix, index, operation } = part;
  const isPlain = operation === undefined || OTHERWISE.test(part.text);
  return prefix === undefined && index === undefined && isPlain ? parameter : undefined;
}
