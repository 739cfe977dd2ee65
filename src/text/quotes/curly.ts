import type { Syntax } from './languages.ts';

/** Typographic quotes that may replace a typed `"` or `'` in code: curly quotes and primes. */
export const CURLY = '\u201c\u201d\u2033\u2018\u2019\u2032';
/** Maximum length of a searched literal. Bounds the work on texts that consist of quotes. */
const MAX_LITERAL = 2000;
const MAX_LOOK_BACK = 80;

/** One kind of quote: its typed form, and the typographic forms that close a literal. */
interface Kind {
  readonly typed: '"' | "'";
  readonly curly: string;
  /** A quote before a letter is an apostrophe and does not close a literal. */
  readonly apostrophes: boolean;
}

const DOUBLE: Kind = { typed: '"', curly: '\u201c\u201d\u2033', apostrophes: false };
const SINGLE: Kind = { typed: "'", curly: '\u2018\u2019\u2032', apostrophes: true };

/** The meaning of a typographic quote outside strings and comments. */
export interface CurlyUse {
  /** Positions of the matching quotes that are code; empty in prose. */
  readonly quotes: readonly number[];
  /** The position at which the lexer continues. */
  readonly next: number;
}

/**
 * Classifies a typographic quote in code. It is code if it opens a literal that is closed again; the text between is
 * data. An apostrophe, a quote that is never closed, and a literal with typed quotes of the same kind inside stay
 * unchanged, because no correction is certain.
 */
export function curlyUse(text: string, at: number, syntax: Syntax): CurlyUse {
  const prose = { quotes: [], next: at + 1 };
  if (isAfterPlainWord(text, at, syntax)) return prose;
  if (DOUBLE.curly.includes(text.charAt(at)))
    return tripled(text, at, syntax) ?? literalUse(text, at, DOUBLE, syntax);
  if (syntax.loneQuote) return loneQuote(text, at) ?? prose;
  if (!syntax.strings.some((rule) => rule.close === "'")) return prose;
  return literalUse(text, at, SINGLE, syntax);
}

/** A string cannot begin after a word, unless the word is a literal's prefix or a keyword that strings may follow. */
function isAfterPlainWord(text: string, at: number, syntax: Syntax): boolean {
  const touching = touchingWord(text, at);
  if (touching !== '' && syntax.prefixes?.test(touching)) return false;
  if (syntax.wordsBefore === undefined) return touching !== '';
  const before = previousToken(text, at);
  return /^[\p{L}\p{N}_$]/u.test(before) && !syntax.wordsBefore.has(before);
}

/** The character literal `‘x’`, or a lone quote before a word, as in lifetimes and quote operators. */
function loneQuote(text: string, at: number): CurlyUse | undefined {
  const literal = /^.(?:\\.|[^\\\n])[\u2018\u2019\u2032']/u.exec(text.slice(at, at + 8))?.[0];
  if (literal !== undefined) return closedAt(text, at, at + literal.length - 1);
  return /[\w(]/.test(text.charAt(at + 1)) ? { quotes: [at], next: at + 1 } : undefined;
}

/** `“““text”””` in a language that has `"""`. */
function tripled(text: string, at: number, syntax: Syntax): CurlyUse | undefined {
  if (!syntax.strings.some((rule) => rule.open === '"""')) return undefined;
  const literal = /^[\u201c\u201d]{3}[^"]*?[\u201c\u201d]{3}/.exec(text.slice(at, at + MAX_LITERAL))?.[0];
  if (literal === undefined) return undefined;
  const end = at + literal.length;
  return { quotes: [at, at + 1, at + 2, end - 3, end - 2, end - 1], next: end };
}

/**
 * Finds the end of the literal: the first quote of its kind. If that is a typed quote, the number of typed quotes in
 * the rest of the line decides. An even number means that they are separate strings; an odd one leaves the pairing
 * unknown.
 */
function literalUse(text: string, at: number, kind: Kind, syntax: Syntax): CurlyUse {
  const rule = syntax.strings.find((one) => one.open === kind.typed);
  const escapes = rule?.escape === 'backslash' ? '\\\\[^\\n]|' : '';
  const marks = new RegExp(`${escapes}[${kind.typed}${kind.curly}]|\\n`, 'g');
  marks.lastIndex = at + 1;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    if (mark.index > at + MAX_LITERAL || (mark[0] === '\n' && !rule?.multiline)) break;
    if (mark[0] === kind.typed) return closedByTyped(text, at, mark.index);
    if (kind.curly.includes(mark[0]) && !(kind.apostrophes && isBeforeWord(text, mark.index)))
      return closedAt(text, at, mark.index);
  }
  return { quotes: [], next: at + 1 };
}

function closedByTyped(text: string, at: number, close: number): CurlyUse {
  const newline = text.indexOf('\n', close);
  const end = Math.min(newline === -1 ? text.length : newline, close + MAX_LITERAL);
  const rest = text.slice(close + 1, end);
  const typed = rest.split(text.charAt(close)).length - 1;
  return typed % 2 === 0 ? closedAt(text, at, close) : { quotes: [], next: end };
}

function closedAt(text: string, at: number, close: number): CurlyUse {
  const quotes = CURLY.includes(text.charAt(close)) ? [at, close] : [at];
  return { quotes, next: close + 1 };
}

function isBeforeWord(text: string, at: number): boolean {
  return /[\p{L}\p{N}_]/u.test(text.charAt(at + 1));
}

/** The word or single character before an offset, ignoring white space; empty at the beginning of the text. */
export function previousToken(text: string, offset: number): string {
  const stop = Math.max(0, offset - MAX_LOOK_BACK);
  let end = offset;
  while (end > stop && /\s/.test(text.charAt(end - 1))) end -= 1;
  return touchingWord(text, end) || text.charAt(end - 1);
}

/** The word that ends exactly at an offset, or an empty string. Of a very long word, only the end is returned. */
export function touchingWord(text: string, offset: number): string {
  const stop = Math.max(0, offset - MAX_LOOK_BACK);
  let start = offset;
  while (start > stop && /[\p{L}\p{N}_$]/u.test(text.charAt(start - 1))) start -= 1;
  return text.slice(start, offset);
}
