import type { LineRange } from '../model/coverage.ts';
import { type FoldTier, fold, sourceSpan } from './fold.ts';
import { lineStart, linesOfSpan, type Span, sliceLines, toLf } from './lines.ts';

/** The places of an anchor (the text to replace), at the strictest level of tolerance that finds any. */
export interface FoundAnchor {
  readonly tier: FoldTier;
  /** Spans in the original text: all of them if `all` is set, otherwise at most {@link MAX_SPANS}. */
  readonly spans: readonly Span[];
  readonly count: number;
}

interface MatchOptions {
  /**
   * The loosest level of tolerance (tier) allowed; default `punctuation`. For a file that changed
   * since it was seen, callers allow nothing looser than `line-endings`.
   */
  readonly loosest?: FoldTier;
  /** The strictest level of tolerance to begin with; default `exact`. */
  readonly strictest?: FoldTier;
  /**
   * True: find all non-overlapping occurrences, in order to replace them all. `overlapping`: also
   * find occurrences that overlap, in order to choose one.
   */
  readonly all?: boolean | 'overlapping';
}

/** Maximum number of spans: one more than messages show, so that they can say "and more". */
const MAX_SPANS = 11;
/**
 * Limit for hits in the normalised (folded) text that are not valid matches, as the number of hits
 * times the length of the anchor. Beyond it, the search finds nothing. Only texts made to slow down
 * the search reach it.
 */
const REJECTION_LIMIT = 16_000_000;
const TIERS: readonly FoldTier[] = ['exact', 'line-endings', 'trailing-space', 'punctuation'];

/** A text to search, and the mapping from it back to the original. */
interface Haystack {
  readonly text: string;
  readonly anchor: string;
  /** The span, in the original text, of a hit at `start`. Undefined if the hit is not a valid match. */
  spanOf(start: number): Span | undefined;
}

/**
 * Maximum length of a pattern's prefix that is searched natively. The rest is compared at each hit.
 * In a text that repeats itself, the native search for a long pattern takes time proportional to
 * pattern × text: two minutes for 5 MB of one letter.
 */
const PREFIX = 64;
/**
 * Limit for places where only the prefix matches, as the number of places times the length of the
 * pattern. Beyond it, the search switches to an algorithm that is always linear.
 */
const ALLOWANCE = 16_000_000;

/**
 * Finds an anchor (the text to replace) at the strictest level of tolerance that has a match.
 * Undefined if none has, or if the anchor is empty. Without `all`, overlapping matches count
 * separately, because a caller must not choose between them. A span never begins between `\r` and
 * `\n`.
 */
export function findAnchor(
  text: string,
  anchor: string,
  options: MatchOptions = {},
): FoundAnchor | undefined {
  if (anchor === '') return undefined;
  const { loosest = 'punctuation', strictest = 'exact', all = false } = options;
  const tiers = TIERS.slice(TIERS.indexOf(strictest), TIERS.indexOf(loosest) + 1);
  const limit = all === false ? MAX_SPANS : Number.POSITIVE_INFINITY;
  for (const tier of tiers) {
    const haystack = folded(text, anchor, tier);
    const hits = haystack && collect(haystack, { limit, apart: all === true });
    if (hits !== undefined && hits.count > 0) return { tier, ...hits };
  }
  return undefined;
}

/** Moves the start of a span out of a `\r\n`, so that a line ending is never replaced in part. */
function wholeEnding(text: string, span: Span): Span {
  const splits = text[span.start] === '\n' && span.start > 0 && text[span.start - 1] === '\r';
  return splits ? { start: span.start - 1, end: span.end } : span;
}

function folded(text: string, anchor: string, tier: FoldTier): Haystack | undefined {
  const hasReturns = text.includes('\r\n') || anchor.includes('\r\n');
  if (tier === 'line-endings' && !(anchor.includes('\n') && hasReturns)) return undefined;
  const pattern = fold(anchor, tier).text;
  const dropsSpace = tier === 'trailing-space' || tier === 'punctuation';
  // Find nothing for a pattern of only white space, which would match everywhere.
  if (dropsSpace && pattern.trim() === '') return undefined;
  const all = fold(text, tier);
  // Folding removes white space at line ends, in the file and at the end of the anchor. If the anchor
  // ended with white space, accept only matches at the end of a line: `foo ` must not match `foobar`.
  const lineEnd = dropsSpace && /[^\S\n]$/.test(anchor) ? '\n' : '';
  const dropsStart = dropsSpace && pattern.startsWith('\n') && !/^\r?\n/.test(anchor);
  return {
    text: all.text + lineEnd,
    anchor: pattern + lineEnd,
    spanOf: (start) => {
      const span = sourceSpan(all, start, start + pattern.length);
      if (span === undefined) return undefined;
      const whole = wholeEnding(text, lineEnd === '' ? span : withTrailingSpace(text, span));
      return dropsStart ? withSpaceBefore(text, whole) : whole;
    },
  };
}

interface Wanted {
  /** Maximum number of spans. All occurrences are counted. */
  readonly limit: number;
  /** True if the spans must not overlap. */
  readonly apart: boolean;
}

/**
 * For an anchor that ends with white space: extends a span by the white space after it. Otherwise
 * that white space would stay behind the white space at the end of the replacement.
 */
function withTrailingSpace(text: string, { start, end }: Span): Span {
  const space = /[^\S\r\n]*/y;
  space.lastIndex = end;
  return { start, end: end + (space.exec(text)?.[0].length ?? 0) };
}

/**
 * For an anchor whose first line is only white space, which folding drops: extends a span by the
 * white space before it. Otherwise that white space would indent the replacement.
 */
function withSpaceBefore(text: string, { start, end }: Span): Span {
  let from = start;
  while (from > 0 && /[^\S\r\n]/.test(text.charAt(from - 1))) from -= 1;
  return { start: from, end };
}

function collect(haystack: Haystack, { limit, apart }: Wanted): { spans: Span[]; count: number } {
  const { text, anchor } = haystack;
  const spans: Span[] = [];
  let count = 0;
  let rejected = 0;
  for (let at = indexOfLinear(text, anchor); at !== -1; ) {
    const span = haystack.spanOf(at);
    if (span === undefined) rejected += 1;
    else count += 1;
    if (rejected * anchor.length > REJECTION_LIMIT) return { spans: [], count: 0 };
    if (span !== undefined && spans.length < limit) spans.push(apart ? after(spans.at(-1), span) : span);
    // Skip the whole match if matches must not overlap. Also skip it if enough spans are collected
    // and the rest is only counted: single steps could take time proportional to anchor × text.
    const step = span !== undefined && (apart || count >= limit) ? anchor.length : 1;
    at = indexOfLinear(text, anchor, at + step);
  }
  return { spans, count };
}

/** Keeps spans that are replaced together from overlapping, even if {@link wholeEnding} moved one. */
function after(previous: Span | undefined, span: Span): Span {
  return previous === undefined || previous.end <= span.start ? span : { start: previous.end, end: span.end };
}

/** Like `text.indexOf(pattern, from)`, but always in linear time. */
export function indexOfLinear(text: string, pattern: string, from = 0): number {
  if (pattern.length <= PREFIX) return text.indexOf(pattern, from);
  const prefix = pattern.slice(0, PREFIX);
  let allowance = ALLOWANCE;
  for (let at = text.indexOf(prefix, from); at !== -1; at = text.indexOf(prefix, at + 1)) {
    if (text.startsWith(pattern, at)) return at;
    allowance -= pattern.length;
    if (allowance < 0) return knuthMorrisPratt(text, pattern, at + 1);
  }
  return -1;
}

/**
 * Finds a pattern without ever moving back in the text. Slower than the native search on ordinary input, but linear
 * on every input.
 */
function knuthMorrisPratt(text: string, pattern: string, from: number): number {
  const borders = bordersOf(pattern);
  let matched = 0;
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    while (matched > 0 && pattern.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0;
    if (pattern.charCodeAt(matched) === unit) matched += 1;
    if (matched === pattern.length) return at - matched + 1;
  }
  return -1;
}

/** For each prefix of the pattern, the length of its longest proper prefix that is also its suffix. */
function bordersOf(pattern: string): Int32Array {
  const borders = new Int32Array(pattern.length);
  let length = 0;
  for (let at = 1; at < pattern.length; at += 1) {
    const unit = pattern.charCodeAt(at);
    while (length > 0 && pattern.charCodeAt(length) !== unit) length = borders[length - 1] ?? 0;
    if (pattern.charCodeAt(length) === unit) length += 1;
    borders[at] = length;
  }
  return borders;
}

/** Extends a span of whole lines by the ending of its last line; other spans are returned unchanged. */
export function withLineEnding(text: string, span: Span): Span {
  const begins = span.start === 0 || text[span.start - 1] === '\n';
  const ending = /\r?\n/y;
  ending.lastIndex = span.end;
  const found = begins ? ending.exec(text) : null;
  return found === null ? span : { start: span.start, end: span.end + found[0].length };
}

/** The lines of one anchor (a text to replace) in the old and the new version of a text. */
interface SamePlace {
  readonly before: LineRange;
  readonly after: LineRange;
}

/**
 * Finds an anchor (a text to replace) in two versions of a text. Undefined unless it is at the same
 * place in both:
 * - Each version contains the anchor exactly once.
 * - The whole lines that contain the anchor are equal in both versions.
 * - The line above them or the line below them is equal in both versions. The beginning and the end
 *   of the text count as lines here, unless the anchor fills the whole old version.
 * A diff cannot prove this: it may align other lines if similar text was added nearby.
 */
export function samePlace(before: string, after: string, anchor: string): SamePlace | undefined {
  const was = onlyPlace(before, anchor);
  const is = was && onlyPlace(after, anchor);
  if (was === undefined || is === undefined) return undefined;
  if (linesAt(before, was) !== linesAt(after, is)) return undefined;
  const [above, below] = [lineAbove(before, was), lineBelow(before, was)];
  if (above === undefined && below === undefined) return undefined;
  const kept = above === lineAbove(after, is) || below === lineBelow(after, is);
  return kept ? { before: was, after: is } : undefined;
}

function onlyPlace(text: string, anchor: string): LineRange | undefined {
  const found = findAnchor(text, anchor, { loosest: 'line-endings' });
  const [span] = found?.spans ?? [];
  return found?.count === 1 && span !== undefined ? linesOfSpan(text, span) : undefined;
}

function linesAt(text: string, range: LineRange): string {
  return toLf(sliceLines(text, range));
}

function lineAbove(text: string, { from }: LineRange): string | undefined {
  return from === 1 ? undefined : linesAt(text, { from: from - 1, to: from - 1 });
}

function lineBelow(text: string, { to }: LineRange): string | undefined {
  const line = { from: to + 1, to: to + 1 };
  return lineStart(text, line.from) === undefined ? undefined : linesAt(text, line);
}
