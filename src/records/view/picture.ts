import { type LineRange, mergeRanges } from '../../model/coverage.ts';
import { carryRanges } from '../../text/carry.ts';
import { diffLines } from '../../text/diff.ts';
import { lineCount } from '../../text/lines.ts';

/** The lines, as ranges, whose author is one of these changes. */
export function linesBy(authors: readonly number[], changes: ReadonlySet<number>): LineRange[] {
  return mergeRanges(
    authors.flatMap((author, i) => (changes.has(author) ? [{ from: i + 1, to: i + 1 }] : [])),
  );
}

/** The lines of an earlier text that a session was shown, in the line numbers of the current text. */
export function carriedPicture(
  seen: readonly LineRange[],
  then: string,
  now: string,
): { readonly seen: readonly LineRange[]; readonly stale: readonly LineRange[] } {
  const { hunks } = diffLines(then, now);
  const touched = hunks.filter(({ beforeStart, beforeEnd }) =>
    seen.some(({ from, to }) => from <= Math.max(beforeEnd, beforeStart + 1) && to >= beforeStart),
  );
  const total = lineCount(now);
  // Lines that are gone leave a mark at the line that follows them.
  const stale = touched.map(({ afterStart, afterEnd }) => ({
    from: Math.min(afterStart + 1, Math.max(total, 1)),
    to: Math.min(Math.max(afterEnd, afterStart + 1), Math.max(total, 1)),
  }));
  const still = carryRanges(seen, hunks);
  return { seen: clippedTo(still, total), stale: mergeRanges(stale) };
}

/** The ranges of `1-20,40-60`; `whole` is every line, anything else none. */
export function parseLines(lines: string, total: number): LineRange[] {
  if (lines === 'whole') return total === 0 ? [] : [{ from: 1, to: total }];
  const ranges = lines.split(',').flatMap((part) => {
    const [, from, to] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    return from === undefined ? [] : [{ from: Number(from), to: Number(to ?? from) }];
  });
  return clippedTo(mergeRanges(ranges), total);
}

function clippedTo(ranges: readonly LineRange[], total: number): LineRange[] {
  return ranges.flatMap(({ from, to }) => (from > total ? [] : [{ from, to: Math.min(to, total) }]));
}
