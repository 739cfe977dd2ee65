import type { Span } from '../lines.ts';
import type { StringRule, Syntax } from './languages.ts';

/** Positions of the typographic quotes that together delimit one literal in code. */
export type QuoteGroup = readonly number[];

interface Tag {
  /** The tag's name in lower case; empty for `<>`. */
  readonly name: string;
  readonly kind: 'opening' | 'closing' | 'empty';
  readonly next: number;
}

/** Maximum nesting of interpolated code in strings. Deeper code counts as text. */
const MAX_DEPTH = 50;
const MAX_REGEX_CHARS = 300;
/** Tokens after which a `/` begins a regular expression and a `<` an element. After a value both are operators. */
const BEFORE_EXPRESSION = new Set([
  ...'(,=:[!&|?{};+-*%~^<>',
  ...'return typeof case in of do else and or not if unless when'.split(' '),
  '',
]);

/**
 * Finds the typographic quotes that are code, not part of a string or comment. This is a lexer, not a parser:
 * anything it cannot decide counts as a string and stays unchanged. Linear in the text.
 */
export function codeQuotes(
  text: string,
  syntax: Syntax,
  span: Span = { start: 0, end: text.length },
): QuoteGroup[] {
  const begin = syntax.startsAfter === undefined ? -1 : text.indexOf(syntax.startsAfter, span.start);
  const lexer = new QuoteLexer(text, syntax, span.end);
  lexer.scan(begin === -1 ? span.start : begin);
  return lexer.found;
}

/** Receives the position of a mark and returns the position after the construct that begins there. */
type Handler = (at: number) => number;

export class QuoteLexer {
  readonly found: QuoteGroup[] = [];
  readonly #text: string;
  readonly #syntax: Syntax;
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #marks: RegExp;
  #end: number;
  #depth = 0;

  constructor(text: string, syntax: Syntax, end: number) {
    this.#text = text;
    this.#syntax = syntax;
    this.#end = end;
    this.#handlers = new Map(this.#handlersOf(syntax));
    this.#marks = anyOf([...this.#handlers.keys(), '{', '}', '(', ')']);
  }

  /**
   * Scans code to the end of the text. With `close`: to the position after the mark that ends interpolated code in a
   * string.
   */
  scan(from: number, close = ''): number {
    const open = close === ')' ? '(' : '{';
    let nesting = 0;
    let at = from;
    while (at < this.#end) {
      const mark = matchFrom(this.#marks, this.#text, at);
      if (mark === null || mark.index >= this.#end) return this.#end;
      const handler = this.#handlers.get(mark[0]);
      at = handler === undefined ? mark.index + 1 : handler(mark.index);
      if (mark[0] === open) nesting += 1;
      if (mark[0] === close && nesting === 0) return at;
      if (mark[0] === close) nesting -= 1;
    }
    return this.#end;
  }

  /** Scans one tag with its attributes, from its `<` to after its `>`. */
  scanTag(at: number): Tag {
    const marks = new RegExp(`/?>|["'{${CURLY}]`, 'g');
    const name = /^<\/?([\w.:-]*)/.exec(this.#text.slice(at, at + 100))?.[1]?.toLowerCase() ?? '';
    const closing = this.#text[at + 1] === '/';
    let next = at + 1;
    while (next < this.#end) {
      const mark = matchFrom(marks, this.#text, next);
      if (mark === null) break;
      if (mark[0] === '>') return { name, kind: closing ? 'closing' : 'opening', next: mark.index + 1 };
      if (mark[0] === '/>') return { name, kind: closing ? 'closing' : 'empty', next: mark.index + 2 };
      next = this.#attribute(mark.index);
    }
    return { name, kind: 'empty', next: this.#end };
  }

  /**
   * The handlers of marks (characters that begin a string, a comment or the like) in code outside
   * strings. Later handlers replace earlier ones of the same mark.
   */
  #handlersOf(syntax: Syntax): [string, Handler][] {
    const handlers: [string, Handler][] = [...CURLY].map((mark) => [mark, (at) => this.#curly(at)]);
    if (syntax.charEscape !== undefined) handlers.push([syntax.charEscape, (at) => at + 2]);
    if (syntax.regexLiterals) handlers.push(['/', (at) => this.#regex(at)]);
    if (syntax.elements) handlers.push(['<', (at) => (this.#isElementHere(at) ? this.#element(at) : at + 1)]);
    if (syntax.loneQuote) handlers.push(["'", (at) => this.#character(at)]);
    if (syntax.heredoc !== undefined) handlers.push(['<<', (at) => this.#heredoc(at)]);
    for (const rule of syntax.strings) {
      const marks = stringMarks(rule);
      handlers.push([rule.open, (at) => this.#string(rule, marks, at)]);
    }
    const strings = new Map(handlers);
    for (const open of syntax.lineComments)
      handlers.push([
        open,
        (at) => this.#lineComment(at, strings.get(open) ?? ((from) => from + open.length)),
      ]);
    for (const [open, close] of syntax.blockComments) {
      const marks = anyOf(syntax.nestedComments ? [open, close] : [close]);
      handlers.push([open, (at) => this.#blockComment(at + open.length, close, marks)]);
    }
    return handlers;
  }

  #curly(at: number): number {
    const use = curlyUse(this.#text, at, this.#syntax);
    if (use.quotes.length > 0) this.found.push(use.quotes);
    return use.next;
  }

  #string(rule: StringRule, marks: RegExp, at: number): number {
    const before = this.#text.charAt(at - 1);
    // The `'` in 1'000 separates digits. The letters of an operator, such as `qq`, may also be the
    // end of a name. Neither begins a string.
    if ((rule.open === "'" && /\d/.test(before)) || (rule.operator && /[\w$@%&>]/.test(before)))
      return at + 1;
    let next = at + rule.open.length;
    while (next < this.#end) {
      const mark = matchFrom(marks, this.#text, next);
      if (mark === null) return this.#end;
      next = mark.index + mark[0].length;
      if (mark[0] === rule.close || mark[0] === '\n') return next;
      const hole = rule.holes.find(([open]) => open === mark[0]);
      if (hole !== undefined) next = this.#hole(next, hole[1]);
    }
    return this.#end;
  }

  #hole(at: number, close: string): number {
    if (this.#depth === MAX_DEPTH) return at;
    this.#depth += 1;
    const next = this.scan(at, close);
    this.#depth -= 1;
    return next;
  }

  #lineComment(at: number, otherwise: Handler): number {
    if (!this.#isCommentHere(at)) return otherwise(at);
    const newline = this.#text.indexOf('\n', at);
    return newline === -1 ? this.#end : newline;
  }

  #isCommentHere(at: number): boolean {
    const place = this.#syntax.commentAt;
    if (place === undefined) return true;
    const before = this.#text.slice(Math.max(0, at - 100), at);
    return place === 'word' ? /(?:^|[\s;&|)])$/.test(before) : /(?:^|\n)[ \t]*$/.test(before);
  }

  #blockComment(from: number, close: string, marks: RegExp): number {
    let nesting = 1;
    let next = from;
    while (nesting > 0) {
      const mark = matchFrom(marks, this.#text, next);
      if (mark === null) return this.#end;
      next = mark.index + mark[0].length;
      nesting += mark[0] === close ? -1 : 1;
    }
    return next;
  }

  #regex(at: number): number {
    if (!this.#isExpressionHere(at)) return at + 1;
    const literal = /^\/(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//.exec(
      this.#text.slice(at, at + MAX_REGEX_CHARS),
    );
    return at + (literal?.[0].length ?? 1);
  }

  /** Scans an element with its children, from its `<` to after its last `>`. Text between tags is prose. */
  #element(at: number): number {
    const marks = /\{|<(?=[A-Za-z/>])/g;
    let depth = 0;
    let next = at;
    while (next < this.#end) {
      if (this.#text[next] === '{') next = this.#hole(next + 1, '}');
      else {
        const tag = this.scanTag(next);
        next = tag.next;
        if (tag.kind === 'opening') depth += 1;
        if (tag.kind === 'closing') depth -= 1;
        if (depth <= 0) return next;
      }
      next = matchFrom(marks, this.#text, next)?.index ?? this.#end;
    }
    return this.#end;
  }

  #attribute(at: number): number {
    const mark = this.#text.charAt(at);
    if (mark === '{') return this.#syntax.elements ? this.#hole(at + 1, '}') : at + 1;
    if (CURLY.includes(mark)) return this.#curly(at);
    const close = this.#text.indexOf(mark, at + 1);
    return close === -1 ? this.#end : close + 1;
  }

  #isElementHere(at: number): boolean {
    return /[A-Za-z>]/.test(this.#text.charAt(at + 1)) && this.#isExpressionHere(at);
  }

  #isExpressionHere(at: number): boolean {
    return BEFORE_EXPRESSION.has(previousToken(this.#text, at));
  }

  /** Skips a character literal; any other lone quote is skipped as a single character. */
  #character(at: number): number {
    const literal = /^'(?:\\[^\n]{1,10}?|[^\\'\n])'/u.exec(this.#text.slice(at, at + 16));
    return at + (literal?.[0].length ?? 1);
  }

  /**
   * Scans a here-document: the rest of the line is code; text follows, up to a line that begins
   * with the mark.
   */
  #heredoc(at: number): number {
    const opening = matchFrom(new RegExp(this.#syntax.heredoc ?? '', 'y'), this.#text, at);
    const newline = this.#text.indexOf('\n', at);
    if (opening?.[2] === undefined || newline === -1) return at + 2;
    const end = this.#end;
    this.#end = Math.min(end, newline);
    this.scan(at + opening[0].length);
    this.#end = end;
    const mark = matchFrom(new RegExp(`\\n[ \\t]*${opening[2]}\\b`, 'g'), this.#text, newline);
    return mark === null ? end : mark.index + mark[0].length;
  }
}

/** Matches the marks inside a string: its end, escapes, and the beginning of interpolated code. */
function stringMarks(rule: StringRule): RegExp {
  const close = escaped(rule.close);
  const holes = rule.holes.map(([open]) => escaped(open));
  const escapes = rule.escape === 'double' ? [close + close] : rule.escape === 'backslash' ? ['\\\\[^]'] : [];
  return new RegExp([...holes, ...escapes, close, ...(rule.multiline ? [] : ['\\n'])].join('|'), 'g');
}

function anyOf(marks: readonly string[]): RegExp {
  const longestFirst = marks.toSorted((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map(escaped).join('|'), 'g');
}

function escaped(mark: string): string {
  return mark.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

/** The first match of a global or sticky expression at or after a position. */
function matchFrom(expression: RegExp, text: string, from: number): RegExpExecArray | null {
  expression.lastIndex = from;
  return expression.exec(text);
}

/** Typographic quotes that may replace a typed `"` or `'` in code: curly quotes and primes. */
export const CURLY = '\u201c\u201d\u2033\u2018\u2019\u2032';
/**
 * Maximum characters of a literal in typographic quotes. The quotes of a longer one stay unchanged.
 * This bounds the work on texts that consist of quotes.
 */
const MAX_LITERAL = 2000;
const MAX_LOOK_BACK = 80;

/** One kind of quote: its typed form, and the typographic forms that close a literal. */
interface Kind {
  readonly typed: '"' | "'";
  readonly curly: string;
  /** True if a quote before a letter is an apostrophe, which does not close a literal. */
  readonly apostrophes: boolean;
}

const DOUBLE: Kind = { typed: '"', curly: '\u201c\u201d\u2033', apostrophes: false };
const SINGLE: Kind = { typed: "'", curly: '\u2018\u2019\u2032', apostrophes: true };

/** The meaning of a typographic quote outside strings and comments. */
interface CurlyUse {
  /** If the quote delimits a string of code: its position and that of its partner. Empty for prose. */
  readonly quotes: readonly number[];
  /** The position at which the lexer continues. */
  readonly next: number;
}

/**
 * Classifies a typographic quote in code. It is code if it opens a literal that is closed again;
 * the text between is data. All other quotes stay unchanged: apostrophes, quotes that are never
 * closed, and quotes whose partner is uncertain.
 */
function curlyUse(text: string, at: number, syntax: Syntax): CurlyUse {
  const prose = { quotes: [], next: at + 1 };
  if (isAfterPlainWord(text, at, syntax)) return prose;
  if (DOUBLE.curly.includes(text.charAt(at)))
    return tripled(text, at, syntax) ?? literalUse(text, at, DOUBLE, syntax);
  if (syntax.loneQuote) return loneQuote(text, at) ?? prose;
  if (!syntax.strings.some((rule) => rule.close === "'")) return prose;
  return literalUse(text, at, SINGLE, syntax);
}

/**
 * True if a quote follows a word after which no string can begin. Prefixes of literals and some keywords may precede
 * a string.
 */
function isAfterPlainWord(text: string, at: number, syntax: Syntax): boolean {
  const touching = touchingWord(text, at);
  if (touching !== '' && syntax.prefixes?.test(touching)) return false;
  if (syntax.wordsBefore === undefined) return touching !== '';
  const before = previousToken(text, at);
  return /^[\p{L}\p{N}_$]/u.test(before) && !syntax.wordsBefore.has(before);
}

/**
 * Recognises the character literal `‘x’`, or a lone quote before a word: a lifetime in Rust, a
 * quote operator in Lisp. Undefined for any other quote.
 */
function loneQuote(text: string, at: number): CurlyUse | undefined {
  const literal = /^.(?:\\.|[^\\\n])[\u2018\u2019\u2032']/u.exec(text.slice(at, at + 8))?.[0];
  if (literal !== undefined) return closedAt(text, at, at + literal.length - 1);
  return /[\w(]/.test(text.charAt(at + 1)) ? { quotes: [at], next: at + 1 } : undefined;
}

/**
 * Recognises a literal in three quotes on each side, `“““text”””`, in a language that has `"""`.
 */
function tripled(text: string, at: number, syntax: Syntax): CurlyUse | undefined {
  if (!syntax.strings.some((rule) => rule.open === '"""')) return undefined;
  const literal = /^[\u201c\u201d]{3}[^"]*?[\u201c\u201d]{3}/.exec(text.slice(at, at + MAX_LITERAL))?.[0];
  if (literal === undefined) return undefined;
  const end = at + literal.length;
  return { quotes: [at, at + 1, at + 2, end - 3, end - 2, end - 1], next: end };
}

/**
 * Finds the end of the literal that the typographic quote at `at` opens: the next typographic quote
 * of the same kind (double or single). A typed quote (`"` or `'`) may close the literal too, or may
 * open another string. It closes the literal only if an even number of the same typed quotes follows
 * in the line.
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
function previousToken(text: string, offset: number): string {
  const stop = Math.max(0, offset - MAX_LOOK_BACK);
  let end = offset;
  while (end > stop && /\s/.test(text.charAt(end - 1))) end -= 1;
  return touchingWord(text, end) || text.charAt(end - 1);
}

/** The word that ends exactly at an offset, or an empty string. Of a very long word, only the end is returned. */
function touchingWord(text: string, offset: number): string {
  const stop = Math.max(0, offset - MAX_LOOK_BACK);
  let start = offset;
  while (start > stop && /[\p{L}\p{N}_$]/u.test(text.charAt(start - 1))) start -= 1;
  return text.slice(start, offset);
}
