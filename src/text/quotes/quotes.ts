import type { Policy } from '../../model/policy.ts';
import { type Span, splitLines, withoutEnding } from '../lines.ts';
import { ATTRIBUTES, FLOW, isSeedCode, type Language, languageOf, syntaxNamed } from './languages.ts';
import { CURLY, codeQuotes, type QuoteGroup, QuoteLexer } from './lexer.ts';

/** The quotes that the policy preset `staleness` replaces, with their straight forms. */
const STRAIGHT: Readonly<Record<string, string>> = {
  '\u2018': "'",
  '\u2019': "'",
  '\u2032': "'",
  '\u201c': '"',
  '\u201d': '"',
  '\u2033': '"',
  '\u00ab': '<<',
  '\u00bb': '>>',
};
const SEED_QUOTES = /[\u2018\u2019\u2032\u201c\u201d\u2033\u00ab\u00bb]/g;
const SUSPICIOUS = /[\u2018\u2019\u2032\u201c\u201d\u2033\u00ab\u00bb\u00a0\u2013\u2014\u2026\u00d7\u2212]/;

interface StraightenOptions {
  readonly mode: Policy['quotes'];
  /** The spans that the model wrote, ascending; quotes outside them are not changed. Default: the whole text. */
  readonly within?: readonly Span[];
}

interface Straightened {
  readonly text: string;
  /** Number of replaced quotes. */
  readonly count: number;
}

/**
 * Straightens typographic quotes in code; the file's name selects the language. The number of lines
 * does not change. `text` must be the whole file, because a part alone does not separate code from
 * comments.
 * - `code`: only quotes that act as code (see lexer.ts), so that valid code does not change.
 * - `all`: every quote of `STRAIGHT` in every code file, as the preset `staleness` demands.
 * - `off`: none.
 */
export function straightenContent(path: string, text: string, options: StraightenOptions): Straightened {
  const within = options.within ?? [{ start: 0, end: text.length }];
  if (options.mode === 'off' || !within.some((span) => hasQuotes(text, span))) return { text, count: 0 };
  if (options.mode === 'all') return isSeedCode(path) ? straightenSpans(text, within) : { text, count: 0 };
  const language = languageOf(path);
  if (language === undefined) return { text, count: 0 };
  const own = quotesIn(text, language).filter((group) => isWithin(group, within));
  return replaceAt(text, own.flat());
}

/** Straightens every quote of `STRAIGHT` in any text; for tool arguments. */
export function straightenQuotes(text: string): string {
  return straightenSpans(text, [{ start: 0, end: text.length }]).text;
}

/** True if a text contains any of the eight curly quotes that `STRAIGHT` maps to straight ones. */
export function hasCurlyQuotes(text: string): boolean {
  return text.search(SEED_QUOTES) !== -1;
}

/** Counts the eight curly quotes that `STRAIGHT` maps, and returns their byte offsets in UTF-8. */
export function detectCurlyQuotes(text: string): {
  readonly count: number;
  readonly offsets: readonly number[];
} {
  const offsets: number[] = [];
  let bytes = 0;
  let done = 0;
  for (const { index } of text.matchAll(SEED_QUOTES)) {
    bytes += Buffer.byteLength(text.slice(done, index));
    done = index;
    offsets.push(bytes);
  }
  return { count: offsets.length, offsets };
}

/**
 * True if a text contains characters that look like typed ones: the eight quotes of `STRAIGHT`,
 * no-break space, dashes, ellipsis, × and −.
 */
export function hasSuspiciousUnicode(text: string): boolean {
  return SUSPICIOUS.test(text);
}

function quotesIn(text: string, language: Language): QuoteGroup[] {
  switch (language.kind) {
    case 'code':
      return codeQuotes(text, language.syntax);
    case 'markup':
      return markupQuotes(text);
    case 'values':
      return valueQuotes(text);
    default:
      return language satisfies never;
  }
}

function hasQuotes(text: string, span: Span): boolean {
  return hasCurlyQuotes(text.slice(span.start, span.end));
}

/**
 * True if all quotes of a group are within the spans. Straightening only one quote of a pair would break the literal.
 */
function isWithin(group: QuoteGroup, spans: readonly Span[]): boolean {
  return group.every((at) => {
    let low = 0;
    let high = spans.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((spans[middle]?.end ?? 0) > at) high = middle;
      else low = middle + 1;
    }
    const span = spans[low];
    return span !== undefined && span.start <= at && at < span.end;
  });
}

function replaceAt(text: string, positions: readonly number[]): Straightened {
  const pieces: string[] = [];
  let done = 0;
  for (const at of positions.toSorted((a, b) => a - b)) {
    pieces.push(text.slice(done, at), STRAIGHT[text.charAt(at)] ?? '');
    done = at + 1;
  }
  pieces.push(text.slice(done));
  return { text: pieces.join(''), count: positions.length };
}

function straightenSpans(text: string, spans: readonly Span[]): Straightened {
  const pieces: string[] = [];
  let count = 0;
  let done = 0;
  for (const { start, end } of spans) {
    const own = text.slice(start, end).replaceAll(SEED_QUOTES, (quote) => {
      count += 1;
      return STRAIGHT[quote] ?? quote;
    });
    pieces.push(text.slice(done, start), own);
    done = end;
  }
  pieces.push(text.slice(done));
  return { text: pieces.join(''), count };
}

const EMBEDDED: ReadonlyMap<string, string> = new Map([
  ['script', 'javascript'],
  ['style', 'css'],
]);
const BEFORE_KEY = /^\s*(?:[-?]\s+)*(?:export\s+)?/;
const KEY = /^(?:"[^"]*"\s*|'[^']*'\s*|[^:=]*)(?::(?=\s|$)|=)\s*/;
const CURLY_KEY = new RegExp(`^[${CURLY}][^"'${CURLY}]*[${CURLY}](?=\\s*[:=])`);
/**
 * A line that begins block text, such as `key: |`. The lines with deeper indentation that follow
 * are text.
 */
const BLOCK_TEXT = /(?:^|[:-]\s+)[|>][-+\d]*\s*(?:#.*)?$/;
/**
 * A single literal that fills the whole value. Backslashes are excluded, because they would become escapes between
 * `"`.
 */
const DOUBLE_QUOTED = /^[\u201c\u201d\u2033][^"\\\u201c\u201d\u2033]*["\u201c\u201d\u2033]$/;
const SINGLE_QUOTED =
  /^[\u2018\u2019\u2032](?:[^'\u2018\u2019\u2032]|[\u2018\u2019\u2032](?=\p{L}))*['\u2018\u2019\u2032]$/u;

/**
 * Finds the typographic quotes in HTML and XML that are code: around attribute values, and in scripts and styles.
 */
function markupQuotes(text: string): QuoteGroup[] {
  const lexer = new QuoteLexer(text, ATTRIBUTES, text.length);
  const marks = /<!--|<!\[CDATA\[|<(?=[A-Za-z/?!])/g;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    if (mark[0] === '<') {
      const tag = lexer.scanTag(mark.index);
      marks.lastIndex = tag.kind === 'opening' ? embedded(text, tag, lexer.found) : tag.next;
    } else marks.lastIndex = endOf(text, mark[0] === '<!--' ? '-->' : ']]>', mark.index);
  }
  return lexer.found;
}

/** Scans the content of a script or style element and returns where markup continues. */
function embedded(text: string, tag: { name: string; next: number }, found: QuoteGroup[]): number {
  const syntax = syntaxNamed(EMBEDDED.get(tag.name) ?? '');
  if (syntax === undefined) return tag.next;
  const closing = new RegExp(`</${tag.name}`, 'gi');
  closing.lastIndex = tag.next;
  const end = closing.exec(text)?.index ?? text.length;
  found.push(...codeQuotes(text, syntax, { start: tag.next, end }));
  return end;
}

function endOf(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at === -1 ? text.length : at + mark.length;
}

/**
 * Finds the typographic quotes in YAML, INI and `.env` files that are code: around a whole key or value, or in a
 * flow collection. Elsewhere they are data, because values need no quotes in these languages.
 */
function valueQuotes(text: string): QuoteGroup[] {
  const found: QuoteGroup[] = [];
  const structure = new Structure();
  let start = 0;
  for (const line of splitLines(text)) {
    const content = withoutEnding(line);
    if (structure.includes(content)) {
      for (const group of lineQuotes(content)) found.push(group.map((at) => at + start));
    }
    start += line.length;
  }
  return found;
}

/** Separates lines with keys and values from comments and from lines of a multi-line text. */
class Structure {
  /** The indentation of the key whose block text is being scanned, or -1. */
  #textIndent = -1;
  /** The opening quote of a value that began on an earlier line. */
  #openQuote = '';

  /** True if this line contains a key or value. Call it for every line, in order. */
  includes(content: string): boolean {
    if (this.#openQuote !== '') {
      if (content.includes(this.#openQuote)) this.#openQuote = '';
      return false;
    }
    const indent = content.search(/\S/);
    if (this.#textIndent >= 0 && (indent === -1 || indent > this.#textIndent)) return false;
    this.#textIndent = -1;
    if (indent === -1 || '#;'.includes(content.charAt(indent))) return false;
    if (BLOCK_TEXT.test(content)) this.#textIndent = indent;
    const value = content.slice(valueStart(content));
    const mark = value.charAt(0);
    if ((mark === '"' || mark === "'") && !value.includes(mark, 1)) this.#openQuote = mark;
    return true;
  }
}

function lineQuotes(content: string): number[][] {
  const groups: number[][] = [];
  const key = BEFORE_KEY.exec(content)?.[0].length ?? 0;
  const curlyKey = CURLY_KEY.exec(content.slice(key))?.[0];
  if (curlyKey !== undefined) groups.push([key, key + curlyKey.length - 1]);
  const start = valueStart(content);
  const value = withoutComment(content.slice(start)).trimEnd().replace(/,$/, '');
  const own = /^[[{]/.test(value) ? codeQuotes(value, FLOW) : enclosing(value);
  for (const group of own) groups.push(group.map((at) => at + start));
  return groups;
}

function valueStart(content: string): number {
  const key = BEFORE_KEY.exec(content)?.[0].length ?? 0;
  return key + (KEY.exec(content.slice(key))?.[0].length ?? 0);
}

function withoutComment(value: string): string {
  const comment = value.indexOf(' #');
  return comment === -1 ? value : value.slice(0, comment);
}

function enclosing(value: string): number[][] {
  if (value.length < 2 || !(DOUBLE_QUOTED.test(value) || SINGLE_QUOTED.test(value))) return [];
  return [[0, value.length - 1].filter((at) => CURLY.includes(value.charAt(at)))];
}
