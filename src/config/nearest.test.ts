import { expect, it } from 'vitest';
import { nearest } from './nearest.ts';

const NAMES = ['staleness', 'partial', 'ttlMs', 'bypass'];

it.each([
  ['stalenes', 'staleness'],
  ['STALENESS', 'staleness'],
  ['ttl', 'ttlMs'],
  ['by-pass', 'bypass'],
  ['colour', undefined],
  ['max_partial', 'partial'],
  ['', undefined],
  ['x'.repeat(10_000), undefined],
])('nearest(%j) is %j', (word, expected) => {
  expect(nearest(word, NAMES)).toBe(expected);
});
