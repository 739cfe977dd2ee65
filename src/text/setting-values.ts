import type { Span } from './lines.ts';

/**
 * Matches a line without a value: a bracket, a heading, the first or last line of a PEM key, a
 * comment, or a blank line.
 */
const HARMLESS =
  /^\s*(?:[{}[\](),:][\s{}[\](),:]*|---|\.\.\.|-----(?:BEGIN|END) [A-Z0-9 ]+-----|\[[\w .:/@-]+\]|(?:[#;]|\/\/[ \t]).*)?$/;
/** Matches the beginning of a setting that was commented out: its name and its mark, `=` or `:`. */
const COMMENTED = /^\s*[#;]+[ \t]*(?:-[ \t]+)?(?:export[ \t]+)?([\w.-]+)[ \t]*([=:])[ \t]*(?=\S)/;
/** Matches names of secrets. In comments, only such a name may be followed by a colon: prose has colons, too. */
const SECRET_NAME = /passw|secret|token|key/i;
/** Matches a line of a .netrc file. NETRC_VALUE matches the secret parts of the line. */
const NETRC = /^\s*(?:machine|default|login|password|account)(?:\s+[^\s:=]|\s*$)/;
const NETRC_VALUE = /\b((?:password|account)[ \t]+)("[^"]*"|\S+)/g;
/** Match the texts and attributes of an XML line. */
const XML_VALUES: readonly RegExp[] = [
  /(>)([^<]+)/g,
  /(=\s*")([^"]+)/g,
  /(=\s*')([^']+)/g,
  /(<!\[CDATA\[)(.+?)(?=\]\]>|$)/g,
];

const PREFIX = /\s*(?:-\s+)*(?:(?:export|set|setx|declare|readonly|typeset|env)\s+(?:-\w+\s+)*)?/iy;
const BETWEEN = /(?:[\s,{}[\]]|[|>][+-]?\d?\s*$)*/y;
/** Matches a name and the `=` or `:` after it. A name in .npmrc may begin with an address. */
const NAME = /(?:"(?:[^"\\]|\\.)*"|'[^']*'|(?:\/\/[^\s="']*:)?:?[\w.$*@-]+)[ \t]*(?:[:?+]?=|:)[ \t]*/y;
const QUOTED = /"((?:[^"\\]|\\.)*)"(?=\s*(?:[,}\]#]|\/\/|$))|'([^']*)'(?=\s*(?:[,}\]#]|\/\/|$))/y;
/** Matches an opening bracket, or the `|` or `>` of a YAML value that begins in the next line. */
const OPENING = /[{[]|[|>][+-]?\d?\s*$/y;
/**
 * Matches values that are not secret if they occur in a list: short numbers, true, false and null.
 */
const LITERAL = /^(?:-?\d{1,3}|true|false|null)$/;
/**
 * Matches a name and the `=` after it. The name is only in upper case or only in lower case. The
 * last line of encoded bytes may also end with `=`, but mixes both cases.
 */
const ONE_CASE = /^\s*(?:[A-Z0-9_.-]+|[a-z0-9_.-]+)[ \t]*=/;

/**
 * The spans of all values, without quotes, in a file of settings: KEY=value, JSON, YAML, TOML, XML,
 * .netrc, and lists. Names, brackets and comments stay visible, but not the values of settings in
 * comments. A line in any other form counts as one value.
 */
export function settingSpans(text: string): Span[] {
  const spans: Span[] = [];
  for (const { 0: line, index } of text.matchAll(/[^\r\n]+/g))
    for (const { start, end } of lineSpans(line))
      if (start < end) spans.push({ start: index + start, end: index + end });
  return spans;
}

function lineSpans(line: string): Span[] {
  const [beginning, name = '', mark] = COMMENTED.exec(line) ?? [];
  if (beginning !== undefined && (mark === '=' || SECRET_NAME.test(name)))
    return [{ start: beginning.length, end: line.trimEnd().length }];
  if (HARMLESS.test(line)) return [];
  if (NETRC.test(line)) return groupSpans(line, NETRC_VALUE);
  if (/^\s*</.test(line)) return XML_VALUES.flatMap((pattern) => groupSpans(line, pattern));
  return flowSpans(line);
}

function groupSpans(line: string, pattern: RegExp): Span[] {
  return [...line.matchAll(pattern)].flatMap(({ 1: before = '', 2: value = '', index }) => {
    const start = index + before.length;
    return value.trim() === '' ? [] : [{ start, end: start + value.length }];
  });
}

/** The values of a line with names, quotes and brackets. */
function flowSpans(line: string): Span[] {
  const spans: Span[] = [];
  let valueEnd = VALUE_END;
  let at = lengthAt(PREFIX, line, 0);
  while (at < line.length) {
    const between = line.slice(at, at + lengthAt(BETWEEN, line, at));
    if (/[{[]/.test(between)) valueEnd = LIST_VALUE_END;
    at += between.length;
    if (between !== '' && line[at] === '#') break;
    const start = at + lengthAt(NAME, line, at);
    if (start > at && lengthAt(OPENING, line, start) > 0) {
      at = start;
      continue;
    }
    const value = valueAt(line, start, valueEnd);
    const text = line.slice(value.start, value.end);
    const isLiteral = start === at && valueEnd === LIST_VALUE_END && LITERAL.test(text);
    const from = isEncoded(line.slice(at, start), text) ? at : value.start;
    if (!isLiteral) spans.push({ start: from, end: value.end });
    at = Math.max(value.next, at + 1);
  }
  return spans;
}

/** True if a line that looks like `name=` is really the last line of encoded bytes, which may end with `=`. */
function isEncoded(name: string, value: string): boolean {
  return /^=*$/.test(value) && /^[^"']*=\s*$/.test(name) && !ONE_CASE.test(name);
}

/** Matches the start of a comment, which ends a value without quotes. */
const VALUE_END = /[ \t]#/;
const LIST_VALUE_END = /[,}\]]|[ \t]#/;

/** The value that begins at `start`. `next` is the position after the value and its quotes. */
function valueAt(line: string, start: number, valueEnd: RegExp): Span & { readonly next: number } {
  QUOTED.lastIndex = start;
  const quoted = QUOTED.exec(line);
  if (quoted !== null)
    return { start: start + 1, end: start + quoted[0].length - 1, next: start + quoted[0].length };
  const rest = line.slice(start);
  const cut = rest.search(valueEnd);
  const value = (cut === -1 ? rest : rest.slice(0, cut)).trimEnd().replace(/,$/, '').trimEnd();
  return { start, end: start + value.length, next: cut === -1 ? line.length : start + cut };
}

function lengthAt(pattern: RegExp, line: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(line)?.[0].length ?? 0;
}
