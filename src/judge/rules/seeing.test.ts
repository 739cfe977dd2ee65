import { describe, expect, it } from 'vitest';
import { FILE, facts, flags, policy, SEEN_AT, says, sighting } from '../../../test/support/judging.ts';
import { NOTHING } from '../../model/coverage.ts';
import type { Policy } from '../../model/policy.ts';
import type { Facts } from '../facts.ts';
import { seen } from './seeing.ts';

const compacted = sighting({ coverage: NOTHING, lost: 'compacted' });
const stub = sighting({ fingerprint: undefined, coverage: NOTHING, lost: 'evicted' });
const described = sighting({ coverage: NOTHING, flags: flags({ notText: true }) });
const fromHistory = sighting({ fingerprint: undefined, flags: flags({ unverified: true }) });

describe('seen', () => {
  it.each<[string, Partial<Facts>, Partial<Policy>, string]>([
    ['a file with a sighting', {}, {}, 'pass'],
    ['a file without a sighting', { sighting: undefined }, {}, 'NOT_READ'],
    [
      'a file without a sighting, if the policy requires none',
      { sighting: undefined },
      { seen: 'optional' },
      'pass',
    ],
    ['an evicted sighting', { sighting: stub }, {}, 'NOT_READ'],
    [
      'a file that was created again after this session deleted it',
      { sighting: sighting({ tombstone: true }) },
      {},
      'NOT_READ',
    ],
    ['a listing of a folder at this path', { sighting: sighting({ how: 'listing' }) }, {}, 'NOT_READ'],
    ['a sighting that has expired', { sighting: undefined, absence: 'expired' }, {}, 'READ_EXPIRED'],
    ['a sighting within its time to live', { nowMs: SEEN_AT + 500 }, { ttlMs: 500 }, 'pass'],
    ['a sighting after its time to live', { nowMs: SEEN_AT + 501 }, { ttlMs: 500 }, 'READ_EXPIRED'],
    ['a clock that went back does not expire a sighting', { nowMs: 0 }, { ttlMs: 500 }, 'pass'],
    ['overwrite after compaction', { sighting: compacted }, {}, 'NOT_READ'],
    [
      'insert after compaction: no anchor proves the place',
      { action: 'insert', sighting: compacted },
      {},
      'NOT_READ',
    ],
    ['delete after compaction', { action: 'delete', sighting: compacted }, {}, 'NOT_READ'],
    ['edit after compaction, unchanged bytes', { action: 'edit', sighting: compacted }, {}, 'pass'],
    [
      'edit after compaction, changed bytes',
      { action: 'edit', sighting: compacted, freshness: 'changed' },
      {},
      'NOT_READ',
    ],
    [
      'edit after compaction, unknown bytes',
      { action: 'edit', sighting: compacted, freshness: 'unknown' },
      {},
      'NOT_READ',
    ],
    [
      'edit after compaction under `compaction: clear`',
      { action: 'edit', sighting: compacted },
      { compaction: 'clear' },
      'NOT_READ',
    ],
    ['a binary that was described counts as seen', { action: 'delete', sighting: described }, {}, 'pass'],
    ['an unconfirmed sighting from a transcript does not count', { sighting: fromHistory }, {}, 'NOT_READ'],
    [
      'an unconfirmed sighting from a transcript counts if staleness only warns',
      { sighting: fromHistory },
      { staleness: 'warn' },
      'pass',
    ],
    [
      'a folder is left to another rule',
      { action: 'delete', target: { ...FILE, kind: 'directory' }, sighting: undefined },
      {},
      'pass',
    ],
  ])('%s', (_rule, given, under, expected) => {
    expect(says(seen, facts(given), policy(under))).toBe(expected);
  });

  it.each<[Partial<Facts>, object | undefined]>([
    [{ sighting: undefined }, undefined],
    [{ sighting: stub }, { reason: 'evicted', seenAtMs: SEEN_AT }],
    [{ sighting: compacted }, { reason: 'compacted', seenAtMs: SEEN_AT }],
    [{ sighting: sighting({ coverage: NOTHING }) }, undefined],
    [{ sighting: undefined, absence: 'forgotten' }, { reason: 'forgotten' }],
    [{ sighting: fromHistory }, { reason: 'unverified', seenAtMs: SEEN_AT }],
    [{ sighting: sighting({ tombstone: true }) }, { reason: 'recreated', seenAtMs: SEEN_AT }],
  ])('the refusal says why there is no usable sighting: %j', (given, detail) => {
    const ruling = seen(facts(given), policy());
    expect(ruling.kind === 'refuse' && ruling.refusal.detail).toEqual(detail);
  });
});
