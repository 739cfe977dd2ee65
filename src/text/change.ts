import { type Coverage, covers, type LineRange, mergeRanges, NOTHING, rangesOf } from '../model/coverage.ts';
import type { Edit } from '../model/intent.ts';
import type { Hunk } from './diff.ts';
import {
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
  const lines = content === '' ? '' : wholeLines(text, at, content);
  const end = at + lines.length;
  return {
    text: text.slice(0, at) + lines + text.slice(at),
    inserted: content === '' ? undefined : { from: after + 1, to: after + lineCount(content) },
    change: { before: { start: at, end: at }, after: { start: at, end } },
  };
}

function wholeLines(text: string, at: number, content: string): string {
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
  for (const { start, end, shift } of unchanged(hunks)) {
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

/**
 * The unchanged stretches between hunks (0-based, end exclusive), with the number of lines each one moved.
 */
function unchanged(hunks: readonly Hunk[]): { start: number; end: number; shift: number }[] {
  const ends = [0, ...hunks.map((hunk) => hunk.beforeEnd)];
  const shifts = [0, ...hunks.map((hunk) => hunk.afterEnd - hunk.beforeEnd)];
  return ends.map((start, index) => ({
    start,
    end: hunks[index]?.beforeStart ?? Number.POSITIVE_INFINITY,
    shift: shifts[index] ?? 0,
  }));
}

/** Replaced lines: `removed` lines starting at `from` became `added` lines. */
export interface LineChange {
  /**
   * The first replaced line, counted from 1 in the old text. For an insertion: the line before which the new lines
   * are inserted.
   */
  readonly from: number;
  readonly removed: number;
  readonly added: number;
  /** The added lines that may also hold text of the replaced lines. Default: none. */
  readonly mixed?: 'first' | 'last' | 'both' | 'all' | undefined;
}

interface Carry {
  /** The changes, sorted and without overlaps. */
  readonly changes: readonly LineChange[];
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
export function carryCoverage(coverage: Coverage, carry: Carry): Coverage {
  if (coverage.kind === 'none') return coverage;
  const nothingUnseen = carry.addedAre === 'seen' || carry.changes.every((change) => change.added === 0);
  if (coverage.kind === 'whole' && nothingUnseen) return coverage;
  const hunks = hunksOf(carry.changes);
  const kept = carryRanges(rangesOf(coverage, carry.totalLines), hunks);
  const added =
    carry.addedAre === 'seen' ? hunks.map((hunk, at) => knownLines(coverage, hunk, carry.changes[at])) : [];
  const ranges = mergeRanges([...kept, ...added]);
  // A session that has deleted all lines it knew still knows of the file, and its later lines count.
  return ranges.length === 0 && carry.addedAre === 'unseen' ? NOTHING : { kind: 'lines', ranges };
}

/** The added lines of a hunk that hold no text of unseen lines. */
function knownLines(coverage: Coverage, hunk: Hunk, { mixed }: Pick<LineChange, 'mixed'> = {}): LineRange {
  const { beforeStart, beforeEnd } = hunk;
  const added = addedLines(hunk);
  const isSeen = (from: number, to: number): boolean => from > to || covers(coverage, { from, to });
  if (mixed === 'all') return isSeen(beforeStart + 1, beforeEnd) ? added : { from: 1, to: 0 };
  const first = (mixed === 'first' || mixed === 'both') && !isSeen(beforeStart + 1, beforeStart + 1);
  const last = (mixed === 'last' || mixed === 'both') && !isSeen(beforeEnd, beforeEnd);
  return { from: added.from + (first ? 1 : 0), to: added.to - (last ? 1 : 0) };
}

/**
 * Converts line changes to diff hunks with the line numbers of the old and the new text (0-based,
 * end exclusive).
 */
function hunksOf(changes: readonly LineChange[]): Hunk[] {
  let shift = 0;
  return changes.map(({ from, removed, added }) => {
    const beforeStart = from - 1;
    const afterStart = beforeStart + shift;
    shift += added - removed;
    return { beforeStart, beforeEnd: beforeStart + removed, afterStart, afterEnd: afterStart + added };
  });
}

/** The added lines of a hunk. The range is empty if none were added; `mergeRanges` drops it. */
function addedLines({ afterStart, afterEnd }: Hunk): LineRange {
  return { from: afterStart + 1, to: afterEnd };
}
