import { CURLY, curlyUse } from './curly-literal.ts';
import { scanElement } from './element-lexer.ts';
import type { Span } from './lines.ts';
import { previousToken } from './previous-token.ts';
import type { StringRule, Syntax } from './syntax.ts';

/** Positions of typographic quotes that belong together and stand as code. */
export type QuoteGroup = readonly number[];

/** Code in strings in code in strings: deeper is not followed, and taken for text. */
const MAX_DEPTH = 50;
const MAX_REGEX_CHARS = 300;
/** After one of these a `/` begins a regular expression and a `<` an element; after a value both are operators. */
const BEFORE_EXPRESSION = new Set([
  ...'(,=:[!&|?{};+-*%~^<>',
  ...'return typeof case in of do else and or not if unless when'.split(' '),
  '',
]);

/**
 * The typographic quotes in code that stand as code, not inside a string or a comment.
 * A small lexer, not a parser: what it cannot tell it takes for a string and leaves alone. Linear in the text.
 */
export function codeQuotes(
  text: string,
  syntax: Syntax,
  span: Span = { start: 0, end: text.length },
): QuoteGroup[] {
  const begin = syntax.startsAfter === undefined ? -1 : text.indexOf(syntax.startsAfter, span.start);
  const lexer = new CodeLexer(text, syntax, span.end);
  lexer.scan(begin === -1 ? span.start : begin);
  return lexer.found;
}

/** Told where a mark stands, says where to go on. */
type Handler = (at: number) => number;

class CodeLexer {
  readonly found: QuoteGroup[] = [];
  readonly #text: string;
  readonly #syntax: Syntax;
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #marks: RegExp;
  /** What matters inside each kind of string and comment, by its opening mark. */
  readonly #inside: ReadonlyMap<string, RegExp>;
  #end: number;
  #depth = 0;

  constructor(text: string, syntax: Syntax, end: number) {
    this.#text = text;
    this.#syntax = syntax;
    this.#end = end;
    this.#handlers = new Map(this.#handlersOf(syntax));
    this.#marks = anyOf([...this.#handlers.keys(), '{', '}', '(', ')']);
    this.#inside = new Map([
      ...syntax.strings.map((rule) => [`string ${rule.open}`, stringMarks(rule)] as const),
      ...syntax.blockComments.map(
        ([open, close]) =>
          [`comment ${open}`, anyOf(syntax.nestedComments ? [open, close] : [close])] as const,
      ),
    ]);
  }

  /** Scans code up to the end, or to behind the mark that closes the hole it stands in. */
  scan(from: number, close = ''): number {
    const open = close === ')' ? '(' : '{';
    let nesting = 0;
    let at = from;
    while (at < this.#end) {
      this.#marks.lastIndex = at;
      const mark = this.#marks.exec(this.#text);
      if (mark === null || mark.index >= this.#end) return this.#end;
      const handler = this.#handlers.get(mark[0]);
      at = handler === undefined ? mark.index + 1 : handler(mark.index);
      if (mark[0] === open) nesting += 1;
      if (mark[0] === close && nesting === 0) return at;
      if (mark[0] === close) nesting -= 1;
    }
    return this.#end;
  }

  /** What to do at each mark that matters outside of strings; later ones win over earlier ones with the same mark. */
  #handlersOf(syntax: Syntax): [string, Handler][] {
    const handlers: [string, Handler][] = [...CURLY].map((mark) => [mark, (at) => this.#curly(at)]);
    if (syntax.charEscape !== undefined) handlers.push([syntax.charEscape, (at) => at + 2]);
    if (syntax.regexLiterals) handlers.push(['/', (at) => this.#regex(at)]);
    if (syntax.elements) handlers.push(['<', (at) => this.#element(at)]);
    if (syntax.loneQuote) handlers.push(["'", (at) => this.#character(at)]);
    if (syntax.heredoc !== undefined) handlers.push(['<<', (at) => this.#heredoc(at)]);
    for (const rule of syntax.strings) handlers.push([rule.open, (at) => this.#string(rule, at)]);
    for (const open of syntax.lineComments) handlers.push([open, (at) => this.#lineComment(open, at)]);
    for (const pair of syntax.blockComments) handlers.push([pair[0], (at) => this.#blockComment(pair, at)]);
    return handlers;
  }

  #curly(at: number): number {
    const use = curlyUse(this.#text, at, this.#syntax);
    if (use.quotes.length > 0) this.found.push(use.quotes);
    return use.next;
  }

  #string(rule: StringRule, at: number): number {
    // A separator of digits, as in 1'000.
    if (rule.open === "'" && /\d/.test(this.#text.charAt(at - 1))) return at + 1;
    if (rule.operator === true && /[\w$@%&>]/.test(this.#text.charAt(at - 1))) return at + 1;
    let next = at + rule.open.length;
    while (next < this.#end) {
      const mark = this.#nextInside(`string ${rule.open}`, next);
      if (mark === undefined) return this.#end;
      next = mark.index + mark[0].length;
      if (mark[0] === rule.close || mark[0] === '\n') return next;
      const hole = rule.holes?.find(([open]) => open === mark[0]);
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

  #lineComment(open: string, at: number): number {
    if (!this.#isCommentHere(at)) {
      const rule = this.#syntax.strings.find((one) => one.open === open);
      return rule === undefined ? at + open.length : this.#string(rule, at);
    }
    const newline = this.#text.indexOf('\n', at);
    return newline === -1 ? this.#end : newline;
  }

  #isCommentHere(at: number): boolean {
    const place = this.#syntax.commentAt;
    if (place === undefined) return true;
    const before = this.#text.slice(Math.max(0, at - 100), at);
    return place === 'word' ? /(?:^|[\s;&|)])$/.test(before) : /(?:^|\n)[ \t]*$/.test(before);
  }

  #blockComment(pair: readonly [string, string], at: number): number {
    const [open, close] = pair;
    let nesting = 1;
    let next = at + open.length;
    while (nesting > 0) {
      const mark = this.#nextInside(`comment ${open}`, next);
      if (mark === undefined) return this.#end;
      next = mark.index + mark[0].length;
      nesting += mark[0] === close ? -1 : 1;
    }
    return next;
  }

  #nextInside(what: string, from: number): RegExpExecArray | undefined {
    const marks = this.#inside.get(what);
    if (marks === undefined) return undefined;
    marks.lastIndex = from;
    return marks.exec(this.#text) ?? undefined;
  }

  #regex(at: number): number {
    if (!this.#isExpressionHere(at)) return at + 1;
    const literal = /^\/(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//.exec(
      this.#text.slice(at, at + MAX_REGEX_CHARS),
    );
    return at + (literal?.[0].length ?? 1);
  }

  #element(at: number): number {
    if (!/[A-Za-z>]/.test(this.#text.charAt(at + 1)) || !this.#isExpressionHere(at)) return at + 1;
    return scanElement(this.#text, at, {
      end: this.#end,
      code: (from) => this.#hole(from, '}'),
      curly: (from) => this.#curly(from),
    });
  }

  #isExpressionHere(at: number): boolean {
    return BEFORE_EXPRESSION.has(previousToken(this.#text, at));
  }

  /** A character literal is passed over whole; any other lone quote stands for itself. */
  #character(at: number): number {
    const literal = /^'(?:\\[^\n]{1,10}?|[^\\'\n])'/u.exec(this.#text.slice(at, at + 16));
    return at + (literal?.[0].length ?? 1);
  }

  /** The rest of the line is code; then text, up to a line with nothing but the mark. */
  #heredoc(at: number): number {
    const pattern = new RegExp(this.#syntax.heredoc ?? '', 'y');
    pattern.lastIndex = at;
    const opening = pattern.exec(this.#text);
    const newline = this.#text.indexOf('\n', at);
    if (opening?.[2] === undefined || newline === -1) return at + 2;
    const end = this.#end;
    this.#end = Math.min(end, newline);
    this.scan(at + opening[0].length);
    this.#end = end;
    const closing = new RegExp(`\\n[ \\t]*${opening[2]}\\b`, 'g');
    closing.lastIndex = newline;
    const mark = closing.exec(this.#text);
    return mark === null ? end : mark.index + mark[0].length;
  }
}

/** Everything that matters inside a string. */
function stringMarks(rule: StringRule): RegExp {
  const close = escaped(rule.close);
  const holes = (rule.holes ?? []).map(([open]) => escaped(open));
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
