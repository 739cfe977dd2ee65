import { splitLines, withoutEnding } from '../lines.ts';
import { CURLY } from './curly.ts';
import { ATTRIBUTES, FLOW, syntaxNamed } from './languages.ts';
import { codeQuotes, type QuoteGroup, QuoteLexer } from './lexer.ts';

const EMBEDDED: ReadonlyMap<string, string> = new Map([
  ['script', 'javascript'],
  ['style', 'css'],
]);
const BEFORE_KEY = /^\s*(?:[-?]\s+)*(?:export\s+)?/;
const KEY = /^(?:"[^"]*"\s*|'[^']*'\s*|[^:=]*)(?::(?=\s|$)|=)\s*/;
const CURLY_KEY = new RegExp(`^[${CURLY}][^"'${CURLY}]*[${CURLY}](?=\\s*[:=])`);
/** A line that begins block text, such as `key: |`; the deeper lines that follow are text. */
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
export function markupQuotes(text: string): QuoteGroup[] {
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
export function valueQuotes(text: string): QuoteGroup[] {
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

  /** Whether this line contains a key or value. Call it for every line, in order. */
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
