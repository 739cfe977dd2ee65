import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { carryLine, carryRanges } from './change.ts';
import { diffLines, type Hunk } from './diff.ts';
import { splitLines } from './lines.ts';

const lines = fc
  .array(fc.constantFrom('a\n', 'b\n', '\n', 'c\r\n', 'c\n', 'd', 'é\n'), { maxLength: 25 })
  .map((parts) => parts.join(''));
/** Pairs of texts that are mostly the same. */
const pair = fc
  .tuple(
    lines,
    fc.array(fc.tuple(fc.nat(30), fc.nat(2), fc.constantFrom('', 'x\n', 'a\n')), { maxLength: 4 }),
  )
  .map(([text, cuts]) => {
    const after = splitLines(text);
    for (const [at, count, put] of cuts) after.splice(at % (after.length + 1), count, put);
    return [text, after.join('')] as const;
  });
const anyPair = fc.oneof(pair, fc.tuple(lines, lines));

function apply(before: string, after: string, hunks: readonly Hunk[]): string {
  const rows = splitLines(before);
  const put = splitLines(after);
  const out: string[] = [];
  let at = 0;
  for (const hunk of hunks) {
    out.push(...rows.slice(at, hunk.beforeStart), ...put.slice(hunk.afterStart, hunk.afterEnd));
    at = hunk.beforeEnd;
  }
  return [...out, ...rows.slice(at)].join('');
}

/** Length of the longest common subsequence, by the textbook algorithm. */
function lcsLength(a: readonly string[], b: readonly string[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const item of a) {
    const next = [0];
    for (const [j, other] of b.entries())
      next.push(item === other ? row[j]! + 1 : Math.max(row[j + 1]!, next[j]!));
    row = next;
  }
  return row[b.length]!;
}

describe('diffLines', () => {
  it.each([
    ['nothing', 'a\nb\n', 'a\nb\n', []],
    ['a changed line', 'a\nb\nc\n', 'a\nX\nc\n', [[1, 2, 1, 2]]],
    ['a new line', 'a\nc\n', 'a\nb\nc\n', [[1, 1, 1, 2]]],
    ['a line that went', 'a\nb\nc\n', 'a\nc\n', [[1, 2, 1, 1]]],
    ['a final newline', 'a\nb', 'a\nb\n', [[1, 2, 1, 2]]],
    ['an ending', 'a\nb\n', 'a\r\nb\n', [[0, 1, 0, 1]]],
    ['everything from nothing', '', 'a\nb\n', [[0, 0, 0, 2]]],
    ['everything to nothing', 'a\nb\n', '', [[0, 2, 0, 0]]],
    [
      'two places',
      'a\nb\nc\nd\n',
      'X\nb\nc\nY\n',
      [
        [0, 1, 0, 1],
        [3, 4, 3, 4],
      ],
    ],
  ])('finds %s', (_what, before, after, expected) => {
    const hunks = expected.map(([beforeStart, beforeEnd, afterStart, afterEnd]) => ({
      beforeStart,
      beforeEnd,
      afterStart,
      afterEnd,
    }));
    expect(diffLines(before, after)).toEqual({ hunks, rough: false });
  });

  it('converts before to after with as few changed lines as possible, in text and in bytes', () => {
    fc.assert(
      fc.property(anyPair, ([before, after]) => {
        const diff = diffLines(before, after);
        expect(apply(before, after, diff.hunks)).toBe(after);
        const kept =
          splitLines(before).length - diff.hunks.reduce((sum, h) => sum + h.beforeEnd - h.beforeStart, 0);
        expect(kept).toBe(lcsLength(splitLines(before), splitLines(after)));
        expect(diffLines(new Uint8Array(Buffer.from(before)), new Uint8Array(Buffer.from(after)))).toEqual(
          diff,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('is rough but correct if an exact diff would cost too much', () => {
    fc.assert(
      fc.property(anyPair, fc.nat(20), ([before, after], maxCost) => {
        const diff = diffLines(before, after, { maxCost });
        if (diff.rough) expect(diff.hunks).toHaveLength(1);
        expect(apply(before, after, diff.hunks)).toBe(after);
      }),
    );
  });

  it('is rough on a long repetitive file and exact on a total rewrite', () => {
    const row = (i: number): string =>
      `${['{', '}', '  x', '', 'return'][(Math.imul(i, 2_654_435_761) >>> 16) % 5]}\n`;
    const rows = Array.from({ length: 40_000 }, (_, i) => row(i));
    expect(diffLines(rows.join(''), rows.toReversed().join('')).rough).toBe(true);
    const numbered = (mark: string): string =>
      Array.from({ length: 20_000 }, (_, i) => `${mark}${i}\n`).join('');
    expect(diffLines(numbered('a'), numbered('b')).rough).toBe(false);
  });

  it('finds one change in a file of several megabytes', () => {
    const rows = Array.from({ length: 100_000 }, (_, i) => `line number ${i} of many\n`);
    const before = rows.join('');
    const after = rows.with(70_000, 'other\n').join('');
    const hunk = { beforeStart: 70_000, beforeEnd: 70_001, afterStart: 70_000, afterEnd: 70_001 };
    expect(diffLines(before, after).hunks).toEqual([hunk]);
    expect(diffLines(Buffer.from(before), Buffer.from(after)).hunks).toEqual([hunk]);
  });
});

describe('carryRanges', () => {
  it.each([
    ['stay before a change', 'a\nb\nc\n', 'a\nb\nX\n', [[1, 2]], [[1, 2]]],
    ['move after an insertion', 'a\nb\n', 'X\na\nb\n', [[1, 2]], [[2, 3]]],
    [
      'part around new lines',
      'a\nb\n',
      'a\nX\nb\n',
      [[1, 2]],
      [
        [1, 1],
        [3, 3],
      ],
    ],
    ['close over lines that went', 'a\nb\nc\n', 'a\nc\n', [[1, 3]], [[1, 2]]],
    [
      'lose changed lines',
      'a\nb\nc\n',
      'a\nX\nc\n',
      [[1, 3]],
      [
        [1, 1],
        [3, 3],
      ],
    ],
    ['vanish with all their lines', 'a\nb\n', 'X\n', [[1, 2]], []],
  ])('%s', (_what, before, after, seen, expected) => {
    const ranges = (pairs: readonly (readonly number[])[]) =>
      pairs.map(([from, to]) => ({ from: from!, to: to! }));
    expect(carryRanges(ranges(seen), diffLines(before, after).hunks)).toEqual(ranges(expected));
  });

  it('maps exactly the lines that are unchanged', () => {
    const seen = fc.array(fc.tuple(fc.integer({ min: 1, max: 25 }), fc.nat(6)), { maxLength: 4 });
    fc.assert(
      fc.property(anyPair, seen, ([before, after], spots) => {
        const old = splitLines(before);
        const now = splitLines(after);
        const ranges = spots
          .map(([from, more]) => ({ from, to: Math.min(from + more, old.length) }))
          .filter((range) => range.from <= range.to);
        const seenLines = new Set(ranges.flatMap((r) => old.slice(r.from - 1, r.to)));
        const { hunks } = diffLines(before, after);
        const carried = carryRanges(ranges, hunks);
        for (const range of carried) {
          expect(range.to).toBeLessThanOrEqual(now.length);
          for (const line of now.slice(range.from - 1, range.to)) expect(seenLines).toContain(line);
        }
        const whole = carryRanges([{ from: 1, to: old.length }], hunks);
        const count = whole.reduce((sum, r) => sum + r.to - r.from + 1, 0);
        expect(count).toBe(lcsLength(old, now));
      }),
    );
  });
});

describe('carryLine', () => {
  it.each([
    ['moves with the lines around it', 'a\nb\nc\n', 'X\na\nb\nc\n', 2, 3],
    ['moves back over lines that went', 'a\nb\nc\nd\n', 'b\nc\nd\n', 2, 1],
    ['stays before a change further on', 'a\nb\nc\n', 'a\nb\nX\n', 1, 1],
    ['stays at the top', 'a\nb\nc\n', 'a\nb\nX\n', 0, 0],
    ['stays at the end', 'a\nb\nc\n', 'X\nb\nc\n', 3, 3],
    ['is lost when the line before it changed', 'a\nb\nc\n', 'a\nX\nc\n', 2, undefined],
    ['is lost when the line after it changed', 'a\nb\nc\n', 'a\nX\nc\n', 1, undefined],
    ['is lost when something stands there now', 'a\nb\n', 'a\nX\nb\n', 1, undefined],
    ['is lost at a top that is new', 'a\n', 'X\na\n', 0, undefined],
  ])('%s', (_what, before, after, line, expected) => {
    expect(carryLine(line, diffLines(before, after).hunks)).toBe(expected);
  });
});
