import type { Policy } from '../../model/policy.ts';
import type { Span } from '../lines.ts';
import { codeQuotes, type QuoteGroup } from './code.ts';
import { isSeedCode, languageOf } from './languages.ts';

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
 * - `code`: only quotes that act as code (see code.ts), so that valid code does not change.
 * - `all`: every quote of `STRAIGHT` in every code file, as the preset `staleness` demands.
 * - `off`: none.
 */
export function straightenContent(path: string, text: string, options: StraightenOptions): Straightened {
  const within = options.within ?? [{ start: 0, end: text.length }];
  if (options.mode === 'off' || !within.some((span) => hasQuotes(text, span))) return { text, count: 0 };
  if (options.mode === 'all') return isSeedCode(path) ? straightenSpans(text, within) : { text, count: 0 };
  const language = languageOf(path);
  if (language === undefined) return { text, count: 0 };
  const own = codeQuotes(text, language).filter((group) => isWithin(group, within));
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
