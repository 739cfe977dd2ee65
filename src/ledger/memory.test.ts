import { describe, expect, it } from 'vitest';
import { sighting } from '../../test/support/judging.ts';
import type { Sighting } from '../model/sighting.ts';
import { evict, stubOf, tombstoneOf } from './memory.ts';

const seen = (key: string, atMs: number): Sighting => sighting({ key, atMs });
const keys = (sightings: readonly Sighting[]): string[] => sightings.map(({ key }) => key);

describe('evict', () => {
  it('takes the oldest, and a tenth more than it must', () => {
    const all = [seen('c', 3), seen('a', 1), seen('b', 2)].concat(
      Array.from({ length: 17 }, (_, i) => seen(`f${i}`, 9)),
    );
    const { stubs, live } = evict(all, { max: 20, keep: new Map(), added: 1 });
    expect(keys(stubs)).toEqual(['a', 'b', 'c']);
    expect(live).toBe(18);
  });

  it('never takes what is being written', () => {
    const all = [seen('a', 1), seen('b', 2), seen('c', 3)];
    const { stubs } = evict(all, { max: 3, keep: new Map([['a', seen('a', 9)]]), added: 1 });
    expect(keys(stubs)).toEqual(['b', 'c']);
  });

  it('keeps as many reasons as sightings, the newest', () => {
    const all = [
      stubOf(seen('old', 1), 'evicted'),
      tombstoneOf('older', 0),
      stubOf(seen('new', 5), 'evicted'),
      seen('a', 6),
      seen('b', 7),
    ];
    const { stubs, forgotten, live } = evict(all, { max: 2, keep: new Map(), added: 1 });
    expect(keys(stubs)).toEqual(['a', 'b']);
    expect(forgotten).toEqual(['older', 'old', 'new']);
    expect(live).toBe(1);
  });
});
