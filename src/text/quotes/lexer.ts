import type { Span } from '../lines.ts';
import { CURLY, curlyUse, previousToken } from './curly.ts';
import type { StringRule, Syntax } from './languages.ts';

/** Positions of matching typographic quotes that are code. */
export type QuoteGroup = readonly number[];

export interface Tag {
  /** Lower case; empty for `<>`. */
  readonly name: string;
  readonly kind: 'opening' | 'closing' | 'empty';
  readonly next: number;
}

/** Limit for nesting code in strings in code. Deeper levels count as text. */
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

  /** Scans code to the end of the text, or to the position after the mark that closes the hole. */
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

  /** The handler of each mark outside strings. Later handlers replace earlier ones of the same mark. */
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
    // A digit separator, as in 1'000, and an operator's letters at the end of a name do not begin a string.
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
   * Scans a here-document: the rest of the line is code; text follows, up to a line that contains only the mark.
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

/** Matches the marks inside a string: its end, escapes and holes. */
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
