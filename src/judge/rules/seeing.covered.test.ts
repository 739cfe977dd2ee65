import { describe, expect, it } from 'vitest';
import { FILE, facts, flags, policy, SEEN_AT, says, sighting } from '../../../test/support/judging.ts';
import { type Coverage, type LineRange, NOTHING, WHOLE } from '../../model/coverage.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Policy } from '../../model/policy.ts';
import type { SightingFlags } from '../../model/sighting.ts';
import type { Facts, JudgedAction } from '../facts.ts';
import { covered, unredacted, unseenOf } from './seeing.ts';

const HEAD: Coverage = { kind: 'lines', ranges: [{ from: 1, to: 4 }] };
const view = (coverage: Coverage, flag: Partial<SightingFlags> = {}): Partial<Facts> => ({
  sighting: sighting({ coverage, flags: flags(flag) }),
});

const LARGE = { ...FILE, sizeBytes: LIMITS.maxEditBytes + 1 };
const GONE: Partial<Facts> = { sighting: sighting({ coverage: NOTHING, lost: 'compacted' }) };

describe('unredacted', () => {
  it.each<[JudgedAction, string, Partial<SightingFlags>, Partial<Policy>, string]>([
    ['overwrite', 'of redacted text', { redacted: true }, {}, 'REDACTED_READ'],
    [
      'overwrite',
      'of redacted text, if any view is enough',
      { redacted: true },
      { overwrite: 'any' },
      'REDACTED_READ',
    ],
    [
      'overwrite',
      'of redacted text, if no view is needed',
      { redacted: true },
      { seen: 'optional' },
      'REDACTED_READ',
    ],
    ['overwrite', 'of plain text', {}, {}, 'pass'],
    ['edit', 'beside redacted text', { redacted: true }, {}, 'pass'],
  ])('judges %s %s', (action, _what, flag, given, expected) => {
    expect(says(unredacted, facts({ action, ...view(WHOLE, flag) }), policy(given))).toBe(expected);
  });
});

describe('covered', () => {
  it.each<[JudgedAction, string, Partial<Facts>, Partial<Policy>, string]>([
    ['overwrite', 'of a file seen whole', view(WHOLE), {}, 'pass'],
    ['overwrite', 'of a partly seen file', view(HEAD), {}, 'PARTIALLY_READ'],
    [
      'overwrite',
      'of a partly seen file, if any sighting is enough',
      view(HEAD),
      { overwrite: 'any' },
      'pass',
    ],
    ['overwrite', 'of cut lines', view(WHOLE, { clamped: true }), {}, 'PARTIALLY_READ'],
    ['overwrite', 'of a described binary', view(NOTHING, { notText: true }), {}, 'NOT_TEXT'],
    [
      'overwrite',
      'of a described binary by a moved file',
      { ...view(NOTHING, { notText: true }), contentKind: 'file' },
      {},
      'pass',
    ],
    ['delete', 'of a file seen whole', view(WHOLE), {}, 'pass'],
    ['delete', 'of a partly seen file', view(HEAD), {}, 'PARTIALLY_READ'],
    ['delete', 'of a described binary', view(NOTHING, { notText: true }), {}, 'pass'],
    ['delete', 'of cut lines, because an undo can restore them', view(WHOLE, { clamped: true }), {}, 'pass'],
    [
      'delete',
      'of a partly seen file that is too large to load',
      { ...view(HEAD), target: LARGE },
      {},
      'pass',
    ],
    [
      'delete',
      'of a file too large to load, after compaction',
      { ...GONE, target: LARGE },
      {},
      'PARTIALLY_READ',
    ],
    ['delete', 'of a partly seen file, if any sighting is enough', view(HEAD), { overwrite: 'any' }, 'pass'],
    ['edit', 'in seen lines', { ...view(HEAD), touched: [{ from: 2, to: 3 }] }, { partial: 'lines' }, 'pass'],
    ['edit', 'in unseen lines', { ...view(HEAD), touched: [{ from: 4, to: 5 }] }, {}, 'unseen-lines'],
    [
      'edit',
      'in unseen lines, under `partial: lines`',
      { ...view(HEAD), touched: [{ from: 4, to: 5 }] },
      { partial: 'lines' },
      'PARTIALLY_READ',
    ],
    ['edit', 'before the touched lines are known', view(HEAD), { partial: 'lines' }, 'pass'],
    ['edit', 'of a described notebook', view(NOTHING, { notText: true }), {}, 'NOT_TEXT'],
    ['edit', 'of redacted text, by its anchor', view(WHOLE, { redacted: true }), {}, 'pass'],
    [
      'edit',
      'in a file that changed: the gate maps the lines first',
      { ...view(HEAD), freshness: 'changed', touched: [{ from: 9, to: 9 }] },
      { partial: 'lines' },
      'pass',
    ],
    [
      'edit',
      'after compaction, with an exact anchor',
      { ...GONE, touched: [{ from: 2, to: 2 }] },
      {},
      'pass',
    ],
    [
      'edit',
      'after compaction, under `partial: lines`',
      { ...GONE, touched: [{ from: 2, to: 2 }] },
      { partial: 'lines' },
      'NOT_READ',
    ],
    ['insert', 'between seen lines', { ...view(HEAD), touched: [{ from: 3, to: 4 }] }, {}, 'pass'],
    [
      'insert',
      'beside an unseen line',
      { ...view(HEAD), touched: [{ from: 4, to: 5 }] },
      {},
      'PARTIALLY_READ',
    ],
    [
      'insert',
      'beside an unseen line, if any sighting is enough',
      { ...view(HEAD), touched: [{ from: 4, to: 5 }] },
      { overwrite: 'any' },
      'unseen-lines',
    ],
    ['overwrite', 'if the policy requires no sighting', view(HEAD), { seen: 'optional' }, 'pass'],
    ['move', 'of a partly seen file', view(HEAD), {}, 'pass'],
  ])('%s %s', (action, _what, given, under, expected) => {
    expect(says(covered, facts({ action, ...given }), policy(under))).toBe(expected);
  });

  it('a page of a huge file licenses edits of its own lines only, whatever the policy', () => {
    const page = sighting({
      fingerprint: undefined,
      pages: [{ from: 1, to: 4, sha256: 'h' }],
      coverage: HEAD,
      totalLines: undefined,
    });
    const edit = (from: number): string =>
      says(covered, facts({ action: 'edit', sighting: page, touched: [{ from, to: from }] }));
    expect([edit(4), edit(5)]).toEqual(['pass', 'PARTIALLY_READ']);
    expect(says(covered, facts({ sighting: page }))).toBe('PARTIALLY_READ');
  });

  it.each<[string, Partial<Facts>, object]>([
    [
      'the lines that were not read, and how many there are',
      view(HEAD),
      { next: 'read_range', detail: { missing: [{ from: 5, to: 10 }], totalLines: 10, seenAtMs: SEEN_AT } },
    ],
    [
      'the current number of lines, if it is known',
      { ...view(HEAD), totalLines: 6 },
      { next: 'read_range', detail: { missing: [{ from: 5, to: 6 }], totalLines: 6, seenAtMs: SEEN_AT } },
    ],
    [
      'the cut lines and suggests an edit, because a read would cut them again',
      view(WHOLE, { clamped: true }),
      { next: 'use_edit', detail: { reason: 'clamped', totalLines: 10, seenAtMs: SEEN_AT } },
    ],
    [
      'both cut lines and missing lines',
      view(HEAD, { clamped: true }),
      { next: 'use_edit', detail: { reason: 'clamped', missing: [{ from: 5, to: 10 }] } },
    ],
  ])('PARTIALLY_READ names %s', (_what, given, expected) => {
    expect(covered(facts(given), policy())).toMatchObject({
      refusal: { code: 'PARTIALLY_READ', ...expected },
    });
  });
});

const r = (from: number, to: number): LineRange => ({ from, to });
const lines = (...ranges: LineRange[]): Coverage => ({ kind: 'lines', ranges });

it.each<[string, Coverage, LineRange[], LineRange[]]>([
  ['whole coverage leaves no line unseen', WHOLE, [r(1, 5)], []],
  ['empty coverage leaves all lines unseen', NOTHING, [r(3, 5), r(1, 2)], [r(1, 5)]],
  ['no touched lines', NOTHING, [], []],
  ['touched lines inside the coverage', lines(r(1, 10)), [r(2, 3)], []],
  ['touched lines beyond both ends of the coverage', lines(r(4, 6)), [r(2, 8)], [r(2, 3), r(7, 8)]],
  ['a gap across two touched ranges', lines(r(1, 2), r(9, 9)), [r(2, 4), r(6, 9)], [r(3, 4), r(6, 8)]],
  ['touched lines far after the coverage', lines(r(1, 2)), [r(50, 51)], [r(50, 51)]],
  ['several gaps in one range', lines(r(2, 2), r(4, 4)), [r(1, 5)], [r(1, 1), r(3, 3), r(5, 5)]],
])('unseenOf: %s', (_what, coverage, touched, expected) => {
  expect(unseenOf(coverage, touched)).toEqual(expected);
});

it('agrees with line-by-line counting on every small case', () => {
  for (let seen = 0; seen < 64; seen++) {
    for (let wanted = 0; wanted < 64; wanted++) {
      const coverage: Coverage = { kind: 'lines', ranges: bits(seen) };
      const found = unseenOf(coverage, bits(wanted)).flatMap(({ from, to }) =>
        Array.from({ length: to - from + 1 }, (_, i) => from + i),
      );
      const expected = [1, 2, 3, 4, 5, 6].filter(
        (line) => wanted & (1 << (line - 1)) && !(seen & (1 << (line - 1))),
      );
      expect(found).toEqual(expected);
    }
  }
});

function bits(mask: number): LineRange[] {
  return [1, 2, 3, 4, 5, 6].filter((line) => mask & (1 << (line - 1))).map((line) => r(line, line));
}
