import { type LineRange, linesCoverage, mergeRanges, rangesOf, WHOLE } from '../model/coverage.ts';
import { carryCoverage, changesOf, editedLines } from '../text/change.ts';
import { diffRows } from '../text/diff-rows.ts';
import { lineCount } from '../text/lines.ts';
import { type Carried, rootsOf, type SeenEntry } from './entry.ts';
import { bareView, shownText, shownView, type TranscriptView } from './history-sighting.ts';
import { type Edited, textAfter } from './tool-result.ts';
import { ComparedText } from './verify.ts';

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
  const ranges = isKnown ? rangesOf(WHOLE, totalLines) : carriedLines(seen, edited, after.text);
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
  const shown = runsOf(change.diff).map(({ from, lines }) =>
    shownText(lines.join('\n'), { from, to: from + lines.length - 1 }),
  );
  const coverage = linesCoverage(shown, Number.POSITIVE_INFINITY);
  return bareView(change.path, { coverage, shown, how: 'edit' });
}

/** The context and the added lines of a patch, in runs of consecutive lines. */
function runsOf(diff: string): readonly { readonly from: number; readonly lines: readonly string[] }[] {
  const runs: { from: number; lines: string[] }[] = [];
  for (const { number, text } of diffRows(diff.split('\n'), '+')) {
    const last = runs.at(-1);
    if (last !== undefined && last.from + last.lines.length === number) last.lines.push(text);
    else if (number > 0) runs.push({ from: number, lines: [text] });
  }
  return runs;
}

/**
 * Maps seen lines to their positions after an edit. New lines count as seen if all lines that they
 * replace were seen. Does not merge ranges, because each range is later compared with the disk by its own
 * hash.
 */
function carriedLines(seen: readonly LineRange[], edited: Edited, after: string): readonly LineRange[] {
  const { before, spans, put } = edited;
  const lengths = spans.map(() => put.length);
  const changes = editedLines(before, after, changesOf(spans, lengths)).map((change) => ({
    ...change,
    mixed: 'all' as const,
  }));
  const carried = (ranges: readonly LineRange[]): readonly LineRange[] => {
    const coverage = { kind: 'lines', ranges } as const;
    return rangesOf(carryCoverage(coverage, { changes, addedAre: 'seen', totalLines: Infinity }), Infinity);
  };
  // Several seen ranges together may contain the lines that a change replaces.
  const known = carried(mergeRanges(seen));
  const added = changes.flatMap(({ afterStart, afterEnd }) =>
    known.map(({ from, to }) => ({ from: Math.max(from, afterStart + 1), to: Math.min(to, afterEnd) })),
  );
  return widest([...seen.flatMap((range) => carried([range])), ...added]);
}

/** Sorts the ranges and drops ranges that lie inside another one. */
function widest(ranges: readonly LineRange[]): readonly LineRange[] {
  const kept: LineRange[] = [];
  for (const range of [...ranges].sort((a, b) => a.from - b.from || b.to - a.to))
    if (range.from <= range.to && range.to > (kept.at(-1)?.to ?? 0)) kept.push(range);
  return kept;
}
