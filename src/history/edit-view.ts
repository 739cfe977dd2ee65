import { type LineRange, linesCoverage, mergeRanges, rangesOf, WHOLE } from '../model/coverage.ts';
import { lineCount, splitLines } from '../text/lines.ts';
import { newSides } from './patch-text.ts';
import { shownText } from './shown-text.ts';
import type { Edited } from './tool-result.ts';
import { ComparedText } from './verify.ts';
import { bareView, pageOf, pageView, type View } from './view.ts';

/**
 * What the model knows of a file after its own edit, when the transcript holds the text on both sides: the lines it had
 * seen of the old text (`latest`, newest first), at the places they have in the new one, and the lines it replaced if it had seen what was there.
 */
export function carriedView(path: string, latest: readonly View[], edited: Edited): View {
  const before = new ComparedText(edited.before);
  const after = new ComparedText(edited.after);
  const { totalLines } = after;
  const seen = seenOf(before, latest);
  if (seen.length === 0 && before.totalLines > 0) return bareView(path, { how: 'edit', totalLines });
  const coverage = linesCoverage(carried(seen, changedLines(edited)), totalLines);
  const shown = rangesOf(coverage, totalLines).map((range) => shownText(after.slice(range), range));
  const [whole] = coverage.kind === 'whole' ? shown : [];
  return {
    path,
    coverage,
    totalLines,
    shown,
    ...(whole === undefined ? {} : { fingerprint: { sha256: whole.sha256, size: whole.size } }),
    how: 'edit',
    clamped: false,
    redacted: false,
  };
}

/** What a host recorded of one file of a patch. */
export type FileChange =
  | { readonly kind: 'added'; readonly path: string; readonly content: string }
  | { readonly kind: 'updated'; readonly path: string; readonly diff: string };

/** What a patch wrote: a whole file, or the new side of its hunks, which the model itself spelt out. */
export function changeView(change: FileChange): View {
  if (change.kind === 'added') {
    const to = lineCount(change.content);
    const page = pageOf(change.content, { from: 1, to, totalLines: to }, 'exact');
    return { ...pageView(change.path, page), how: 'write' };
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

function seenOf(before: ComparedText, latest: readonly View[]): readonly LineRange[] {
  const ranges: LineRange[] = [];
  const { totalLines } = before;
  for (const view of latest) {
    ranges.push(...before.rangesShown(view));
    if (ranges.length > 0 && linesCoverage(ranges, totalLines) === WHOLE) return rangesOf(WHOLE, totalLines);
  }
  return mergeRanges(ranges);
}

interface Changed {
  /** Lines at the beginning that are the same on both sides. */
  readonly head: number;
  /** Lines in between, before and after. */
  readonly removed: number;
  readonly added: number;
}

function changedLines({ before, after }: Edited): Changed {
  const old = splitLines(before);
  const now = splitLines(after);
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  return { head, removed: old.length - head - tail, added: now.length - head - tail };
}

function carried(seen: readonly LineRange[], changed: Changed): LineRange[] {
  const { head, removed, added } = changed;
  const ranges: LineRange[] = [];
  for (const { from, to } of seen) {
    if (from <= head) ranges.push({ from, to: Math.min(to, head) });
    if (to > head + removed)
      ranges.push({ from: Math.max(from, head + removed + 1) + added - removed, to: to + added - removed });
  }
  const known = removed === 0 || seen.some((range) => range.from <= head + 1 && head + removed <= range.to);
  if (known && added > 0) ranges.push({ from: head + 1, to: head + added });
  return ranges;
}
