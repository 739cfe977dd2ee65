import { type LineRange, linesCoverage, mergeRanges, rangesOf, WHOLE } from '../model/coverage.ts';
import { lineCount } from '../text/lines.ts';
import { carriedLines } from './carried-lines.ts';
import { changedLines } from './changed-lines.ts';
import { type Edited, textAfter } from './edited.ts';
import { type Carried, rootsOf, type SeenEntry } from './entry.ts';
import { shownText } from './shown-text.ts';
import { ComparedText } from './verify.ts';
import { bareView, shownView, type View } from './view.ts';

/**
 * What the model knows of a file after its own edit, when the transcript holds the text before it: the lines it had seen
 * of that text (`latest`, newest first), at the places they have now, and the lines it replaced if it had seen what was there.
 */
export function carriedView(path: string, latest: Iterable<SeenEntry>, edited: Edited): Carried {
  const before = new ComparedText(edited.before);
  const after = new ComparedText(textAfter(edited));
  const { totalLines } = after;
  const { seen, roots } = seenOf(before, latest);
  const isSeen = seen.length === 1 && seen[0]?.from === 1 && seen[0].to === before.totalLines;
  // All of what an edit makes of a file that was seen in one piece is known; only parts must be carried over it.
  const isKnown = isSeen || before.totalLines === 0;
  const ranges = isKnown ? rangesOf(WHOLE, totalLines) : carriedLines(seen, changedLines(edited));
  const coverage = linesCoverage(ranges, totalLines);
  if (coverage.kind === 'none') return { view: bareView(path, { how: 'edit', totalLines }), roots: [] };
  const shown = ranges.map((range) => {
    const text = after.slice(range);
    // As reads show lines: without the newline of the last, unless it is the file's last as well.
    return shownText(range.to < totalLines ? text.slice(0, -1) : text, range);
  });
  const view = bareView(path, { coverage, totalLines, shown, how: 'edit' });
  if (coverage.kind !== 'whole') return { view, roots };
  const [only] = shown;
  const isAll = shown.length === 1 && only?.from === 1 && only.to === totalLines;
  const { sha256, size } = isAll ? only : shownText(after.text, { from: 1, to: totalLines });
  return { view: { ...view, fingerprint: { sha256, size } }, roots };
}

/** The lines of a text that were seen, and the calls that showed them. Views that add nothing to newer ones are left out. */
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

/** What a host recorded of one file of a patch. */
export type FileChange =
  | { readonly kind: 'added'; readonly path: string; readonly content: string }
  | { readonly kind: 'updated'; readonly path: string; readonly diff: string };

/** What a patch wrote: a whole file, or the new side of its hunks, which the model itself spelt out. */
export function changeView(change: FileChange): View {
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

/** Lines of a unified diff's new side, hunk by hunk. */
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
