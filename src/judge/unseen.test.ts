import { expect, it } from 'vitest';
import { type Coverage, type LineRange, NOTHING, WHOLE } from '../model/coverage.ts';
import { unseenOf } from './unseen.ts';

const r = (from: number, to: number): LineRange => ({ from, to });
const lines = (...ranges: LineRange[]): Coverage => ({ kind: 'lines', ranges });

it.each<[string, Coverage, LineRange[], LineRange[]]>([
  ['whole leaves nothing', WHOLE, [r(1, 5)], []],
  ['nothing leaves all', NOTHING, [r(3, 5), r(1, 2)], [r(1, 5)]],
  ['nothing touched', NOTHING, [], []],
  ['inside', lines(r(1, 10)), [r(2, 3)], []],
  ['over both ends', lines(r(4, 6)), [r(2, 8)], [r(2, 3), r(7, 8)]],
  ['a gap across two touched ranges', lines(r(1, 2), r(9, 9)), [r(2, 4), r(6, 9)], [r(3, 4), r(6, 8)]],
  ['far behind what was seen', lines(r(1, 2)), [r(50, 51)], [r(50, 51)]],
  ['several gaps in one range', lines(r(2, 2), r(4, 4)), [r(1, 5)], [r(1, 1), r(3, 3), r(5, 5)]],
])('unseenOf: %s', (_what, coverage, touched, expected) => {
  expect(unseenOf(coverage, touched)).toEqual(expected);
});

it('agrees with line-by-line counting on every small case', () => {
  for (let seen = 0; seen < 64; seen++) {
    for (let wanted = 0; wanted < 64; wanted++) {
      const coverage: Coverage = { kind: 'lines', ranges: bits(seen) };
      const found = unseenOf(coverage, bits(wanted)).flatMap(({ from, to }) =>
        Array.from({ length: to - from + 1 }, (_, i) => from + i),
      );
      const expected = [1, 2, 3, 4, 5, 6].filter(
        (line) => wanted & (1 << (line - 1)) && !(seen & (1 << (line - 1))),
      );
      expect(found).toEqual(expected);
    }
  }
});

function bits(mask: number): LineRange[] {
  return [1, 2, 3, 4, 5, 6].filter((line) => mask & (1 << (line - 1))).map((line) => r(line, line));
}
