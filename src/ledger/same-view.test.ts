import { describe, expect, it } from 'vitest';
import { NOTHING, WHOLE } from '../model/coverage.ts';
import { NO_FLAGS, type Sighting } from '../model/sighting.ts';
import { isSameView, SAME_MOMENT_MS } from './same-view.ts';

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

describe('a view is the same as the last one', () => {
  it.each<[string, Partial<Sighting>, boolean]>([
    ['a moment later', { atMs: 10_999 }, true],
    ['a second later: its time counts', { atMs: 11_000 }, false],
    ['other bytes', { fingerprint: { sha256: 'b'.repeat(64), size: 3 } }, false],
    ['the same bytes in another file', { stamp: { ...STAMP, ino: 9n } }, false],
    ['no longer racy', { racy: true }, false],
    ['some lines only', { coverage: { kind: 'lines', ranges: [{ from: 1, to: 1 }] } }, false],
    ['nothing of it', { coverage: NOTHING }, false],
    ['cut lines', { flags: { ...NO_FLAGS, clamped: true } }, false],
    ['a page without a fingerprint', { fingerprint: undefined }, false],
    ['written, not read', { how: 'write' }, false],
    ['a content was refused meanwhile', { refusedContent: 'c' }, false],
  ])('%s', (_, change, same) => {
    expect(isSameView(VIEW, { ...VIEW, ...change }, SAME_MOMENT_MS)).toBe(same);
  });

  it('nothing was known before', () => {
    expect(isSameView(undefined, VIEW, SAME_MOMENT_MS)).toBe(false);
  });
});
