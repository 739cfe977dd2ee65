import { type Coverage, covers, type LineRange, mergeRanges, NOTHING, rangesOf } from '../model/coverage.ts';
import type { Edit } from '../model/intent.ts';
import { hasNul, hasUtf16Mark } from './decode.ts';
import type { Hunk } from './diff.ts';
import {
  endingOf,
  endingUsed,
  type LineEnding,
  lineCount,
  lineStart,
  neighbourEndings,
  type Span,
  viewOf,
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
  return ranges.length === 0 ? NOTHING : { kind: 'lines', ranges };
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

interface BytesSpliced {
  readonly bytes: Uint8Array;
  /** The replaced spans, as byte offsets before and after all edits; ascending and disjoint. */
  readonly changes: readonly Change[];
  readonly replaced: number;
}

interface SpliceBytesOptions {
  /** Encoding of the file, if known. Only with `utf-8` may edits contain non-ASCII characters. */
  readonly encoding?: string;
  /**
   * `safe` (default): an edit that deletes whole lines also deletes the line ending after them.
   * `exact`: the edit deletes only its old text.
   */
  readonly matching?: 'exact' | 'safe';
}

const NEWLINE = 10;
const RETURN = 13;
const UTF8_MARK = Buffer.from('\ufeff');
/**
 * The native search for a long needle can be slow (see match.ts). So only this many bytes, the
 * beginning of the needle, are searched natively. The rest of the needle is compared at each hit.
 */
const PREFIX = 64;
const MAX_FALSE_STARTS = 100;
const MAX_RESULT_BYTES = 1 << 28;

/**
 * Applies edits directly to bytes. The result is the same as that of `applyEdits` in splice.ts.
 * Only for edits whose old text (anchor) matches exactly, in any encoding that extends ASCII.
 * Returns undefined in all other cases: the caller must then decode the text and use `applyEdits`.
 */
export function spliceBytes(
  bytes: Uint8Array,
  edits: readonly Edit[],
  options: SpliceBytesOptions = {},
): BytesSpliced | undefined {
  if (hasUtf16Mark(bytes) || hasNul(bytes)) return undefined;
  const encoding = options.encoding === 'utf-8' ? 'utf-8' : 'other';
  let current = viewOf(bytes);
  let changes: readonly Change[] = [];
  let replaced = 0;
  for (const edit of edits) {
    if (!isPlain(edit, encoding)) return undefined;
    const found = findSpans(current, edit, encoding);
    if (found === undefined) return undefined;
    const whole = options.matching !== 'exact' && deletesLines(edit);
    const spans = whole ? disjointSpans(found.map((span) => withLineEnding(current, span))) : found;
    const step = replaceSpans(current, edit, spans);
    if (step === undefined) return undefined;
    current = step.bytes;
    changes = composeChanges(changes, step.changes);
    replaced += spans.length;
  }
  return { bytes: current, changes, replaced };
}

/** UTF-8, or any other encoding that extends ASCII. */
type Encoding = 'utf-8' | 'other';

function isPlain(edit: Edit, encoding: Encoding): boolean {
  const { oldString, newString } = edit;
  if (edit.lines !== undefined) return false;
  if (oldString === '' || oldString === newString || endingUsed(oldString) === 'mixed') return false;
  const outside = encoding === 'utf-8' ? /[\p{Surrogate}\ufeff]/u : /[^\0-\x7f]/;
  return !outside.test(oldString) && !outside.test(newString);
}

function findSpans(bytes: Buffer, edit: Edit, encoding: Encoding): Span[] | undefined {
  const needle = Buffer.from(edit.oldString, 'utf8');
  const all = edit.replaceAll === true;
  const spans: Span[] = [];
  for (let at = find(bytes, needle, 0); at !== -1; ) {
    if (at === undefined || (!all && spans.length > 0)) return undefined;
    if (cutsInto(bytes, at, encoding)) return undefined;
    spans.push({ start: at, end: at + needle.length });
    at = find(bytes, needle, all ? at + needle.length : at + 1);
  }
  const wanted = edit.occurrences ?? spans.length;
  return spans.length === 0 || spans.length !== wanted ? undefined : spans;
}

function withLineEnding(bytes: Buffer, { start, end }: Span): Span {
  const isFirst = start === 0 || (start === UTF8_MARK.length && bytes.indexOf(UTF8_MARK) === 0);
  if (!isFirst && bytes[start - 1] !== NEWLINE) return { start, end };
  if (bytes[end] === NEWLINE) return { start, end: end + 1 };
  const crlf = bytes[end] === RETURN && bytes[end + 1] === NEWLINE;
  return { start, end: crlf ? end + 2 : end };
}

/** True if an offset may be inside a character of an unknown encoding, or is inside a `\r\n`. */
function cutsInto(bytes: Buffer, at: number, encoding: Encoding): boolean {
  const before = bytes[at - 1] ?? 0;
  return (encoding === 'other' && before >= 0x80) || (before === RETURN && bytes[at] === NEWLINE);
}

/**
 * The offset of the needle, or -1 if the bytes do not contain it. Undefined if more than
 * `MAX_FALSE_STARTS` places match only the first `PREFIX` bytes of the needle.
 */
function find(bytes: Buffer, needle: Buffer, from: number): number | undefined {
  if (needle.length <= PREFIX) return bytes.indexOf(needle, from);
  const prefix = needle.subarray(0, PREFIX);
  let at = bytes.indexOf(prefix, from);
  for (let tries = 0; at !== -1; tries += 1) {
    if (bytes.subarray(at, at + needle.length).equals(needle)) return at;
    if (tries === MAX_FALSE_STARTS) return undefined;
    at = bytes.indexOf(prefix, at + 1);
  }
  return -1;
}

function replaceSpans(
  bytes: Buffer,
  edit: Edit,
  spans: readonly Span[],
): { readonly bytes: Buffer; readonly changes: readonly Change[] } | undefined {
  const used = endingUsed(edit.oldString);
  const own = used === '\n' || used === '\r\n' ? used : undefined;
  if (bytes.length + spans.length * edit.newString.length * 4 > MAX_RESULT_BYTES) return undefined;
  // New lines get the line ending used around the replaced text. Several replaced texts may need
  // different endings: the caller must then decode the text.
  if (own === undefined && spans.length > 1 && edit.newString.includes('\n')) return undefined;
  const [first] = spans;
  const ending = own ?? (first && neighbourEnding(bytes, first));
  const replacement = Buffer.from(withEnding(edit.newString, ending), 'utf8');
  const pieces: Buffer[] = [];
  let done = 0;
  for (const span of spans) {
    pieces.push(bytes.subarray(done, span.start), replacement);
    done = span.end;
  }
  pieces.push(bytes.subarray(done));
  const lengths = spans.map(() => replacement.length);
  return { bytes: Buffer.concat(pieces), changes: changesOf(spans, lengths) };
}

function neighbourEnding(bytes: Buffer, span: Span): LineEnding | undefined {
  const next = bytes.indexOf(NEWLINE, span.end);
  const newline = next === -1 && span.start > 0 ? bytes.lastIndexOf(NEWLINE, span.start - 1) : next;
  if (newline === -1) return undefined;
  return bytes[newline - 1] === RETURN ? '\r\n' : '\n';
}
