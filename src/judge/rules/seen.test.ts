import { describe, expect, it } from 'vitest';
import { FILE, facts, flags, policy, SEEN_AT, says, sighting } from '../../../test/support/judging.ts';
import { NOTHING } from '../../model/coverage.ts';
import type { Policy } from '../../model/policy.ts';
import type { Facts } from '../facts.ts';
import { seen } from './seen.ts';

const compacted = sighting({ coverage: NOTHING, lost: 'compacted' });
const stub = sighting({ fingerprint: undefined, coverage: NOTHING, lost: 'evicted' });
const described = sighting({ coverage: NOTHING, flags: flags({ notText: true }) });
const fromHistory = sighting({ fingerprint: undefined, flags: flags({ unverified: true }) });

describe('seen', () => {
  it.each<[string, Partial<Facts>, Partial<Policy>, string]>([
    ['a sighting', {}, {}, 'pass'],
    ['none', { sighting: undefined }, {}, 'NOT_READ'],
    ['none, and that is fine', { sighting: undefined }, { seen: 'optional' }, 'pass'],
    ['evicted', { sighting: stub }, {}, 'NOT_READ'],
    ['made again after this session deleted it', { sighting: sighting({ tombstone: true }) }, {}, 'NOT_READ'],
    ['only a folder was listed there', { sighting: sighting({ how: 'listing' }) }, {}, 'NOT_READ'],
    ['said to have expired', { sighting: undefined, absence: 'expired' }, {}, 'READ_EXPIRED'],
    ['within its time', { nowMs: SEEN_AT + 500 }, { ttlMs: 500 }, 'pass'],
    ['after its time', { nowMs: SEEN_AT + 501 }, { ttlMs: 500 }, 'READ_EXPIRED'],
    ['a clock that went back does not expire it', { nowMs: 0 }, { ttlMs: 500 }, 'pass'],
    ['overwrite after compaction', { sighting: compacted }, {}, 'NOT_READ'],
    [
      'insert after compaction: no anchor proves the place',
      { action: 'insert', sighting: compacted },
      {},
      'NOT_READ',
    ],
    ['delete after compaction', { action: 'delete', sighting: compacted }, {}, 'NOT_READ'],
    ['edit after compaction, same bytes', { action: 'edit', sighting: compacted }, {}, 'pass'],
    [
      'edit after compaction, other bytes',
      { action: 'edit', sighting: compacted, freshness: 'changed' },
      {},
      'NOT_READ',
    ],
    [
      'edit after compaction, bytes unknown',
      { action: 'edit', sighting: compacted, freshness: 'unknown' },
      {},
      'NOT_READ',
    ],
    [
      'edit after compaction that clears',
      { action: 'edit', sighting: compacted },
      { compaction: 'clear' },
      'NOT_READ',
    ],
    ['a described binary has no lines, and was seen', { action: 'delete', sighting: described }, {}, 'pass'],
    ['a transcript alone is not trusted', { sighting: fromHistory }, {}, 'NOT_READ'],
    [
      'a transcript is enough where staleness only warns',
      { sighting: fromHistory },
      { staleness: 'warn' },
      'pass',
    ],
    [
      'a folder is not this rule’s',
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
  ])('the refusal says why there is nothing to go by: %j', (given, detail) => {
    const ruling = seen(facts(given), policy());
    expect(ruling.kind === 'refuse' && ruling.refusal.detail).toEqual(detail);
  });
});
