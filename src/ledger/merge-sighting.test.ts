import { describe, expect, it } from 'vitest';
import { flags, sighting } from '../../test/support/judging.ts';
import { type Coverage, NOTHING, WHOLE } from '../model/coverage.ts';
import type { Stamp } from '../model/fingerprint.ts';
import type { Sighting } from '../model/sighting.ts';
import { mergeSighting } from './merge-sighting.ts';

const OTHER = { sha256: 'bb'.repeat(32), size: 100 };
const lines = (...pairs: [number, number][]): Coverage => ({
  kind: 'lines',
  ranges: pairs.map(([from, to]) => ({ from, to })),
});
const view = (coverage: Coverage, changes: Partial<Sighting> = {}): Sighting =>
  sighting({ coverage, ...changes });

describe('coverage', () => {
  it.each<[string, Sighting | undefined, Sighting, Coverage]>([
    ['begins with the first view', undefined, view(lines([1, 5])), lines([1, 5])],
    ['adds up at one fingerprint', view(lines([1, 2])), view(lines([5, 6])), lines([1, 2], [5, 6])],
    ['of touching pages is one range', view(lines([1, 5])), view(lines([6, 8])), lines([1, 8])],
    ['of all pages is the whole', view(lines([1, 5])), view(lines([6, 10])), WHOLE],
    ['whole stays whole', view(WHOLE), view(lines([1, 2])), WHOLE],
    ['of other bytes replaces', view(WHOLE), view(lines([1, 2]), { fingerprint: OTHER }), lines([1, 2])],
    [
      'after compaction begins anew',
      view(NOTHING, { lost: 'compacted' }),
      view(lines([3, 4])),
      lines([3, 4]),
    ],
    ['after a tombstone begins anew', sighting({ tombstone: true }), view(lines([3, 4])), lines([3, 4])],
    ['ends with a tombstone', view(WHOLE), sighting({ tombstone: true, coverage: NOTHING }), NOTHING],
    [
      'of a file whose end is unknown is never whole',
      view(lines([1, 5]), { totalLines: undefined }),
      view(lines([6, 9]), { totalLines: undefined }),
      lines([1, 9]),
    ],
    [
      'of an own edit is what the caller carried over',
      view(lines([1, 5])),
      view(lines([1, 6]), { how: 'edit', fingerprint: OTHER }),
      lines([1, 6]),
    ],
    [
      'of an own edit never becomes the whole of a partial view',
      view(lines([1, 5])),
      view(WHOLE, { how: 'edit', fingerprint: OTHER }),
      NOTHING,
    ],
    [
      'of an own edit stays whole after a whole view',
      view(WHOLE),
      view(WHOLE, { how: 'edit', fingerprint: OTHER }),
      WHOLE,
    ],
    [
      'of an own write is whole after any view',
      view(lines([1, 5])),
      view(WHOLE, { how: 'write', fingerprint: OTHER }),
      WHOLE,
    ],
    [
      'of a description beside text is the text’s',
      view(lines([1, 2])),
      view(WHOLE, { flags: flags({ notText: true }) }),
      lines([1, 2]),
    ],
  ])('%s', (_rule, old, next, expected) => {
    expect(mergeSighting(old, next).coverage).toEqual(expected);
  });
});

describe('flags', () => {
  const clamped = flags({ clamped: true });
  const redacted = flags({ redacted: true });
  it.each<[string, Sighting, Sighting, Partial<Sighting['flags']>]>([
    ['a cut view taints', view(lines([1, 5])), view(lines([6, 9]), { flags: clamped }), { clamped: true }],
    [
      'a clean view of other lines does not heal',
      view(lines([1, 5]), { flags: clamped }),
      view(lines([6, 9])),
      { clamped: true },
    ],
    [
      'a clean view of the same lines heals',
      view(lines([3, 4]), { flags: clamped }),
      view(lines([1, 5])),
      { clamped: false },
    ],
    [
      'a clean view of some of them does not',
      view(lines([1, 5]), { flags: clamped }),
      view(lines([2, 5])),
      { clamped: true },
    ],
    ['a clean whole view heals', view(WHOLE, { flags: clamped }), view(WHOLE), { clamped: false }],
    [
      'lines seen whole before are not tainted by a cut view',
      view(WHOLE),
      view(lines([3, 4]), { flags: clamped }),
      { clamped: false },
    ],
    [
      'blanks taint the same way',
      view(lines([1, 5]), { flags: redacted }),
      view(lines([6, 9])),
      { redacted: true },
    ],
    ['and are healed the same way', view(WHOLE, { flags: redacted }), view(WHOLE), { redacted: false }],
    ['twice cut is cut', view(WHOLE, { flags: clamped }), view(WHOLE, { flags: clamped }), { clamped: true }],
    [
      'other bytes bring their own flags',
      view(WHOLE, { flags: clamped }),
      view(WHOLE, { fingerprint: OTHER }),
      { clamped: false },
    ],
    [
      'an own edit heals nothing',
      view(WHOLE, { flags: flags({ clamped: true, redacted: true }) }),
      view(WHOLE, { how: 'edit', fingerprint: OTHER }),
      { clamped: true, redacted: true },
    ],
    [
      'an own write heals all',
      view(WHOLE, { flags: redacted }),
      view(WHOLE, { how: 'write', fingerprint: OTHER }),
      { redacted: false },
    ],
    [
      'text after a description is text',
      view(NOTHING, { flags: flags({ notText: true }) }),
      view(WHOLE),
      { notText: false },
    ],
    [
      'a description after text is still text',
      view(WHOLE),
      view(NOTHING, { flags: flags({ notText: true }) }),
      { notText: false },
    ],
    [
      'a confirmed view confirms',
      view(WHOLE, { flags: flags({ unverified: true }) }),
      view(WHOLE),
      { unverified: false },
    ],
  ])('%s', (_rule, old, next, expected) => {
    expect(mergeSighting(old, next).flags).toMatchObject(expected);
  });
});

describe('refused content', () => {
  const refused = { refusedContent: 'h' };
  it.each<[string, Sighting, Sighting, string | undefined]>([
    ['comes with the cure', view(WHOLE), view(WHOLE, { how: 'cure', fingerprint: OTHER, ...refused }), 'h'],
    ['survives a page read again', view(WHOLE, refused), view(lines([1, 5])), 'h'],
    ['survives a search hit', view(WHOLE, refused), view(lines([1, 1]), { how: 'search' }), 'h'],
    ['is forgiven by a full read', view(WHOLE, refused), view(WHOLE), undefined],
    [
      'is forgotten with its bytes',
      view(WHOLE, refused),
      view(lines([1, 5]), { fingerprint: OTHER }),
      undefined,
    ],
    [
      'is forgotten by an own edit',
      view(WHOLE, refused),
      view(WHOLE, { how: 'edit', fingerprint: OTHER }),
      undefined,
    ],
  ])('%s', (_rule, old, next, expected) => {
    expect(mergeSighting(old, next).refusedContent).toBe(expected);
  });
});

describe('pages of a huge file', () => {
  const stamp: Stamp = { dev: 1n, ino: 2n, size: 9n, mtimeNs: 5n, ctimeNs: 5n };
  const page = (from: number, to: number, changes: Partial<Sighting> = {}): Sighting =>
    view(lines([from, to]), {
      fingerprint: undefined,
      stamp,
      totalLines: undefined,
      pages: [{ from, to, sha256: 'p' }],
      ...changes,
    });

  it.each<[string, Sighting, Sighting, Coverage]>([
    ['add up at one stamp', page(1, 5), page(6, 9), lines([1, 9])],
    ['add up at another', page(1, 5), page(6, 9, { stamp: { ...stamp, mtimeNs: 6n } }), lines([1, 9])],
    ['add up after a racy stamp', page(1, 5, { racy: true }), page(6, 9), lines([1, 9])],
    [
      'never become the whole without one fingerprint',
      page(1, 5, { racy: true }),
      page(6, 9, { totalLines: 9 }),
      lines([1, 9]),
    ],
    ['are replaced by a page that holds them', page(2, 5, { racy: true }), page(1, 9), lines([1, 9])],
  ])('%s', (_rule, old, next, expected) => {
    expect(mergeSighting(old, next).coverage).toEqual(expected);
  });

  it('keep the fingerprint that a whole view had found', () => {
    expect(mergeSighting(view(WHOLE, { stamp }), page(1, 2))).toMatchObject({
      fingerprint: sighting().fingerprint,
      coverage: WHOLE,
    });
  });
});

it('the time and the stamp are those of the latest view', () => {
  const stamp: Stamp = { dev: 1n, ino: 2n, size: 9n, mtimeNs: 5n, ctimeNs: 5n };
  const old = view(lines([1, 2]), { stamp, racy: true, atMs: 1 });
  expect(mergeSighting(old, view(lines([4, 5]), { atMs: 2 }))).toMatchObject({ stamp, racy: true, atMs: 2 });
  const newer = { ...stamp, ctimeNs: 7n };
  expect(mergeSighting(old, view(lines([4, 5]), { stamp: newer, atMs: 2 }))).toMatchObject({
    stamp: newer,
    racy: false,
  });
});

it('after compaction an own edit is still out of context', () => {
  const old = view(NOTHING, { lost: 'compacted' });
  expect(mergeSighting(old, view(NOTHING, { how: 'edit', fingerprint: OTHER }))).toMatchObject({
    coverage: NOTHING,
    lost: 'compacted',
    fingerprint: OTHER,
  });
  expect(mergeSighting(old, view(lines([1, 2]))).lost).toBeUndefined();
});
