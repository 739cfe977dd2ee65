import type { Edit } from '../model/intent.ts';
import { MATCH_TIERS, type MatchTier } from '../model/results.ts';
import type { MatchPlace } from '../model/verdict.ts';
import { type Change, changesOf, composeChanges, deletesLines } from './change.ts';
import { clampLine, countNewlines, lineAt, neighbourEndings, type Span } from './lines.ts';
import { type FoldTier, type FoundAnchor, findAnchor } from './match.ts';
import { type Nearest, nearest } from './nearest.ts';
import { restyler } from './restyle.ts';
import type { PlacedEdit, Rivals } from './tiers/block.ts';
import { landLoosely, landOnFound } from './tiers/land.ts';

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

interface SpliceOptions {
  /** The loosest level of tolerance (tier) allowed; default `punctuation`. */
  readonly loosest?: FoldTier;
  /**
   * `safe` (default): deleting whole lines also deletes their last ending, and the old text may end with a newline
   * that the end of the file lacks. `exact`: neither.
   */
  readonly matching?: 'exact' | 'safe';
}

/** Maximum result length in characters: half of the engine's limit for strings. */
const MAX_RESULT_CHARS = 1 << 28;

const MAX_PLACES = 10;
const MAX_LINE_CHARS = 160;

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
  let applied: EditsApplied = { ok: true, text, changes: [], replaced: 0, tier: 'exact' };
  for (const [index, edit] of edits.entries()) {
    const step = applyOne(applied.text, edit, options);
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

interface Step {
  readonly text: string;
  readonly changes: readonly Change[];
  readonly tier: MatchTier;
}

type Failure = Pick<EditFailure, 'kind'> & Partial<Pick<EditFailure, 'count' | 'places' | 'nearest'>>;

function applyOne(text: string, edit: Edit, options: SpliceOptions): Step | Failure {
  if (edit.oldString === edit.newString && edit.mayBeSame !== true) return { kind: 'same' };
  if (edit.oldString === '') return fillEmpty(text, edit);
  if (edit.lines !== undefined) return applyHunk(text, edit, options);
  const all = edit.replaceAll === true;
  const found = findAnchor(text, edit.oldString, { ...options, all });
  if (found === undefined) return applyLoosely(text, edit, options);
  const wanted = all ? edit.occurrences : 1;
  if (wanted !== undefined && found.count !== wanted)
    return { kind: 'ambiguous', count: found.count, places: anchorPlaces(text, found.spans) };
  const onLines = found.tier === 'trailing-space' && !all ? landOnFound(text, edit, found) : undefined;
  if (onLines !== undefined) return landOrRefuse(text, onLines);
  if (options.matching === 'exact' || !deletesLines(edit)) return replaceSpans(text, edit, found);
  const spans = found.spans.map((span) => withLineEnding(text, span));
  return replaceSpans(text, edit, { ...found, spans });
}

/** Applies a hunk of whole lines. Its line number, its header or the end of the file chooses between equal places. */
function applyHunk(text: string, edit: Edit, options: SpliceOptions): Step | Failure {
  const isLast = edit.lines?.ended === true && options.matching !== 'exact';
  const last = isLast ? atUnendedEnd(text, edit) : undefined;
  if (last !== undefined) return replaceSpans(text, last.edit, last.found);
  const found = findAnchor(text, edit.oldString, { ...options, all: true });
  const whole = found?.spans.filter((span) => isWholeLines(text, span)) ?? [];
  const spans = whole.filter((span) => isHunkPlace(text, span, edit.lines));
  if (found === undefined || whole.length === 0) return applyLoosely(text, edit, options);
  if (spans.length === 0) return { kind: 'no-match' };
  const chosen = spans.length === 1 ? spans : spans.filter((span) => isAtHunk(text, span, edit.lines));
  if (chosen.length !== 1)
    return { kind: 'ambiguous', count: spans.length, places: anchorPlaces(text, spans) };
  return replaceSpans(text, edit, { ...found, spans: chosen, count: 1 });
}

function isWholeLines(text: string, { start, end }: Span): boolean {
  return (start === 0 || text[start - 1] === '\n') && (end === text.length || text[end - 1] === '\n');
}

/** True if a hunk may match here: on whole lines, and at the end of the file if the hunk says so. */
function isHunkPlace(text: string, span: Span, place: Edit['lines']): boolean {
  const atEnd = place?.atEnd === true || place?.unended === true;
  return isWholeLines(text, span) && (!atEnd || span.end === text.length);
}

function isAtHunk(text: string, { start }: Span, place: Edit['lines']): boolean {
  if (place?.near !== undefined) return lineAt(text, start) === place.near;
  const above = text.slice(0, start).split('\n').at(-2);
  return place?.after !== undefined && above?.trim() === place.after;
}

/**
 * Applies an edit although its text differs in ways that are safe to ignore. If the file changed since it was seen,
 * only a missing final newline is ignored.
 */
function applyLoosely(text: string, edit: Edit, options: SpliceOptions): Step | Failure {
  const safe = options.matching !== 'exact';
  const last = safe ? atUnendedEnd(text, edit) : undefined;
  if (last !== undefined) return replaceSpans(text, last.edit, last.found);
  const loosely = safe && edit.replaceAll !== true && (options.loosest ?? 'punctuation') === 'punctuation';
  const landed = loosely ? landLoosely(text, edit) : undefined;
  const isPlace =
    edit.lines === undefined ||
    landed === undefined ||
    'spans' in landed ||
    isHunkPlace(text, landed.span, edit.lines);
  if (landed !== undefined && isPlace) return landOrRefuse(text, landed);
  const like = nearest(text, edit.oldString);
  return { kind: 'no-match', ...(like === undefined ? {} : { nearest: like }) };
}

function landOrRefuse(text: string, landed: PlacedEdit | Rivals): Step | Failure {
  if ('spans' in landed)
    return { kind: 'ambiguous', count: landed.spans.length, places: anchorPlaces(text, landed.spans) };
  const { span, replacement, tier } = landed;
  return {
    text: join(text, [span], [replacement]),
    changes: changesOf([span], [replacement.length]),
    tier,
  };
}

/** Extends a span of whole lines by the ending of its last line; other spans are returned unchanged. */
function withLineEnding(text: string, span: Span): Span {
  const begins = span.start === 0 || text[span.start - 1] === '\n';
  const ending = /\r?\n/y;
  ending.lastIndex = span.end;
  const found = begins ? ending.exec(text) : null;
  return found === null ? span : { start: span.start, end: span.end + found[0].length };
}

/** Matches an anchor (old text) that ends with a newline at the end of a file that lacks its final newline. */
function atUnendedEnd(text: string, edit: Edit): { edit: Edit; found: FoundAnchor } | undefined {
  const oldString = edit.oldString.replace(/\r?\n$/, '');
  if (text.endsWith('\n') || oldString === edit.oldString || oldString === '') return undefined;
  const found = findAnchor(text, oldString, { loosest: 'line-endings' });
  const isPlace = (span: Span): boolean =>
    span.end === text.length && (edit.lines === undefined || isWholeLines(text, span));
  const spans = found?.spans.filter(isPlace) ?? [];
  if (spans.length !== 1) return undefined;
  const unended = edit.newString.replace(/\r?\n$/, '');
  // Drop the final newline of the new text too. Like `patch`, keep it if a hunk adds it or changes the last line.
  const isKept = edit.lines?.ended === true || lastLine(unended) !== lastLine(oldString);
  const newString = edit.lines !== undefined && isKept ? edit.newString : unended;
  return { edit: { ...edit, oldString, newString }, found: { tier: 'line-endings', count: 1, spans } };
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf('\n') + 1);
}

function fillEmpty(text: string, edit: Edit): Step | Failure {
  if (text !== '') return { kind: 'empty-anchor' };
  return {
    text: edit.newString,
    changes: changesOf([{ start: 0, end: 0 }], [edit.newString.length]),
    tier: 'exact',
  };
}

function replaceSpans(text: string, edit: Edit, found: FoundAnchor): Step | Failure {
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

/** Line number and bounded text of the places where spans begin, at most ten. Spans must be ascending. */
export function anchorPlaces(text: string, spans: readonly Span[]): MatchPlace[] {
  let line = 1;
  let counted = 0;
  return spans.slice(0, MAX_PLACES).map((span) => {
    line += countNewlines(text, span.start, counted);
    counted = span.start;
    return { line, text: lineTextAt(text, span.start) };
  });
}

function lineTextAt(text: string, offset: number): string {
  const start = offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  const line = text.slice(start, end === -1 ? text.length : end).replace(/\r$/, '');
  // In a very long line, show the text from the place on instead of the line's beginning.
  if (line.length <= MAX_LINE_CHARS || offset - start < MAX_LINE_CHARS / 2)
    return clampLine(line, MAX_LINE_CHARS).text;
  return `…${clampLine(line.slice(offset - start), MAX_LINE_CHARS).text}`;
}
