import { describe, expect, it } from 'vitest';
import { durationWords, laneAxis } from './lanes.ts';

describe('the lanes', () => {
  it('draw work to scale and cut idle time', () => {
    const { at, cuts } = laneAxis([0, 1000, 2000, 2000 + 3_600_000, 3_603_000]);
    expect(at[0]).toBe(0);
    expect(at[4]).toBe(1);
    expect(cuts).toHaveLength(1);
    expect(cuts[0]?.ms).toBe(3_600_000);
    expect(cuts[0]?.at).toBeGreaterThan(at[2] ?? 1);
    expect(cuts[0]?.at).toBeLessThan(at[3] ?? 0);
  });

  it.each([
    ['nothing', [], []],
    ['one entry', [5], [0]],
    ['entries of one moment, beside each other', [5, 5, 5], [0, 0.5, 1]],
  ])('place %s', (_what, times, places) => {
    expect([...laneAxis(times).at]).toEqual(places);
  });

  it.each([
    [1000, '1 s'],
    [120_000, '2 min'],
    [7_200_000, '2 h'],
    [172_800_000, '2 days'],
  ])('format %i ms as %s', (ms, words) => {
    expect(durationWords(ms)).toBe(words);
  });
});
