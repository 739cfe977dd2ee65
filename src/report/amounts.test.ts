import { expect, it } from 'vitest';
import type { LineRange } from '../model/coverage.ts';
import { byteSize, formatRanges, lineWords } from './amounts.ts';
import { clip, pathText, phrase, quotation } from './bounded.ts';

it.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KB'],
  [1536, '1.5 KB'],
  [10 * 1024, '10 KB'],
  [999 * 1024, '999 KB'],
  [1023 * 1024, '1.0 MB'],
  [8 * 1024 * 1024, '8.0 MB'],
  [5 * 1024 ** 5, '5120 TB'],
])('%d bytes are %s', (bytes, expected) => {
  expect(byteSize(bytes)).toBe(expected);
});

const r = (from: number, to: number): LineRange => ({ from, to });

it.each<[LineRange[], string, string]>([
  [[r(7, 7)], '7', 'line 7'],
  [[r(1, 20)], '1-20', 'lines 1-20'],
  [[r(1, 2), r(4, 4)], '1-2, 4', 'lines 1-2, 4'],
  [
    Array.from({ length: 14 }, (_, i) => r(i * 2, i * 2)),
    '0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 2 more',
    'lines 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 2 more',
  ],
])('ranges %j', (ranges, expected, words) => {
  expect(formatRanges(ranges)).toBe(expected);
  expect(lineWords(ranges)).toBe(words);
});

it.each([
  ['src/a b.ts', 'src/a b.ts'],
  ['ünï/çödé.ts', 'ünï/çödé.ts'],
  ['', '""'],
  [' a', '" a"'],
  ['a"b', '"a\\"b"'],
  ['a\nb', '"a\\nb"'],
  ['a\u202eb', '"a\\u202eb"'],
  ['a\u{e0001}b', '"a\\udb40\\udc01b"'],
  ['a\ud800b', '"a\\ud800b"'],
])('a path %j shows as %s', (path, expected) => {
  expect(pathText(path)).toBe(expected);
});

it('texts are cut between characters, with a mark', () => {
  expect(clip('abc', 3)).toBe('abc');
  expect(clip('abcd', 3)).toBe('ab…');
  expect(clip('ab😀d', 4)).toBe('ab…');
  expect(phrase('a\r\n\tb\u2028c ')).toBe('a b c');
  expect(quotation('q'.repeat(20_005))).toMatch(/q\n\[cut: 5 more characters\]$/);
  expect(pathText('p'.repeat(1000))).toHaveLength(299);
});
