import { describe, expect, it } from 'vitest';
import { isSameView } from '../judge/join-views.ts';
import { NOTHING, WHOLE } from '../model/coverage.ts';
import type { Sighting } from '../model/sighting.ts';
import { NO_FLAGS } from '../model/sighting.ts';
import { SAME_MOMENT_MS } from './knowledge.ts';

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
