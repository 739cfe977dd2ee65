import { type LineRange, mergeRanges } from '../model/coverage.ts';
import type { ChangedLines } from './changed-lines.ts';

/**
 * Lines that were seen, at the places they have after some changes. What a change made of lines was seen if all of them
 * were; else they are lost. Ranges stay apart where they were, so that each can be compared by itself later.
 */
export function carriedLines(
  seen: readonly LineRange[],
  changes: readonly ChangedLines[],
): readonly LineRange[] {
  const shifts = [0];
  for (const { from, to, now } of changes) shifts.push((shifts.at(-1) ?? 0) + now - (to - from + 1));
  const shifted = { changes, shifts };
  return widest([...moved(widest(seen), shifted), ...made(mergeRanges(seen), shifted)]);
}

/** Changes in order, and by how much each moves what follows it: `shifts[n]` is what the first `n` amount to. */
interface Shifted {
  readonly changes: readonly ChangedLines[];
  readonly shifts: readonly number[];
}

/** Ranges with what changed inside them, and without lines that changed together with others. */
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

/** What changes made of lines that were all seen. */
function* made(seen: readonly LineRange[], { changes, shifts }: Shifted): Iterable<LineRange> {
  let at = 0;
  for (const [count, { from, to, now }] of changes.entries()) {
    while ((seen[at]?.to ?? Infinity) < to) at += 1;
    const start = from + (shifts[count] ?? 0);
    if ((seen[at]?.from ?? Infinity) <= from && from <= to) yield { from: start, to: start + now - 1 };
  }
}

/** In order, and without those that lie within another. */
function widest(ranges: readonly LineRange[]): readonly LineRange[] {
  const kept: LineRange[] = [];
  for (const range of [...ranges].sort((a, b) => a.from - b.from || b.to - a.to))
    if (range.from <= range.to && range.to > (kept.at(-1)?.to ?? 0)) kept.push(range);
  return kept;
}
