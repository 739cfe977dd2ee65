import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Coverage, covers, mergeRanges, NOTHING, WHOLE } from '../model/coverage.ts';
import { carryCoverage, type EditedLines } from './change.ts';

const lines = (...pairs: [number, number][]): Coverage => ({
  kind: 'lines',
  ranges: pairs.map(([from, to]) => ({ from, to })),
});
interface LineChange {
  readonly from: number;
  readonly removed: number;
  readonly added: number;
}

const change = (from: number, removed: number, added: number): LineChange => ({ from, removed, added });

/** The changes with their lines in the new text. */
function located(changes: readonly LineChange[]): EditedLines[] {
  let shift = 0;
  return changes.map(({ from, removed, added }) => {
    const [beforeStart, afterStart] = [from - 1, from - 1 + shift];
    shift += added - removed;
    return { beforeStart, beforeEnd: beforeStart + removed, afterStart, afterEnd: afterStart + added };
  });
}

describe('carryCoverage', () => {
  it.each<[string, Coverage, LineChange[], 'seen' | 'unseen', Coverage]>([
    ['whole stays whole after an own change', WHOLE, [change(3, 1, 2)], 'seen', WHOLE],
    ['whole stays whole when lines only went', WHOLE, [change(3, 2, 0)], 'unseen', WHOLE],
    ['whole has a gap where unseen lines came', WHOLE, [change(3, 1, 2)], 'unseen', lines([1, 2], [5, 11])],
    ['nothing stays nothing', NOTHING, [change(1, 1, 5)], 'seen', NOTHING],
    ['lines after a change move', lines([8, 10]), [change(2, 1, 4)], 'seen', lines([2, 5], [11, 13])],
    ['lines before it stay', lines([1, 3]), [change(5, 1, 0)], 'seen', lines([1, 3])],
    [
      'a change inside a range splits it',
      lines([1, 10]),
      [change(4, 2, 3)],
      'unseen',
      lines([1, 3], [7, 11]),
    ],
    ['an own change inside a range leaves no gap', lines([1, 9]), [change(4, 2, 3)], 'seen', lines([1, 10])],
    ['removed lines go', lines([4, 5]), [change(4, 2, 0)], 'seen', lines()],
    ['an insert at the top', lines([1, 2]), [change(1, 0, 2)], 'seen', lines([1, 4])],
    ['an append', lines([1, 2]), [change(11, 0, 1)], 'seen', lines([1, 2], [11, 11])],
    ['a partial view stays partial', lines([1, 5]), [change(6, 5, 1)], 'seen', lines([1, 6])],
  ])('%s', (_rule, coverage, changes, addedAre, expected) => {
    expect(carryCoverage(coverage, { changes: located(changes), addedAre, totalLines: 10 })).toEqual(
      expected,
    );
  });

  it('equals moving each line separately', () => {
    const total = 12;
    const step = fc.record({ gap: fc.nat(3), removed: fc.nat(3), added: fc.nat(3) });
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: total })), fc.array(step), (seen, steps) => {
        const changes = layOut(steps, total);
        const ranges = mergeRanges(seen.map((line) => ({ from: line, to: line })));
        if (ranges.length === 0) return;
        const carried = carryCoverage(
          { kind: 'lines', ranges },
          { changes: located(changes), addedAre: 'seen', totalLines: total },
        );
        const expected = moveLines(new Set(seen), changes, total);
        expect(expected.map((_, i) => covers(carried, { from: i + 1, to: i + 1 }))).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });
});

function layOut(
  steps: readonly { gap: number; removed: number; added: number }[],
  total: number,
): LineChange[] {
  const changes: LineChange[] = [];
  let at = 1;
  for (const { gap, removed, added } of steps) {
    const from = at + gap;
    if (from + removed > total + 1) break;
    changes.push({ from, removed, added });
    at = from + removed + 1;
  }
  return changes;
}

/** Returns for each line of the new text whether it counts as seen. Added lines do. */
function moveLines(seen: ReadonlySet<number>, changes: readonly LineChange[], total: number): boolean[] {
  const result: boolean[] = [];
  let at = 1;
  for (const { from, removed, added } of changes) {
    for (; at < from; at++) result.push(seen.has(at));
    for (let i = 0; i < added; i++) result.push(true);
    at += removed;
  }
  for (; at <= total; at++) result.push(seen.has(at));
  return result;
}
