import { expect, it } from 'vitest';
import { nearestName } from './nearest-name.ts';

const NAMES = ['staleness', 'partial', 'ttlMs', 'bypass'];

it.each([
  ['stalenes', 'staleness'],
  ['STALENESS', 'staleness'],
  ['ttl', 'ttlMs'],
  ['by-pass', 'bypass'],
  ['colour', undefined],
  ['max_partial', 'partial'],
  ['', undefined],
  ['bits', undefined],
  ['tlMs', 'ttlMs'],
  ['x'.repeat(10_000), undefined],
])('nearest(%j) is %j', (word, expected) => {
  expect(nearestName(word, NAMES)).toBe(expected);
});
