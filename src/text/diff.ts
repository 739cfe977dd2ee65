import { diff_core as myers } from 'fast-myers-diff';
import { countNewlines, splitLines, viewOf } from './lines.ts';

/** Lines replaced by other lines, as 0-based indexes with exclusive ends. Either side may be empty. */
export interface Hunk {
  readonly beforeStart: number;
  readonly beforeEnd: number;
  readonly afterStart: number;
  readonly afterEnd: number;
}

/** Differences in ascending order. Lines between hunks are equal, including their endings. */
export interface LineDiff {
  readonly hunks: readonly Hunk[];
  /**
   * True if an exact diff would cost too much: one hunk then covers everything from the first to the last
   * change.
   */
  readonly rough: boolean;
}

interface DiffOptions {
  /** Number of comparisons after which the diff becomes rough. */
  readonly maxCost?: number;
}

/**
 * Computes a line diff. It is minimal unless its field `rough` is true. Bytes are compared without
 * decoding; they must not be UTF-16.
 */
export function diffLines<T extends TextOrBytes>(before: T, after: T, options: DiffOptions = {}): LineDiff {
  const middle = middleOf(charactersOf(before), charactersOf(after));
  return middle === undefined ? { hunks: [], rough: false } : diffMiddle(middle, options);
}

/** The diff of the part that {@link middleOf} returns, with line numbers of the whole text. */
export function diffMiddle({ before, after, headLines }: Middle, { maxCost }: DiffOptions = {}): LineDiff {
  const { hunks, rough } = diffItems(splitLines(before), splitLines(after), maxCost);
  return { hunks: hunks.map((hunk) => shifted(hunk, headLines)), rough };
}

function shifted(hunk: Hunk, by: number): Hunk {
  return {
    beforeStart: hunk.beforeStart + by,
    beforeEnd: hunk.beforeEnd + by,
    afterStart: hunk.afterStart + by,
    afterEnd: hunk.afterEnd + by,
  };
}

/** Number of comparisons after which a diff is aborted. This many take 0.1 to 0.2 seconds. */
const DEFAULT_MAX_COST = 4_000_000;

/**
 * The differences of two sequences, by the longest common subsequence. If that would cost more than
 * `maxCost` comparisons, the result is rough. The limit counts work, not time, so that every machine
 * returns the same result.
 */
export function diffItems(
  before: readonly string[],
  after: readonly string[],
  maxCost: number = DEFAULT_MAX_COST,
): LineDiff {
  const limit = Math.min(before.length, after.length);
  let head = 0;
  while (head < limit && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < limit - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const [left, right] = shared(before.slice(head, -tail || undefined), after.slice(head, -tail || undefined));
  const matches = matchKept(left, right, maxCost);
  const hunks: Hunk[] = [];
  let [beforeStart, afterStart] = [head, head];
  for (const [i, j] of [...(matches ?? []), [before.length - tail - head, after.length - tail - head]]) {
    const [beforeEnd, afterEnd] = [head + (i ?? 0), head + (j ?? 0)];
    if (beforeEnd > beforeStart || afterEnd > afterStart)
      hunks.push({ beforeStart, beforeEnd, afterStart, afterEnd });
    [beforeStart, afterStart] = [beforeEnd + 1, afterEnd + 1];
  }
  return { hunks, rough: matches === undefined };
}

/** An equal stretch of two sequences: 0-based, end exclusive, possibly empty. */
export interface Stretch {
  readonly start: number;
  readonly end: number;
  /** The number of items by which the stretch moved. */
  readonly shift: number;
}

/** The equal stretches before, between and after hunks. `length`: the length of the old sequence. */
export function equalStretches(hunks: readonly Hunk[], length: number): Stretch[] {
  return [...hunks, undefined].map((next, index) => {
    const { beforeEnd = 0, afterEnd = 0 } = hunks[index - 1] ?? {};
    return { start: beforeEnd, end: next?.beforeStart ?? length, shift: afterEnd - beforeEnd };
  });
}

/**
 * One sequence as numbers, without the items that the other sequence lacks. Those cannot match, and
 * comparing them would take most of the time.
 */
interface Kept {
  readonly ids: Int32Array;
  /** For each item of the reduced sequence, its index in the whole sequence. */
  readonly at: Int32Array;
}

function shared(before: readonly string[], after: readonly string[]): [Kept, Kept] {
  const ids = new Map<string, number>();
  for (const item of before) if (!ids.has(item)) ids.set(item, ids.size);
  const afterIds = after.map((item) => ids.get(item) ?? -1);
  const present = new Set(afterIds);
  const beforeIds = before.map((item) => ids.get(item) ?? -1);
  return [keep(beforeIds, (id) => present.has(id)), keep(afterIds, (id) => id >= 0)];
}

function keep(ids: readonly number[], wanted: (id: number) => boolean): Kept {
  const at = Int32Array.from(ids.keys()).filter((index) => wanted(ids[index] ?? -1));
  return { at, ids: at.map((index) => ids[index] ?? -1) };
}

class OverBudget extends Error {}

/** Pairs of equal items, as indexes in the two whole sequences. Undefined if that would cost too much. */
function matchKept(left: Kept, right: Kept, maxCost: number): [number, number][] | undefined {
  let cost = 0;
  const same = (i: number, j: number): boolean => {
    cost += 1;
    if (cost > maxCost) throw new OverBudget();
    return left.ids[i] === right.ids[j];
  };
  const matches: [number, number][] = [];
  let [i, j] = [0, 0];
  const matchUntil = (end: number): void => {
    for (; i < end; i += 1, j += 1) matches.push([left.at[i] ?? 0, right.at[j] ?? 0]);
  };
  try {
    // All items between the stretches that differ are equal.
    for (const [start, end, , afterEnd] of myers(0, left.ids.length, 0, right.ids.length, same)) {
      matchUntil(start);
      [i, j] = [end, afterEnd];
    }
    matchUntil(left.ids.length);
    return matches;
  } catch (error) {
    if (error instanceof OverBudget) return undefined;
    throw error;
  }
}

/** A text, or its bytes in an encoding that writes `\n` as the byte 0A. */
export type TextOrBytes = string | Uint8Array;

/** The text, or the bytes read as Latin-1: one character for each byte. */
export function charactersOf(content: TextOrBytes): string {
  return typeof content === 'string' ? content : viewOf(content).toString('latin1');
}

/** Two different texts without the whole lines that they share at the beginning and the end. */
export interface Middle {
  readonly head: number;
  readonly headLines: number;
  readonly tail: number;
  /** The differing part. */
  readonly before: string;
  readonly after: string;
}

/** Block sizes for comparing: large blocks for speed, smaller ones to find the exact position. */
const STEPS = [65536, 4096, 256, 16, 1];

/**
 * Removes the equal beginning and end; undefined if the texts are equal. Nothing is split, so that
 * one changed line in a large file costs little more than a comparison.
 */
export function middleOf(before: string, after: string): Middle | undefined {
  const limit = Math.min(before.length, after.length);
  const isSame = (at: number, otherAt: number, size: number): boolean =>
    before.slice(at, at + size) === after.slice(otherAt, otherAt + size);
  const same = advance(limit, (at, size) => isSame(at, at, size));
  if (same === before.length && same === after.length) return undefined;
  const head = same === 0 ? 0 : before.lastIndexOf('\n', same - 1) + 1;
  const tailMatch = advance(limit - head, (at, size) =>
    isSame(before.length - at - size, after.length - at - size, size),
  );
  const newline = before.indexOf('\n', before.length - tailMatch);
  const tail = newline === -1 ? 0 : before.length - newline - 1;
  return {
    head,
    headLines: countNewlines(before, head),
    tail,
    before: before.slice(head, before.length - tail),
    after: after.slice(head, after.length - tail),
  };
}

/** The last `count` lines before an offset at the beginning of a line. */
export function linesBefore(text: string, offset: number, count: number): string {
  let start = offset;
  for (let passed = 0; passed < count && start > 0; passed += 1)
    start = start === 1 ? 0 : text.lastIndexOf('\n', start - 2) + 1;
  return text.slice(start, offset);
}

/** The first `count` lines from an offset at the beginning of a line. */
export function linesFrom(text: string, offset: number, count: number): string {
  let end = offset;
  for (let passed = 0; passed < count && end < text.length; passed += 1) {
    const newline = text.indexOf('\n', end);
    end = newline === -1 ? text.length : newline + 1;
  }
  return text.slice(offset, end);
}

/** The length of the stretch from 0 on that `same` reports as equal, at most `limit`. */
function advance(limit: number, same: (at: number, size: number) => boolean): number {
  let at = 0;
  for (const size of STEPS) while (at + size <= limit && same(at, size)) at += size;
  return at;
}
