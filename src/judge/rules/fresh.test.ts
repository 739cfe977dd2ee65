import { describe, expect, it } from 'vitest';
import { FILE, facts, flags, policy, SEEN_AT, says, sighting } from '../../../test/support/judging.ts';
import type { Policy } from '../../model/policy.ts';
import type { Facts } from '../facts.ts';
import { fresh } from './fresh.ts';

const HASH = 'cd'.repeat(32);
const refusedBefore = sighting({ refusedContent: HASH });
const B: Partial<Policy> = { freshness: 'mtime', staleness: 'refuse', verificationErrors: 'allow' };

describe('fresh', () => {
  const actions = ['overwrite', 'edit', 'insert', 'delete'] as const;
  it.each<[Policy['staleness'], string[]]>([
    ['refuse', ['STALE', 'STALE', 'STALE', 'STALE']],
    ['merge', ['STALE', 'carry', 'carry', 'STALE']],
    ['warn', ['stale-warning', 'stale-warning', 'stale-warning', 'stale-warning']],
    ['off', ['pass', 'pass', 'pass', 'pass']],
  ])('a changed file under %s: overwrite, edit, insert, delete', (staleness, expected) => {
    const under = policy({ staleness });
    expect(actions.map((action) => says(fresh, facts({ action, freshness: 'changed' }), under))).toEqual(
      expected,
    );
  });

  it.each<[string, Partial<Facts>, Partial<Policy>, string]>([
    ['same bytes are never stale, whatever the time says', { otherTime: true }, {}, 'pass'],
    [
      'an unknown state is not stale, and not fresh',
      { freshness: 'unknown', errno: 'EIO' },
      {},
      'UNVERIFIABLE',
    ],
    ['nothing known counts as unknown', { freshness: undefined }, {}, 'UNVERIFIABLE'],
    [
      'unknown, and the operator goes on',
      { freshness: 'unknown' },
      { verificationErrors: 'allow' },
      'stale-warning',
    ],
    ['unknown, where staleness only warns', { freshness: 'unknown' }, { staleness: 'warn' }, 'stale-warning'],
    ['unknown, and not asked', { freshness: 'unknown' }, { staleness: 'off' }, 'pass'],
    ['refused content again', { sighting: refusedBefore, contentHash: HASH }, {}, 'STALE'],
    ['other content', { sighting: refusedBefore, contentHash: 'ef'.repeat(32) }, {}, 'pass'],
    [
      'refused content that is by now what is there',
      { sighting: refusedBefore, contentHash: HASH, currentHash: HASH },
      {},
      'pass',
    ],
    [
      'a changed file, but the new content is what is there',
      { freshness: 'changed', contentHash: HASH, currentHash: HASH },
      {},
      'pass',
    ],
    ['seed B: another time is stale, same bytes or not', { otherTime: true }, B, 'STALE'],
    ['seed B: the same time and bytes are not', { otherTime: false }, B, 'pass'],
    [
      'seed B: other bytes are stale under an equal time',
      { otherTime: false, freshness: 'changed' },
      B,
      'STALE',
    ],
    ['seed B: other bytes are stale without a time', { freshness: 'changed' }, B, 'STALE'],
    ['seed B: same bytes without a time are not', { freshness: 'same' }, B, 'pass'],
    ['seed B: a failed check passes', { freshness: 'unknown' }, B, 'stale-warning'],
    [
      'seed B: refused content again',
      { sighting: refusedBefore, contentHash: HASH, otherTime: false },
      B,
      'STALE',
    ],
    ['no sighting is not this rule’s', { sighting: undefined, freshness: undefined }, {}, 'pass'],
  ])('%s', (_rule, given, under, expected) => {
    expect(says(fresh, facts(given), policy(under))).toBe(expected);
  });

  it('STALE tells when it was seen, both times, and who wrote', () => {
    const writer = { session: 'sub-2', atMs: 1_999_000 };
    const given = facts({
      freshness: 'changed',
      target: { ...FILE, mtimeMs: 2_000_000 },
      sighting: sighting({ stamp: stampAt(900_000n) }),
      writer,
    });
    expect(fresh(given, policy())).toMatchObject({
      refusal: {
        next: 'read_again',
        detail: { seenAtMs: SEEN_AT, mtimeMs: 2_000_000, seenMtimeMs: 900_000, writer },
      },
    });
  });

  it('refused content sent again is told the revision that would let it pass, if all of the file was seen', () => {
    const revision = '0123456789ab';
    const given = { sighting: refusedBefore, contentHash: HASH, currentRevision: revision };
    expect(fresh(facts(given), policy())).toMatchObject({
      refusal: { detail: { reason: 'repeated', revision } },
    });
    const head = { kind: 'lines', ranges: [{ from: 1, to: 2 }] } as const;
    for (const less of [
      { ...given, freshness: 'changed' as const },
      { ...given, sighting: { ...refusedBefore, coverage: head } },
    ])
      expect(JSON.stringify(fresh(facts(less), policy()))).not.toContain(revision);
  });

  it('a warning gives seed D’s reason', () => {
    const given = facts({
      freshness: 'changed',
      target: { ...FILE, sizeBytes: 120, mtimeMs: 2_000_000 },
      sighting: sighting({ stamp: stampAt(900_000n), flags: flags({}) }),
    });
    const text =
      'file modified externally (mtime: 1970-01-01T00:15:00Z → 1970-01-01T00:33:20Z, size: 100 → 120)';
    expect(fresh(given, policy({ staleness: 'warn' }))).toEqual({
      kind: 'note',
      notices: [{ kind: 'stale-warning', text }],
    });
  });
});

function stampAt(ms: bigint) {
  return { dev: 1n, ino: 2n, size: 100n, mtimeNs: ms * 1_000_000n, ctimeNs: ms * 1_000_000n };
}
