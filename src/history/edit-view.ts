import { type LineRange, linesCoverage, mergeRanges, rangesOf, WHOLE } from '../model/coverage.ts';
import { countNewlines, lineCount } from '../text/lines.ts';
import { type Carried, rootsOf, type SeenEntry } from './entry.ts';
import { bareView, shownText, shownView, type TranscriptView } from './history-sighting.ts';
import { type Edited, textAfter } from './tool-result.ts';
import { ComparedText } from './verify.ts';

/**
 * Changes in ascending order. `shifts[n]` is the number of lines by which the first `n` changes
 * move the lines after them.
 */
interface Shifted {
  readonly changes: readonly ChangedLines[];
  readonly shifts: readonly number[];
}

/**
 * Lines that an edit touched, and the number of lines that replace them. For a pure insertion, `to` is before `from`.
 */
interface ChangedLines extends LineRange {
  readonly now: number;
}

/** Whole lines of the old text, as offsets. One or more edited spans touch these lines. */
interface Stretch {
  readonly start: number;
  readonly end: number;
  /** Number of new lines that replace these lines. */
  readonly now: number;
  /** Index of the first edited span after these lines. */
  readonly next: number;
}

/**
 * The lines of a file that the model knows after its own edit: the lines it had seen before, at
 * their new positions, and new lines that replace seen ones. `latest`: the earlier views, newest
 * first.
 */
export function carriedView(path: string, latest: Iterable<SeenEntry>, edited: Edited): Carried {
  const before = new ComparedText(edited.before);
  const after = new ComparedText(textAfter(edited));
  const { totalLines } = after;
  const { seen, roots } = seenOf(before, latest);
  const isSeen = seen.length === 1 && seen[0]?.from === 1 && seen[0].to === before.totalLines;
  // True if the model knows the whole new text: it had seen the whole old text, or that was empty.
  const isKnown = isSeen || before.totalLines === 0;
  const ranges = isKnown ? rangesOf(WHOLE, totalLines) : carriedLines(seen, changedLines(edited));
  const coverage = linesCoverage(ranges, totalLines);
  if (coverage.kind === 'none') return { view: bareView(path, { how: 'edit', totalLines }), roots: [] };
  const shown = ranges.map((range) => {
    const text = after.slice(range);
    // A read does not show the newline after its last line. So leave it out, except at the end of
    // the file.
    return shownText(range.to < totalLines ? text.slice(0, -1) : text, range);
  });
  const view = bareView(path, { coverage, totalLines, shown, how: 'edit' });
  if (coverage.kind !== 'whole') return { view, roots };
  const [only] = shown;
  const isAll = shown.length === 1 && only?.from === 1 && only.to === totalLines;
  const { sha256, size } = isAll ? only : shownText(after.text, { from: 1, to: totalLines });
  return { view: { ...view, fingerprint: { sha256, size } }, roots };
}

/** The seen lines of a text, and the calls that showed them. Views that add nothing to newer ones are skipped. */
function seenOf(
  before: ComparedText,
  latest: Iterable<SeenEntry>,
): { readonly seen: readonly LineRange[]; readonly roots: readonly string[] } {
  const seen: LineRange[] = [];
  const used: SeenEntry[] = [];
  let known: readonly LineRange[] = [];
  for (const entry of latest) {
    const ranges = before.rangesShown(entry.view);
    const more = mergeRanges([...known, ...ranges]);
    if (linesIn(more) === linesIn(known)) continue;
    known = more;
    seen.push(...ranges);
    used.push(entry);
    if (linesIn(more) === before.totalLines) break;
  }
  return { seen, roots: rootsOf(used) };
}

function linesIn(ranges: readonly LineRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
}

/** A host's record of the change that a patch made to one file. */
export type FileChange =
  | { readonly kind: 'added'; readonly path: string; readonly content: string }
  | { readonly kind: 'updated'; readonly path: string; readonly diff: string };

/**
 * The lines that a patch shows: a whole new file, or the new side of its hunks. The model wrote
 * them, so it knows them.
 */
export function changeView(change: FileChange): TranscriptView {
  if (change.kind === 'added') {
    const { path, content } = change;
    const lines = { path, content, totalLines: lineCount(content), exact: true } as const;
    return { ...shownView(path, lines), how: 'write' };
  }
  const hunks = newSides(change.diff).map((hunk) => {
    const range = { from: hunk.from, to: hunk.from + hunk.lines.length - 1 };
    return { range, shown: shownText(hunk.lines.join('\n'), range) };
  });
  const coverage = linesCoverage(
    hunks.map((hunk) => hunk.range),
    Number.POSITIVE_INFINITY,
  );
  const shown = hunks.map((hunk) => hunk.shown);
  return { path: change.path, coverage, shown, how: 'edit', clamped: false, redacted: false };
}

/** The new side of one hunk of a unified diff. `from`: the number of its first line. */
interface DiffHunk {
  readonly from: number;
  readonly lines: readonly string[];
}

/** The new side of each hunk: the context and the added lines, which the author of the patch knows. */
function newSides(diff: string): readonly DiffHunk[] {
  const hunks: { from: number; lines: string[] }[] = [];
  for (const line of diff.split('\n')) {
    const from = /^@@ -\d+(?:,\d+)? \+(\d{1,12})(?:,\d+)? @@/.exec(line)?.[1];
    if (from !== undefined) hunks.push({ from: Number(from), lines: [] });
    else if (line.startsWith(' ') || line.startsWith('+')) hunks.at(-1)?.lines.push(line.slice(1));
  }
  return hunks.filter((hunk) => hunk.lines.length > 0 && hunk.from > 0);
}

/**
 * Maps seen lines to their positions after some changes. New lines count as seen if all lines they
 * replace were seen. Does not merge ranges, because each range is later compared with the disk by
 * its own hash.
 */
function carriedLines(seen: readonly LineRange[], changes: readonly ChangedLines[]): readonly LineRange[] {
  const shifts = [0];
  for (const { from, to, now } of changes) shifts.push((shifts.at(-1) ?? 0) + now - (to - from + 1));
  const shifted = { changes, shifts };
  return widest([...moved(widest(seen), shifted), ...made(mergeRanges(seen), shifted)]);
}

/**
 * Maps each seen range to its new position. The new lines of a change that lies inside the range
 * are part of the new range. If a change touches both seen and unseen lines, the lines that it
 * touches are cut off the range.
 */
function* moved(seen: readonly LineRange[], { changes, shifts }: Shifted): Iterable<LineRange> {
  let before = 0;
  let inside = 0;
  for (const range of seen) {
    while ((changes[before]?.from ?? Infinity) < range.from) before += 1;
    while ((changes[inside]?.to ?? Infinity) <= range.to) inside += 1;
    const from = Math.max(range.from, (changes[before - 1]?.to ?? 0) + 1);
    const to = Math.min(range.to, (changes[inside]?.from ?? Infinity) - 1);
    if (from <= to) yield { from: from + (shifts[before] ?? 0), to: to + (shifts[inside] ?? 0) };
  }
}

/** The new lines of those changes that replace only seen lines. */
function* made(seen: readonly LineRange[], { changes, shifts }: Shifted): Iterable<LineRange> {
  let at = 0;
  for (const [count, { from, to, now }] of changes.entries()) {
    while ((seen[at]?.to ?? Infinity) < to) at += 1;
    const start = from + (shifts[count] ?? 0);
    if ((seen[at]?.from ?? Infinity) <= from && from <= to) yield { from: start, to: start + now - 1 };
  }
}

/** Sorts the ranges and drops ranges that lie inside another one. */
function widest(ranges: readonly LineRange[]): readonly LineRange[] {
  const kept: LineRange[] = [];
  for (const range of [...ranges].sort((a, b) => a.from - b.from || b.to - a.to))
    if (range.from <= range.to && range.to > (kept.at(-1)?.to ?? 0)) kept.push(range);
  return kept;
}

/** The lines that an edit touched, in order. Spans that end up in the same line form one change. */
function changedLines(edited: Edited): readonly ChangedLines[] {
  const { before, spans } = edited;
  const changes: ChangedLines[] = [];
  let from = 1;
  let counted = 0;
  for (let next = 0; next < spans.length; ) {
    const stretch = stretchAt(edited, next);
    from += countNewlines(before, stretch.start, counted);
    counted = stretch.start;
    const touched = lineCount(before.slice(stretch.start, stretch.end));
    changes.push({ from, to: from + touched - 1, now: stretch.now });
    next = stretch.next;
  }
  return changes;
}

function stretchAt({ before, spans, put }: Edited, first: number): Stretch {
  const newlines = countNewlines(put, put.length);
  const start = startOfLine(before, spans[first]?.start ?? 0);
  let end = start;
  let endOfLast = start;
  let now = 0;
  let next = first;
  /**
   * True if the last new line so far has no end yet, so that the old text after the last span
   * continues this line.
   */
  let isOpen = false;
  for (let span = spans[next]; span !== undefined; span = spans[next]) {
    if (next > first && span.start >= endOfLast) break;
    isOpen = put === '' ? isOpen || span.start > end : !put.endsWith('\n');
    now += newlines;
    end = span.end;
    next += 1;
    if (!isOpen && isStartOfLine(before, end)) return { start, end, now, next };
    if (endOfLast <= end) endOfLast = endOfLine(before, end);
  }
  return { start, end: endOfLast, now: isOpen || endOfLast > end ? now + 1 : now, next };
}

function isStartOfLine(text: string, at: number): boolean {
  return at === 0 || text[at - 1] === '\n';
}

function startOfLine(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
}

/** The end of the line at an offset, including its newline. */
function endOfLine(text: string, at: number): number {
  const newline = text.indexOf('\n', at);
  return newline === -1 ? text.length : newline + 1;
}
