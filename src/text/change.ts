import { type Coverage, covers, type LineRange, mergeRanges, NOTHING, rangesOf } from '../model/coverage.ts';
import type { Edit } from '../model/intent.ts';
import { equalStretches, type Hunk } from './diff.ts';
import {
  countNewlines,
  endingOf,
  endingUsed,
  type LineEnding,
  lineCount,
  lineStart,
  neighbourEndings,
  type Span,
  withEnding,
} from './lines.ts';

/** A stretch of the old text and the stretch that replaces it. */
export interface Change {
  readonly before: Span;
  readonly after: Span;
}

/**
 * The changes made by replacing `spans` with texts of these lengths. Spans must be ascending and
 * disjoint.
 */
export function changesOf(spans: readonly Span[], lengths: readonly number[]): Change[] {
  let shift = 0;
  return spans.map((span, index) => {
    const start = span.start + shift;
    const end = start + (lengths[index] ?? 0);
    shift = end - span.end;
    return { before: span, after: { start, end } };
  });
}

/** Makes ascending spans disjoint: each one ends at the latest where the next one begins. */
export function disjointSpans(spans: readonly Span[]): Span[] {
  return spans.map(({ start, end }, at) => ({ start, end: Math.min(end, spans[at + 1]?.start ?? end) }));
}

/**
 * Composes two steps: `first` leads from A to B, `second` from B to C, the result from A to C. The
 * changes of each step must be ascending and disjoint. Changes that overlap or touch in B become
 * one.
 */
export function composeChanges(first: readonly Change[], second: readonly Change[]): Change[] {
  const composed: Change[] = [];
  let i = 0;
  let j = 0;
  let toBefore = 0;
  let toAfter = 0;
  while (i < first.length || j < second.length) {
    const start = Math.min(
      first[i]?.after.start ?? Number.POSITIVE_INFINITY,
      second[j]?.before.start ?? Number.POSITIVE_INFINITY,
    );
    const before = start + toBefore;
    const after = start + toAfter;
    let end = start;
    for (;;) {
      const a = first[i];
      const b = second[j];
      if (a !== undefined && a.after.start <= end) {
        end = Math.max(end, a.after.end);
        toBefore = a.before.end - a.after.end;
        i += 1;
      } else if (b !== undefined && b.before.start <= end) {
        end = Math.max(end, b.before.end);
        toAfter = b.after.end - b.before.end;
        j += 1;
      } else break;
    }
    composed.push({
      before: { start: before, end: end + toBefore },
      after: { start: after, end: end + toAfter },
    });
  }
  return composed;
}

interface LinesInserted {
  readonly text: string;
  /** The inserted lines, numbered as in the new text; undefined if nothing was inserted. */
  readonly inserted: LineRange | undefined;
  readonly change: Change;
}

/**
 * Inserts whole lines after a line (0 = top, undefined = end). Returns undefined if that line does
 * not exist. The inserted lines get the line ending of a neighbouring line. A missing newline
 * before or after them is added.
 */
export function insertAfterLine(
  text: string,
  afterLine: number | undefined,
  content: string,
): LinesInserted | undefined {
  const total = lineCount(text);
  const after = afterLine ?? total;
  if (!Number.isInteger(after) || after < 0 || after > total) return undefined;
  const at = after === total ? text.length : (lineStart(text, after + 1) ?? text.length);
  const lines = content === '' ? '' : linesAt(text, at, content);
  const end = at + lines.length;
  return {
    text: text.slice(0, at) + lines + text.slice(at),
    inserted: content === '' ? undefined : { from: after + 1, to: after + lineCount(content) },
    change: { before: { start: at, end: at }, after: { start: at, end } },
  };
}

function linesAt(text: string, at: number, content: string): string {
  const fileEnding = endingAround(text, at);
  const ending = fileEnding ?? (endingUsed(content) === '\r\n' ? '\r\n' : '\n');
  const missing = at > 0 && !text.slice(0, at).endsWith('\n') ? ending : '';
  const lines = withEnding(content, fileEnding);
  return missing + lines + (lines.endsWith('\n') ? '' : ending);
}

function endingAround(text: string, at: number): LineEnding | undefined {
  const before = endingOf(text.slice(0, at));
  return before === '' ? neighbourEndings(text)({ start: at, end: at }) : before;
}

/**
 * True if an edit deletes text that does not end with a newline. If that text fills whole lines,
 * `safe` matching also deletes the ending of the last one.
 */
export function deletesLines(edit: Pick<Edit, 'oldString' | 'newString'>): boolean {
  return edit.newString === '' && !edit.oldString.endsWith('\n');
}

/**
 * Maps ranges of the old text to the new text. Only unchanged lines are mapped; changed and new lines are in
 * no range.
 */
export function carryRanges(ranges: readonly LineRange[], hunks: readonly Hunk[]): LineRange[] {
  const carried: LineRange[] = [];
  for (const { start, end, shift } of equalStretches(hunks, Number.POSITIVE_INFINITY)) {
    for (const range of ranges) {
      const from = Math.max(range.from, start + 1);
      const to = Math.min(range.to, end);
      if (from <= to) carried.push({ from: from + shift, to: to + shift });
    }
  }
  return mergeRanges(carried);
}

/**
 * Maps the position "after line N" (0 = top) to the new text. Undefined if the line before or after the
 * position changed, or if text was inserted there.
 */
export function carryLine(line: number, hunks: readonly Hunk[]): number | undefined {
  let shift = 0;
  for (const hunk of hunks) {
    if (line < hunk.beforeStart) break;
    if (line <= hunk.beforeEnd) return undefined;
    shift = hunk.afterEnd - hunk.beforeEnd;
  }
  return line + shift;
}

/** Replaced lines, and which of the new ones may also hold text of the replaced ones. Default: none. */
export interface EditedLines extends Hunk {
  readonly mixed?: 'first' | 'last' | 'both' | 'all' | undefined;
}

interface Carry {
  /** The changes, sorted and without overlaps. */
  readonly changes: readonly EditedLines[];
  /**
   * `seen`: the session wrote the new lines or was shown them. A new line that also holds text of
   * replaced lines counts as seen only if the replaced lines were seen. `unseen`: the session does
   * not know the new lines.
   */
  readonly addedAre: 'seen' | 'unseen';
  /** The number of lines that the text had before the changes. */
  readonly totalLines: number;
}

/**
 * The coverage (the lines that a session has seen) after changes to lines. Seen lines stay seen
 * under their new numbers. A session that has seen only some lines never counts as having seen the
 * whole file, even if all remaining lines are seen.
 */
export function carryCoverage(coverage: Coverage, { changes, addedAre, totalLines }: Carry): Coverage {
  if (coverage.kind === 'none') return coverage;
  const isSeen = addedAre === 'seen';
  if (
    coverage.kind === 'whole' &&
    (isSeen || changes.every(({ afterStart, afterEnd }) => afterEnd === afterStart))
  )
    return coverage;
  const kept = carryRanges(rangesOf(coverage, totalLines), changes);
  const added = isSeen ? changes.map((change) => knownLines(coverage, change)) : [];
  const ranges = mergeRanges([...kept, ...added]);
  // A session that has deleted all lines it knew still knows of the file, and its later lines count.
  return ranges.length === 0 && !isSeen ? NOTHING : { kind: 'lines', ranges };
}

/**
 * The added lines of a change that hold no text of unseen lines. The range is empty if there are
 * none; `mergeRanges` drops it.
 */
function knownLines(coverage: Coverage, change: EditedLines): LineRange {
  const { beforeStart, beforeEnd, mixed } = change;
  const added = { from: change.afterStart + 1, to: change.afterEnd };
  const isSeen = (from: number, to: number): boolean => from > to || covers(coverage, { from, to });
  if (mixed === 'all') return isSeen(beforeStart + 1, beforeEnd) ? added : { from: 1, to: 0 };
  const first = (mixed === 'first' || mixed === 'both') && !isSeen(beforeStart + 1, beforeStart + 1);
  const last = (mixed === 'last' || mixed === 'both') && !isSeen(beforeEnd, beforeEnd);
  return { from: added.from + (first ? 1 : 0), to: added.to - (last ? 1 : 0) };
}

/**
 * Converts changes of characters to changes of lines. A change that begins or ends inside
 * a line counts that line as removed and as added.
 */
export function editedLines(before: string, after: string, changes: readonly Change[]): EditedLines[] {
  const edited: EditedLines[] = [];
  let counted = 0;
  let line = 0;
  let shift = 0;
  for (const change of changes) {
    const ends = isLineEnd(before, change.before.end) && isLineEnd(after, change.after.end);
    const extended = ends ? fromLineStart : wholeLines;
    const [old, fresh] = [extended(before, change.before), extended(after, change.after)];
    line += countNewlines(before, old.start, counted);
    counted = old.start;
    const beforeEnd = line + lineCount(before.slice(old.start, old.end));
    const added = lineCount(after.slice(fresh.start, fresh.end));
    const last = edited.at(-1);
    if (last !== undefined && line < last.beforeEnd) {
      // Two changes of one line become one, in which every added line may hold text of every
      // replaced line.
      shift = last.afterEnd - 1 + added - beforeEnd;
      edited[edited.length - 1] = { ...last, beforeEnd, afterEnd: beforeEnd + shift, mixed: 'all' };
      continue;
    }
    const afterStart = line + shift;
    shift = afterStart + added - beforeEnd;
    const mixed = mixedLines(after, change.after, fresh);
    edited.push({ beforeStart: line, beforeEnd, afterStart, afterEnd: afterStart + added, mixed });
  }
  return edited;
}

/** The lines of a change that begin or end with text that the change keeps. */
function mixedLines(text: string, change: Span, lines: Span): EditedLines['mixed'] {
  const first = lines.start < change.start;
  const last = !/^[\r\n]*$/.test(text.slice(change.end, lines.end));
  if (first && last) return 'both';
  return first ? 'first' : last ? 'last' : undefined;
}

function fromLineStart(text: string, { start, end }: Span): Span {
  return { start: start === 0 ? 0 : text.lastIndexOf('\n', start - 1) + 1, end };
}

function wholeLines(text: string, span: Span): Span {
  const newline = text.indexOf('\n', span.end);
  return { start: fromLineStart(text, span).start, end: newline < 0 ? text.length : newline + 1 };
}

function isLineEnd(text: string, offset: number): boolean {
  return offset === 0 || offset === text.length || text[offset - 1] === '\n';
}
