import type { Edit } from '../model/intent.ts';
import { MATCH_TIERS, type MatchTier } from '../model/results.ts';
import type { MatchPlace } from '../model/verdict.ts';
import { type Change, changesOf, composeChanges, deletesLines, disjointSpans } from './change.ts';
import { hasNul, hasUtf16Mark, withoutMark } from './decode.ts';
import type { FoldTier } from './fold.ts';
import { endingUsed, lineStart, neighbourEndings, type Span, splitLines, toLf, viewOf } from './lines.ts';
import { type FoundAnchor, findAnchor, withLineEnding } from './match.ts';
import type { Nearest } from './nearest.ts';
import { type QuoteOptions, quotedNearest, quotedPlaces } from './quoted-lines.ts';
import { restyler } from './restyle.ts';
import { landLoosely } from './tiers/land.ts';
import { landOnLines, type PlacedEdit, type Rivals } from './tiers/lines.ts';

export interface EditsApplied {
  readonly ok: true;
  readonly text: string;
  /** The replaced spans, as offsets in the text before all edits and after all edits; ascending and disjoint. */
  readonly changes: readonly Change[];
  readonly replaced: number;
  /** The loosest level of tolerance (tier) that any edit needed. */
  readonly tier: MatchTier;
}

/** The reason why edits cannot be applied. None of them was applied. */
export interface EditFailure {
  readonly ok: false;
  readonly kind:
    | 'no-match'
    /** The anchor (the text to replace) was found, but not the required number of times. */
    | 'ambiguous'
    | 'empty-anchor'
    | 'same'
    | 'too-large';
  /** Index of the edit that failed. */
  readonly index: number;
  /** Number of occurrences of the anchor (the text to replace). */
  readonly count: number;
  /** The first ten places, for `ambiguous`. Line numbers refer to the text after all earlier edits. */
  readonly places: readonly MatchPlace[];
  /** Text similar to the one to replace, for `no-match`, if there is any; see nearest.ts. */
  readonly nearest?: Nearest;
}

interface SpliceOptions extends QuoteOptions {
  /** The loosest level of tolerance (tier) allowed; default `punctuation`. */
  readonly loosest?: FoldTier;
  /**
   * - `safe` (default): an edit that deletes whole lines also deletes the line ending after them.
   *   An old text that ends with a newline also matches at the end of a file that lacks its final
   *   newline. Small mistakes in the old text are ignored (see `landLoosely`).
   * - `exact`: none of these. Only a hunk of a patch still matches a last line without a newline.
   */
  readonly matching?: 'exact' | 'safe';
}

/** Maximum result length in characters: half of the engine's limit for strings. */
const MAX_RESULT_CHARS = 1 << 28;

/**
 * Applies edits in order, each to the result of the previous ones, all or none.
 * - An anchor must match exactly once; an empty one matches only an empty text.
 * - With `replaceAll`, every match is replaced. If `occurrences` is given, it must equal their number.
 * - Replacements are literal: `$&` is two characters. `restyler` adapts them to the style of their place.
 */
export function applyEdits(
  text: string,
  edits: readonly Edit[],
  options: SpliceOptions = {},
): EditsApplied | EditFailure {
  return inOrder(text, edits, (current, edit) => applyOne(current, edit, options));
}

function inOrder(
  text: string,
  edits: readonly Edit[],
  apply: (text: string, edit: Edit) => EditedText | Failure,
): EditsApplied | EditFailure {
  let applied: EditsApplied = { ok: true, text, changes: [], replaced: 0, tier: 'exact' };
  for (const [index, edit] of edits.entries()) {
    const step = apply(applied.text, edit);
    if ('kind' in step) return { ok: false, count: 0, places: [], ...step, index };
    applied = {
      ok: true,
      text: step.text,
      changes: composeChanges(applied.changes, step.changes),
      replaced: applied.replaced + step.changes.length,
      tier: looser(applied.tier, step.tier),
    };
  }
  return applied;
}

/** Edits of a file that was not decoded. Each byte counts as one character of Latin-1. */
interface BytesEdited extends Omit<EditsApplied, 'text'> {
  readonly bytes: Buffer;
  /** The file before and after the edits, without a byte order mark. */
  readonly before: string;
  readonly after: string;
}

/**
 * Like `applyEdits`, without decoding the file: in UTF-8, or in any other encoding that extends
 * ASCII. Only for edits that match exactly. Undefined in all other cases: the caller must then
 * decode the file.
 */
export function applyToBytes(
  bytes: Uint8Array,
  edits: readonly Edit[],
  options: { readonly encoding: 'utf-8' | 'other'; readonly matching?: 'exact' | 'safe' },
): BytesEdited | undefined {
  const isUtf8 = options.encoding === 'utf-8';
  if (hasUtf16Mark(bytes) || hasNul(bytes) || !edits.every(isPlain(options.encoding))) return undefined;
  const whole = viewOf(bytes);
  const body = isUtf8 ? withoutMark(whole) : whole;
  const before = body.toString('latin1');
  const applied = inOrder(before, edits.map(asBytes), (text, edit) => {
    const found = foundExactly(text, edit);
    // In other encodings, the byte after one that is not ASCII may be the second half of a character.
    const isCut = found?.spans.some(({ start }) => !isUtf8 && text.charCodeAt(start - 1) >= 0x80);
    // Of mixed line endings, the one for a new line depends on the lengths of the lines as text.
    const isMixed = found?.spans.some(({ start, end }) => endingUsed(text.slice(start, end)) === 'mixed');
    if (found === undefined || isCut || isMixed) return { kind: 'no-match' };
    return replaceFound(text, edit, found, options);
  });
  if (!applied.ok) return undefined;
  const { text: after, ...more } = applied;
  const mark = whole.subarray(0, whole.length - body.length);
  return { ...more, bytes: Buffer.concat([mark, Buffer.from(after, 'latin1')]), before, after };
}

function isPlain(encoding: 'utf-8' | 'other'): (edit: Edit) => boolean {
  const outside = encoding === 'utf-8' ? /[\p{Surrogate}\ufeff]/u : /[^\0-\x7f]/;
  return ({ oldString, newString, lines }) => {
    if (lines !== undefined || oldString === '' || oldString === newString) return false;
    return endingUsed(oldString) !== 'mixed' && !outside.test(oldString) && !outside.test(newString);
  };
}

function asBytes(edit: Edit): Edit {
  const latin = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
  return { ...edit, oldString: latin(edit.oldString), newString: latin(edit.newString) };
}

function foundExactly(text: string, edit: Edit): FoundAnchor | undefined {
  const all = edit.replaceAll === true;
  const found = findAnchor(text, edit.oldString, { loosest: 'exact', all });
  const wanted = all ? edit.occurrences : 1;
  return wanted === undefined || found?.count === wanted ? found : undefined;
}

/** A text after one edit. */
interface EditedText {
  readonly text: string;
  readonly changes: readonly Change[];
  readonly tier: MatchTier;
}

type Failure = Pick<EditFailure, 'kind'> & Partial<Pick<EditFailure, 'count' | 'places' | 'nearest'>>;

function applyOne(text: string, edit: Edit, options: SpliceOptions): EditedText | Failure {
  if (edit.oldString === edit.newString && edit.mayBeSame !== true) return { kind: 'same' };
  if (edit.oldString === '') return fillEmpty(text, edit);
  if (edit.lines !== undefined) return applyHunk(text, edit, options);
  const all = edit.replaceAll === true;
  const found = findAnchor(text, edit.oldString, { ...options, all });
  if (found === undefined) return applyLoosely(text, edit, options);
  const wanted = all ? edit.occurrences : 1;
  if (wanted !== undefined && found.count !== wanted)
    return { kind: 'ambiguous', count: found.count, places: quotedPlaces(text, found.spans, options) };
  // Whole lines that match except for spaces at line ends: lines that the edit keeps also keep theirs,
  // and those that the model added are removed from its new lines.
  const onLines =
    found.tier === 'trailing-space' && !all ? landOnLines(text, edit, found.spans[0]) : undefined;
  if (onLines !== undefined && 'tier' in onLines && onLines.tier === 'trailing-space')
    return landOrRefuse(text, onLines, options);
  return replaceFound(text, edit, found, options);
}

function replaceFound(
  text: string,
  edit: Edit,
  found: FoundAnchor,
  { matching }: Pick<SpliceOptions, 'matching'>,
): EditedText | Failure {
  if (matching === 'exact' || !deletesLines(edit)) return replaceSpans(text, edit, found);
  const spans = disjointSpans(found.spans.map((span) => withLineEnding(text, span)));
  return replaceSpans(text, edit, { ...found, spans });
}

/** Applies a hunk of whole lines. Its line number, its header or the end of the file chooses between equal places. */
function applyHunk(text: string, edit: Edit, options: SpliceOptions): EditedText | Failure {
  // The last line of a hunk always has an ending. Give the last line of the file one too, or an equal
  // place at the end would be missed. This also holds for `exact` matching: a hunk is whole lines.
  const ended = withFinalEnding(text);
  // Parsing a patch turns `\r\n` into `\n`. So a hunk does not say which lines of a file with mixed
  // endings end in `\r\n`, and line endings are ignored.
  const strictest = text.includes('\r\n') ? 'line-endings' : 'exact';
  const found = findAnchor(ended, edit.oldString, { ...options, strictest, all: 'overlapping' });
  const whole = found?.spans.filter((span) => isWholeLines(ended, span)) ?? [];
  if (found === undefined || whole.length === 0) return applyLoosely(text, edit, options);
  const spans = hunkPlaces(ended, whole, edit.lines);
  if (spans.length === 0) return { kind: 'no-match' };
  const chosen = chosenPlaces(text, spans, edit.lines);
  const [place] = chosen;
  if (place === undefined || chosen.length > 1)
    return { kind: 'ambiguous', count: spans.length, places: quotedPlaces(text, spans, options) };
  const isUnended = place.end > text.length;
  const span = isUnended ? { start: place.start, end: text.length } : place;
  return replaceSpans(text, isUnended ? withoutFinalEnding(edit) : edit, {
    ...found,
    spans: [span],
    count: 1,
  });
}

function withFinalEnding(text: string): string {
  if (text === '' || text.endsWith('\n')) return text;
  return text + finalEnding(text);
}

function finalEnding(text: string): string {
  return endingUsed(text) === '\r\n' ? '\r\n' : '\n';
}

function isWholeLines(text: string, { start, end }: Span): boolean {
  return (start === 0 || text[start - 1] === '\n') && (end === text.length || text[end - 1] === '\n');
}

/**
 * The places where a hunk may match: on whole lines, not above the first line that equals the
 * hunk's header, and at the end of the file if the hunk says so.
 */
function hunkPlaces(text: string, spans: readonly Span[], place: Edit['lines']): readonly Span[] {
  const atEnd = place?.atEnd === true || place?.unended === true || place?.ended === true;
  const from = headersIn(text, place?.after)[0]?.start ?? 0;
  return spans.filter(
    (span) => span.start >= from && isWholeLines(text, span) && (!atEnd || span.end === text.length),
  );
}

/** A line that equals a hunk's header, and the end of the block below it. */
interface Header extends Span {
  /**
   * The block ends before the next line that is not indented deeper than the header; lines that
   * begin with `{` do not end it.
   */
  readonly blockEnd: number;
}

function headersIn(text: string, header: string | undefined): readonly Header[] {
  const found: (Span & { blockEnd?: number; readonly indent: number })[] = [];
  let start = 0;
  for (const line of header === undefined ? [] : splitLines(text)) {
    const words = line.trim();
    const indent = line.search(/\S/);
    const last = found.at(-1);
    if (last !== undefined && words !== '' && !words.startsWith('{') && indent <= last.indent)
      last.blockEnd ??= start;
    if (words === header) found.push({ start, end: start + line.length, indent });
    start += line.length;
  }
  return found.map(({ blockEnd = text.length, ...line }) => ({ ...line, blockEnd }));
}

/**
 * Chooses between the places that a hunk fits. The first of these that applies:
 * - the only place;
 * - the place at the hunk's line number;
 * - the places directly below the hunk's header or, if there are none, in the block below it. None
 *   if the text has that header twice.
 */
function chosenPlaces(text: string, spans: readonly Span[], place: Edit['lines']): readonly Span[] {
  if (spans.length === 1) return spans;
  if (place?.near !== undefined) {
    const line = lineStart(text, place.near);
    return spans.filter(({ start }) => start === line);
  }
  const headers = headersIn(text, place?.after);
  const below = spans.filter(({ start }) => headers.some(({ end }) => end === start));
  const [header, another] = headers;
  if (below.length > 0 || header === undefined || another !== undefined) return below;
  return spans.filter(({ start }) => header.end <= start && start < header.blockEnd);
}

/**
 * Applies an edit although its old text differs from the file in ways that are safe to ignore. In
 * two cases, the only such difference is that the file lacks its final newline: with `replaceAll`,
 * and if `loosest` is stricter than `punctuation`, as for a file that changed since it was seen.
 * With `exact` matching, there is no such difference, and the edit fails.
 */
function applyLoosely(text: string, edit: Edit, options: SpliceOptions): EditedText | Failure {
  const safe = options.matching !== 'exact';
  const last = safe && edit.lines === undefined ? atUnendedEnd(text, edit) : undefined;
  if (last !== undefined) return replaceSpans(text, last.edit, last.found);
  const loosely = safe && edit.replaceAll !== true && (options.loosest ?? 'punctuation') === 'punctuation';
  const landed = loosely ? landLoosely(text, edit) : undefined;
  const isPlace =
    edit.lines === undefined ||
    landed === undefined ||
    'spans' in landed ||
    hunkPlaces(text, [landed.span], edit.lines).length > 0;
  if (landed !== undefined && isPlace) return landOrRefuse(text, withHunkEnd(text, edit, landed), options);
  const like = quotedNearest(text, edit.oldString, options);
  return { kind: 'no-match', ...(like === undefined ? {} : { nearest: like }) };
}

/**
 * Adds a newline to a replacement at the end of a file that lacks its final newline, if the hunk
 * gives the file one. Otherwise returns `landed` unchanged.
 */
function withHunkEnd(text: string, edit: Edit, landed: PlacedEdit | Rivals): PlacedEdit | Rivals {
  if ('spans' in landed || landed.span.end < text.length || text.endsWith('\n')) return landed;
  if (landed.replacement === '' || landed.replacement.endsWith('\n') || !addsFinalEnding(edit)) return landed;
  return { ...landed, replacement: landed.replacement + finalEnding(text) };
}

function landOrRefuse(
  text: string,
  landed: PlacedEdit | Rivals,
  options: SpliceOptions,
): EditedText | Failure {
  if ('spans' in landed)
    return {
      kind: 'ambiguous',
      count: landed.spans.length,
      places: quotedPlaces(text, landed.spans, options),
    };
  const { span, replacement, tier } = landed;
  return {
    text: join(text, [span], [replacement]),
    changes: changesOf([span], [replacement.length]),
    tier,
  };
}

/**
 * For a file without a final newline: finds an anchor (old text) at the end of the file, although
 * the anchor ends with a newline.
 */
function atUnendedEnd(text: string, edit: Edit): { edit: Edit; found: FoundAnchor } | undefined {
  if (text.endsWith('\n') || !edit.oldString.endsWith('\n')) return undefined;
  const unended = withoutFinalEnding(edit);
  const start = startOfEnd(text, toLf(unended.oldString));
  if (start === undefined) return undefined;
  const spans = [{ start, end: text.length }];
  return { edit: unended, found: { tier: 'line-endings', count: 1, spans } };
}

/**
 * The offset at which `end` begins, if the text ends with it, whatever the line endings of the text
 * are. Otherwise undefined.
 */
function startOfEnd(text: string, end: string): number | undefined {
  let start = text.length;
  for (let at = end.length - 1; at >= 0; at -= 1) {
    start -= 1;
    if (start < 0 || text[start] !== end[at]) return undefined;
    if (end[at] === '\n' && text[start - 1] === '\r') start -= 1;
  }
  return end === '' ? undefined : start;
}

/**
 * Adapts an edit to the end of a file without a final newline. Removes the final newline from the
 * old text, and from the new text unless a hunk adds that newline to the file.
 */
function withoutFinalEnding(edit: Edit): Edit {
  const oldString = edit.oldString.replace(/\r?\n$/, '');
  const newString = addsFinalEnding(edit) ? edit.newString : edit.newString.replace(/\r?\n$/, '');
  return { ...edit, oldString, newString };
}

/**
 * True if a hunk gives the file a final newline: it says so, or it changes the last line. In the
 * second case, the program `patch` adds the newline too.
 */
function addsFinalEnding({ oldString, newString, lines }: Edit): boolean {
  if (lines === undefined || !newString.endsWith('\n')) return false;
  return lines.ended === true || lastLine(newString) !== lastLine(oldString);
}

/** The last line of a text, without its ending. */
function lastLine(text: string): string {
  const unended = text.replace(/\r?\n$/, '');
  return unended.slice(unended.lastIndexOf('\n') + 1);
}

function fillEmpty(text: string, edit: Edit): EditedText | Failure {
  if (text !== '') return { kind: 'empty-anchor' };
  return {
    text: edit.newString,
    changes: changesOf([{ start: 0, end: 0 }], [edit.newString.length]),
    tier: 'exact',
  };
}

function replaceSpans(text: string, edit: Edit, found: FoundAnchor): EditedText | Failure {
  const bound = text.length + found.count * edit.newString.length * 2;
  if (bound > MAX_RESULT_CHARS) return { kind: 'too-large' };
  const restyle = restyler(edit.oldString, edit.newString, found.tier);
  const neighbour = neighbourEndings(text);
  const replacements = found.spans.map((span) =>
    restyle(text.slice(span.start, span.end), edit.newString.includes('\n') ? neighbour(span) : undefined),
  );
  const lengths = replacements.map((replacement) => replacement.length);
  return {
    text: join(text, found.spans, replacements),
    changes: changesOf(found.spans, lengths),
    tier: found.tier,
  };
}

function join(text: string, spans: readonly Span[], replacements: readonly string[]): string {
  const pieces: string[] = [];
  let done = 0;
  for (const [index, span] of spans.entries()) {
    pieces.push(text.slice(done, span.start), replacements[index] ?? '');
    done = span.end;
  }
  pieces.push(text.slice(done));
  return pieces.join('');
}

function looser(a: MatchTier, b: MatchTier): MatchTier {
  return MATCH_TIERS.indexOf(a) >= MATCH_TIERS.indexOf(b) ? a : b;
}
