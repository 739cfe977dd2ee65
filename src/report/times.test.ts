import { expect, it } from 'vitest';
import { exactTime, timeAgo } from './times.ts';

it.each([
  [0, 'just now'],
  [-5000, 'just now'],
  [1999, 'just now'],
  [2000, '2s ago'],
  [59_999, '59s ago'],
  [60_000, '1m ago'],
  [3_599_999, '59m ago'],
  [3_600_000, '1h ago'],
  [86_400_000, '1d ago'],
  [400 * 86_400_000, '400d ago'],
  [Number.NaN, 'just now'],
  [Number.POSITIVE_INFINITY, 'just now'],
])('%d ms before now is %s', (age, expected) => {
  expect(timeAgo(1e12 - age, 1e12)).toBe(expected);
});

it('formats a moment in UTC with seconds', () => {
  expect(exactTime(Date.UTC(2026, 0, 2, 3, 4, 5, 678))).toBe('2026-01-02T03:04:05Z');
  expect([Number.NaN, 1e300].map(exactTime)).toEqual(['', '']);
});
