import { describe, expect, it } from 'vitest';
import { flags, sighting } from '../../test/support/judging.ts';
import { type Coverage, NOTHING, WHOLE } from '../model/coverage.ts';
import type { Stamp } from '../model/fingerprint.ts';
import type { Sighting } from '../model/sighting.ts';
import { afterView } from './join-views.ts';

const OTHER = { sha256: 'bb'.repeat(32), size: 100 };
const lines = (...pairs: [number, number][]): Coverage => ({
  kind: 'lines',
  ranges: pairs.map(([from, to]) => ({ from, to })),
});
const view = (coverage: Coverage, changes: Partial<Sighting> = {}): Sighting =>
  sighting({ coverage, ...changes });

describe('coverage', () => {
  it.each<[string, Sighting | undefined, Sighting, Coverage]>([
    ['is that of the first view', undefined, view(lines([1, 5])), lines([1, 5])],
    ['adds up for the same fingerprint', view(lines([1, 2])), view(lines([5, 6])), lines([1, 2], [5, 6])],
    ['of adjacent pages is one range', view(lines([1, 5])), view(lines([6, 8])), lines([1, 8])],
    ['of all pages is whole', view(lines([1, 5])), view(lines([6, 10])), WHOLE],
    ['that is whole stays whole', view(WHOLE), view(lines([1, 2])), WHOLE],
    [
      'of other bytes replaces the old one',
      view(WHOLE),
      view(lines([1, 2]), { fingerprint: OTHER }),
      lines([1, 2]),
    ],
    [
      'after compaction is that of the new view',
      view(NOTHING, { lost: 'compacted' }),
      view(lines([3, 4])),
      lines([3, 4]),
    ],
    [
      'after a tombstone is that of the new view',
      sighting({ tombstone: true }),
      view(lines([3, 4])),
      lines([3, 4]),
    ],
    ['is empty after a tombstone', view(WHOLE), sighting({ tombstone: true, coverage: NOTHING }), NOTHING],
    [
      'of a file whose end is unknown is never whole',
      view(lines([1, 5]), { totalLines: undefined }),
      view(lines([6, 9]), { totalLines: undefined }),
      lines([1, 9]),
    ],
    [
      'after an own edit is the one that the caller computed',
      view(lines([1, 5])),
      view(lines([1, 6]), { how: 'edit', fingerprint: OTHER }),
      lines([1, 6]),
    ],
    [
      'after an own edit of a partly seen file is never whole',
      view(lines([1, 5])),
      view(WHOLE, { how: 'edit', fingerprint: OTHER }),
      NOTHING,
    ],
    [
      'after an own edit of a wholly seen file is whole',
      view(WHOLE),
      view(WHOLE, { how: 'edit', fingerprint: OTHER }),
      WHOLE,
    ],
    [
      'after an own write is whole',
      view(lines([1, 5])),
      view(WHOLE, { how: 'write', fingerprint: OTHER }),
      WHOLE,
    ],
    [
      'of text is not changed by a description',
      view(lines([1, 2])),
      view(WHOLE, { flags: flags({ notText: true }) }),
      lines([1, 2]),
    ],
  ])('%s', (_rule, old, next, expected) => {
    expect(afterView(old, next).coverage).toEqual(expected);
  });
});

describe('flags', () => {
  const clamped = flags({ clamped: true });
  const redacted = flags({ redacted: true });
  it.each<[string, Sighting, Sighting, Partial<Sighting['flags']>]>([
    [
      'a view with cut lines sets the flag',
      view(lines([1, 5])),
      view(lines([6, 9]), { flags: clamped }),
      { clamped: true },
    ],
    [
      'a clean view of other lines does not clear the flag',
      view(lines([1, 5]), { flags: clamped }),
      view(lines([6, 9])),
      { clamped: true },
    ],
    [
      'a clean view of the same lines clears the flag',
      view(lines([3, 4]), { flags: clamped }),
      view(lines([1, 5])),
      { clamped: false },
    ],
    [
      'a clean view of some of the lines does not clear the flag',
      view(lines([1, 5]), { flags: clamped }),
      view(lines([2, 5])),
      { clamped: true },
    ],
    ['a clean whole view clears the flag', view(WHOLE, { flags: clamped }), view(WHOLE), { clamped: false }],
    [
      'a view with another flag clears none',
      view(WHOLE, { flags: clamped }),
      view(WHOLE, { flags: flags({ redacted: true }) }),
      { clamped: true, redacted: true },
    ],
    [
      'a cut view of lines that were seen uncut does not set the flag',
      view(WHOLE),
      view(lines([3, 4]), { flags: clamped }),
      { clamped: false },
    ],
    [
      'a masked view keeps its flag in the same way',
      view(lines([1, 5]), { flags: redacted }),
      view(lines([6, 9])),
      { redacted: true },
    ],
    [
      'a clean whole view clears the flag for masked text',
      view(WHOLE, { flags: redacted }),
      view(WHOLE),
      { redacted: false },
    ],
    [
      'two cut views keep the flag',
      view(WHOLE, { flags: clamped }),
      view(WHOLE, { flags: clamped }),
      { clamped: true },
    ],
    [
      'other bytes bring their own flags',
      view(WHOLE, { flags: clamped }),
      view(WHOLE, { fingerprint: OTHER }),
      { clamped: false },
    ],
    [
      'an own edit clears no flag',
      view(WHOLE, { flags: flags({ clamped: true, redacted: true }) }),
      view(WHOLE, { how: 'edit', fingerprint: OTHER }),
      { clamped: true, redacted: true },
    ],
    [
      'an own write clears all flags',
      view(WHOLE, { flags: redacted }),
      view(WHOLE, { how: 'write', fingerprint: OTHER }),
      { redacted: false },
    ],
    [
      'a view of text after a description clears the flag',
      view(NOTHING, { flags: flags({ notText: true }) }),
      view(WHOLE),
      { notText: false },
    ],
    [
      'a description after a view of text does not set the flag',
      view(WHOLE),
      view(NOTHING, { flags: flags({ notText: true }) }),
      { notText: false },
    ],
    [
      'a confirmed view clears the flag for unverified views',
      view(WHOLE, { flags: flags({ unverified: true }) }),
      view(WHOLE),
      { unverified: false },
    ],
  ])('%s', (_rule, old, next, expected) => {
    expect(afterView(old, next).flags).toMatchObject(expected);
  });
});

describe('refused content', () => {
  const refused = { refusedContent: 'h' };
  it.each<[string, Sighting, Sighting, string | undefined]>([
    [
      'is set by the diff of a refusal',
      view(WHOLE),
      view(WHOLE, { how: 'cure', fingerprint: OTHER, ...refused }),
      'h',
    ],
    ['is kept after a page was read again', view(WHOLE, refused), view(lines([1, 5])), 'h'],
    ['is kept after a search hit', view(WHOLE, refused), view(lines([1, 1]), { how: 'output' }), 'h'],
    ['is cleared by a full read', view(WHOLE, refused), view(WHOLE), undefined],
    [
      'is cleared with other bytes',
      view(WHOLE, refused),
      view(lines([1, 5]), { fingerprint: OTHER }),
      undefined,
    ],
    [
      'is cleared by an own edit',
      view(WHOLE, refused),
      view(WHOLE, { how: 'edit', fingerprint: OTHER }),
      undefined,
    ],
  ])('%s', (_rule, old, next, expected) => {
    expect(afterView(old, next).refusedContent).toBe(expected);
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
    ['add up for the same stamp', page(1, 5), page(6, 9), lines([1, 9])],
    [
      'add up for different stamps',
      page(1, 5),
      page(6, 9, { stamp: { ...stamp, mtimeNs: 6n } }),
      lines([1, 9]),
    ],
    ['add up after a racy stamp', page(1, 5, { racy: true }), page(6, 9), lines([1, 9])],
    [
      'never become whole without a fingerprint',
      page(1, 5, { racy: true }),
      page(6, 9, { totalLines: 9 }),
      lines([1, 9]),
    ],
    ['are replaced by a page that contains them', page(2, 5, { racy: true }), page(1, 9), lines([1, 9])],
  ])('%s', (_rule, old, next, expected) => {
    expect(afterView(old, next).coverage).toEqual(expected);
  });

  it('keep the fingerprint of an earlier whole view', () => {
    expect(afterView(view(WHOLE, { stamp }), page(1, 2))).toMatchObject({
      fingerprint: sighting().fingerprint,
      coverage: WHOLE,
    });
  });
});

it('the time and the stamp are those of the latest view', () => {
  const stamp: Stamp = { dev: 1n, ino: 2n, size: 9n, mtimeNs: 5n, ctimeNs: 5n };
  const old = view(lines([1, 2]), { stamp, racy: true, atMs: 1 });
  expect(afterView(old, view(lines([4, 5]), { atMs: 2 }))).toMatchObject({ stamp, racy: true, atMs: 2 });
  const newer = { ...stamp, ctimeNs: 7n };
  expect(afterView(old, view(lines([4, 5]), { stamp: newer, atMs: 2 }))).toMatchObject({
    stamp: newer,
    racy: false,
  });
});

it("after compaction, the session's own edit does not restore coverage", () => {
  const old = view(NOTHING, { lost: 'compacted' });
  expect(afterView(old, view(NOTHING, { how: 'edit', fingerprint: OTHER }))).toMatchObject({
    coverage: NOTHING,
    lost: 'compacted',
    fingerprint: OTHER,
  });
  expect(afterView(old, view(lines([1, 2]))).lost).toBeUndefined();
});
