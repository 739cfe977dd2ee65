import { describe, expect, it } from 'vitest';
import { sighting } from '../../test/support/judging.ts';
import { NOTHING, WHOLE } from '../model/coverage.ts';
import type { Sighting } from '../model/sighting.ts';
import { NO_FLAGS } from '../model/sighting.ts';
import { SAME_MOMENT_MS } from './ledger.ts';
import { evict, isSameView, stubOf, tombstoneOf } from './memory.ts';

const seen = (key: string, atMs: number): Sighting => sighting({ key, atMs });
const keys = (sightings: readonly Sighting[]): string[] => sightings.map(({ key }) => key);

describe('evict', () => {
  it('evicts the oldest sightings, a tenth more than necessary', () => {
    const all = [seen('c', 3), seen('a', 1), seen('b', 2)].concat(
      Array.from({ length: 17 }, (_, i) => seen(`f${i}`, 9)),
    );
    const { stubs, live } = evict(all, { max: 20, keep: new Map(), added: 1 });
    expect(keys(stubs)).toEqual(['a', 'b', 'c']);
    expect(live).toBe(18);
  });

  it('never evicts sightings that are being written', () => {
    const all = [seen('a', 1), seen('b', 2), seen('c', 3)];
    const { stubs } = evict(all, { max: 3, keep: new Map([['a', seen('a', 9)]]), added: 1 });
    expect(keys(stubs)).toEqual(['b', 'c']);
  });

  it('keeps as many stubs as sightings, the newest ones', () => {
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

const STAMP = { dev: 1n, ino: 2n, size: 3n, mtimeNs: 4n, ctimeNs: 5n };
const VIEW: Sighting = {
  key: '/w/a',
  fingerprint: { sha256: 'a'.repeat(64), size: 3 },
  stamp: STAMP,
  racy: false,
  coverage: WHOLE,
  totalLines: 1,
  flags: NO_FLAGS,
  how: 'read',
  atMs: 10_000,
};

describe('a view repeats the last one only if nothing but a moment has passed:', () => {
  it.each<[string, Partial<Sighting>, boolean]>([
    ['a moment later', { atMs: 10_999 }, true],
    ['a second later', { atMs: 11_000 }, false],
    ['other bytes', { fingerprint: { sha256: 'b'.repeat(64), size: 3 } }, false],
    ['the same bytes in another file', { stamp: { ...STAMP, ino: 9n } }, false],
    ['a racy stamp', { racy: true }, false],
    ['some lines only', { coverage: { kind: 'lines', ranges: [{ from: 1, to: 1 }] } }, false],
    ['no lines', { coverage: NOTHING }, false],
    ['cut lines', { flags: { ...NO_FLAGS, clamped: true } }, false],
    ['a page without a fingerprint', { fingerprint: undefined }, false],
    ['a write instead of a read', { how: 'write' }, false],
    ['refused content in between', { refusedContent: 'c' }, false],
  ])('%s', (_, change, same) => {
    expect(isSameView(VIEW, { ...VIEW, ...change }, SAME_MOMENT_MS)).toBe(same);
  });

  it('no earlier view', () => {
    expect(isSameView(undefined, VIEW, SAME_MOMENT_MS)).toBe(false);
  });
});
