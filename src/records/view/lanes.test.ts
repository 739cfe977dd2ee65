import { describe, expect, it } from 'vitest';
import { durationWords, laneAxis } from './lanes.ts';

describe('the lanes', () => {
  it('give every entry the same room, and a pause of any length a fixed one', () => {
    const hour = 3_600_000;
    const { first, at, pauses } = laneAxis([0, 10, 9000, 9000 + hour, 9001 + hour, 9001 + 90 * hour], 1000);
    expect(first).toBe(0);
    expect(at).toEqual([0, 13, 26, 90, 103, 167]);
    expect(pauses).toEqual([
      { at: 58, ms: hour },
      { at: 135, ms: 89 * hour },
    ]);
  });

  it('show the newest entries, as many as fit', () => {
    const times = Array.from({ length: 1000 }, (_, i) => i * 1000);
    const { first, at } = laneAxis(times, 130);
    expect([first, at.length, at.at(-1)]).toEqual([989, 11, 130]);
    expect(laneAxis([], 130)).toEqual({ first: 0, at: [], pauses: [] });
  });

  it.each([
    [12_000, '12 s'],
    [150_000, '3 min'],
    [5 * 3_600_000, '5 h'],
    [50 * 3_600_000, '2 days'],
  ])('format a duration of %i ms as %s', (ms, words) => {
    expect(durationWords(ms)).toBe(words);
  });
});
