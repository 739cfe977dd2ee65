import type { Language } from './languages.ts';

/** The positions of the typographic quotes that delimit one literal. */
export type QuoteGroup = readonly number[];

/**
 * A literal in typographic double quotes. A typed quote may close it if the typed quotes in the
 * rest of the line are pairs.
 */
const DOUBLE =
  /[“”″](?:\\.|[^"“”″\\\n]){0,500}(?:[“”″]|"(?=[^"\n]*(?:"[^"\n]*"[^"\n]*)*(?:\n|$)))(?!["“”″])/u;
const TRIPLE = /[“”]{3}[^"“”]{0,2000}[“”]{3}/;
/** A literal in typographic single quotes. A quote before a letter is an apostrophe. */
const SINGLE = /[‘’′](?:\\.|[^'‘’′\\\n]|’(?=\p{L})){0,500}[‘’′](?![\p{L}'‘’′])/u;
const COMMENT = /^(?:\/[/*]|#|--)/;
const STRAY = /[“”″‘’′]/;

/** Words after which a string may follow in most languages. */
const WORDS_BEFORE =
  'import include from return case typeof in of throw raise assert yield await print echo else not and or is as default';
const OPERATOR = '^|[=([{},:;?!&|+<>%*~^-]';
/** Letters that belong to the literal after them, such as `f` in Python and `L` in C. */
const PREFIX = '(?:\\b(?:[rbfuL]|u8|rb|br|fr|rf))?';
const BEFORE = {
  few: new RegExp(`(?:${OPERATOR}|\\b(?:${WORDS_BEFORE.replaceAll(' ', '|')})\\b)\\s*${PREFIX}$`, 'i'),
  any: new RegExp(`(?:${OPERATOR}|\\s)\\s*$`),
};
const CHARS_BEFORE = 80;

/**
 * Finds the typographic quotes of code: those around a literal on one line, at a place where a
 * string may begin. The first quote that is nothing of that kind ends the search, because the rest
 * of the file may be text.
 */
export function codeQuotes(text: string, language: Language): QuoteGroup[] {
  if (language.unless?.test(text)) return [];
  if (language.quotes === 'values') return valueQuotes(text);
  const literals = language.quotes === 'double' ? [DOUBLE] : [DOUBLE, SINGLE];
  if (language.parts.some(({ source }) => source.startsWith('"""'))) literals.unshift(TRIPLE);
  const sources = (patterns: readonly RegExp[]): string => patterns.map(({ source }) => source).join('|');
  const own = `(?<literal>${sources(literals)})|(?<stray>${STRAY.source})`;
  const found: QuoteGroup[] = [];
  let commented = 0;
  for (const match of text.matchAll(new RegExp(`${sources(language.parts)}|${own}`, 'gu'))) {
    const { index, 0: part, groups: { literal, stray } = {} } = match;
    // A comment in a comment is not understood.
    if (stray !== undefined || (part.startsWith('/*') && part.includes('/*', 2))) break;
    if (COMMENT.test(part)) commented = index + part.length;
    if (literal === undefined) continue;
    if (!BEFORE[language.words].test(text.slice(Math.max(commented, index - CHARS_BEFORE), index))) break;
    found.push(delimiters(literal).map((at) => at + index));
  }
  return found;
}

function delimiters(literal: string): readonly number[] {
  const last = literal.length - 1;
  if (TRIPLE.test(literal)) return [0, 1, 2, last - 2, last - 1, last];
  return STRAY.test(literal.charAt(last)) ? [0, last] : [0];
}

/** Matches a line whose value or list item is one literal. A backslash would become an escape. */
const VALUE_LINE = new RegExp(
  `^[ \\t]*(?:(?:-[ \\t]+)*(?:export[ \\t]+)?[\\w.-]+[ \\t]*(?::[ \\t]|=)|-[ \\t])[ \\t]*(?!.*\\\\)(${DOUBLE.source}|${SINGLE.source})(?=[ \\t]*(?:#.*)?\\r?$)`,
  'gmu',
);

function valueQuotes(text: string): QuoteGroup[] {
  return [...text.matchAll(VALUE_LINE)].map(({ index, 0: line, 1: literal = '' }) => {
    const end = index + line.length;
    return delimiters(literal).map((at) => at + end - literal.length);
  });
}
