import { describe, expect, it } from 'vitest';
import { FILE, facts, flags, policy, SEEN_AT, says, sighting } from '../../../test/support/judging.ts';
import type { Policy } from '../../model/policy.ts';
import type { Facts } from '../facts.ts';
import { fresh } from './seeing.ts';

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
    ['an unknown state is unverifiable', { freshness: 'unknown', errno: 'EIO' }, {}, 'UNVERIFIABLE'],
    ['a missing comparison counts as unknown', { freshness: undefined }, {}, 'UNVERIFIABLE'],
    [
      'an unknown state, if the policy allows verification errors',
      { freshness: 'unknown' },
      { verificationErrors: 'allow' },
      'stale-warning',
    ],
    [
      'an unknown state, if staleness only warns',
      { freshness: 'unknown' },
      { staleness: 'warn' },
      'stale-warning',
    ],
    ['an unknown state, if staleness is off', { freshness: 'unknown' }, { staleness: 'off' }, 'pass'],
    ['content that was refused before', { sighting: refusedBefore, contentHash: HASH }, {}, 'STALE'],
    [
      'other content than was refused before',
      { sighting: refusedBefore, contentHash: 'ef'.repeat(32) },
      {},
      'pass',
    ],
    [
      'refused content that equals the present bytes',
      { sighting: refusedBefore, contentHash: HASH, currentHash: HASH },
      {},
      'pass',
    ],
    [
      'a changed file whose bytes equal the new content',
      { freshness: 'changed', contentHash: HASH, currentHash: HASH },
      {},
      'pass',
    ],
    ['seed B: another time is stale even with the same bytes', { otherTime: true }, B, 'STALE'],
    ['seed B: the same time and bytes are fresh', { otherTime: false }, B, 'pass'],
    [
      'seed B: other bytes are stale under an equal time',
      { otherTime: false, freshness: 'changed' },
      B,
      'STALE',
    ],
    ['seed B: other bytes are stale if no time is known', { freshness: 'changed' }, B, 'STALE'],
    ['seed B: the same bytes are fresh if no time is known', { freshness: 'same' }, B, 'pass'],
    ['seed B: a failed check passes', { freshness: 'unknown' }, B, 'stale-warning'],
    [
      'seed B: content that was refused before',
      { sighting: refusedBefore, contentHash: HASH, otherTime: false },
      B,
      'STALE',
    ],
    ['a missing sighting is left to another rule', { sighting: undefined, freshness: undefined }, {}, 'pass'],
  ])('%s', (_rule, given, under, expected) => {
    expect(says(fresh, facts(given), policy(under))).toBe(expected);
  });

  it('STALE names the time of the sighting, both file times, and the writer', () => {
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

  it('content refused before gets the revision that confirms it, if the whole file was seen', () => {
    const revision = '0123456789ab';
    const given = { sighting: refusedBefore, contentHash: HASH, currentRevision: revision };
    expect(fresh(facts(given), policy())).toMatchObject({
      refusal: { detail: { cause: 'repeated', revision } },
    });
    const head = { kind: 'lines', ranges: [{ from: 1, to: 2 }] } as const;
    for (const less of [
      { ...given, freshness: 'changed' as const },
      { ...given, sighting: { ...refusedBefore, coverage: head } },
    ])
      expect(JSON.stringify(fresh(facts(less), policy()))).not.toContain(revision);
  });

  it('a warning has the reason of seed D', () => {
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
