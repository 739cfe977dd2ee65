import { previousToken, touchingWord } from './previous-token.ts';
import type { Syntax } from './syntax.ts';

/** Typographic quotes that may stand for a typed `"` or `'` in code: curly ones and primes. */
export const CURLY = '\u201c\u201d\u2033\u2018\u2019\u2032';
/** Longer literals are not looked for: it bounds the work on texts that are all quotes. */
const MAX_LITERAL = 2000;

/** One kind of quote: as typed, and how typographic ones that close a literal look. */
interface Kind {
  readonly typed: '"' | "'";
  readonly curly: string;
  /** A quote before a letter is an apostrophe and closes nothing. */
  readonly apostrophes: boolean;
}

const DOUBLE: Kind = { typed: '"', curly: '\u201c\u201d\u2033', apostrophes: false };
const SINGLE: Kind = { typed: "'", curly: '\u2018\u2019\u2032', apostrophes: true };

/** What a typographic quote that stands outside of strings and comments turned out to be. */
export interface CurlyUse {
  /** The quotes that stand as code and belong together; none when it is prose. */
  readonly quotes: readonly number[];
  /** Where to go on. */
  readonly next: number;
}

/**
 * Judges a typographic quote in code. It stands as code if it opens a literal that closes again: the two then belong
 * together, and what is between them is data. An apostrophe, a quote that never closes, and one whose literal holds
 * typed quotes of the same kind are left alone: no way of straightening them would be right for sure.
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

/** After a word no string can begin, unless the word is part of the literal or one that strings may follow. */
function isAfterPlainWord(text: string, at: number, syntax: Syntax): boolean {
  const touching = touchingWord(text, at);
  if (touching !== '' && syntax.prefixes?.test(touching)) return false;
  if (syntax.wordsBefore === undefined) return touching !== '';
  const before = previousToken(text, at);
  return /^[\p{L}\p{N}_$]/u.test(before) && !syntax.wordsBefore.has(before);
}

/** The character literal `‘x’`, or a lone quote before a word as lifetimes and quote operators have it. */
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
 * The first quote of the kind closes the literal. If that is a typed one with a typographic one after it, the typed
 * ones that follow decide: in pairs they are strings of their own, and otherwise nobody knows what belongs to what.
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
