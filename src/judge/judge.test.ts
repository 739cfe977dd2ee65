import { describe, expect, it } from 'vitest';
import { FILE, facts, flags, MISSING, policy, sighting } from '../../test/support/judging.ts';
import { PRESETS } from '../config/presets.ts';
import { type Coverage, NOTHING, WHOLE } from '../model/coverage.ts';
import type { Policy, PresetName } from '../model/policy.ts';
import type { Facts, Target } from './facts.ts';
import { judge } from './judge.ts';

const FOLDER: Target = { ...FILE, kind: 'directory' };
const EMPTY: Target = { ...FILE, sizeBytes: 0, empty: true };
const HEAD: Coverage = { kind: 'lines', ranges: [{ from: 1, to: 4 }] };
const unseen = { sighting: undefined, freshness: undefined };

/**
 * The reason why a change is allowed, followed by the kinds of the notices; or the refusal code.
 */
function verdict(given: Partial<Facts>, under: Policy = policy()): string {
  const result = judge(facts(given), under);
  if (result.outcome === 'refuse') return result.refusal.code;
  return [result.licence, ...result.notices.map((notice) => notice.kind)].join(' ');
}

describe('licences', () => {
  it.each<[string, Partial<Facts>, string]>([
    ['a new file', { ...unseen, target: MISSING }, 'new'],
    ['a file that was deleted since', { target: MISSING }, 'new recreated'],
    ['an empty file, overwritten unseen', { ...unseen, target: EMPTY }, 'empty'],
    ['an empty file, edited unseen', { ...unseen, action: 'edit', target: EMPTY }, 'empty'],
    ['an empty file, inserted into unseen', { ...unseen, action: 'insert', target: EMPTY }, 'empty'],
    ['an empty file, deleted unseen', { ...unseen, action: 'delete', target: EMPTY }, 'empty'],
    ['a file emptied since it was seen', { target: EMPTY, freshness: 'changed' }, 'STALE'],
    ['an overwrite of a seen file', {}, 'seen'],
    ['an edit of a seen file', { action: 'edit' }, 'seen'],
    ['an edit of a changed file', { action: 'edit', freshness: 'changed' }, 'carry'],
    ['an edit in unseen lines', editOutside(), 'seen unseen-lines'],
    [
      'the current revision of an unseen file',
      { ...unseen, expectedRevision: 'r', currentRevision: 'r' },
      'revision',
    ],
    [
      'the current revision, for an edit of an unseen file',
      { ...unseen, action: 'edit', expectedRevision: 'r', currentRevision: 'r' },
      'revision',
    ],
    [
      'the current revision, for a delete of an unseen file',
      { ...unseen, action: 'delete', expectedRevision: 'r', currentRevision: 'r' },
      'revision',
    ],
    [
      'the current revision, for content that was refused before',
      {
        sighting: sighting({ refusedContent: 'h' }),
        contentHash: 'h',
        expectedRevision: 'r',
        currentRevision: 'r',
      },
      'revision',
    ],
    ['the operator’s bypass, if it is needed', { ...unseen, bypassedBy: 'gen/**' }, 'bypass bypassed'],
    ['the operator’s bypass, if it is not needed', { bypassedBy: 'gen/**' }, 'seen'],
    [
      'the operator’s bypass instead of a merge',
      { action: 'edit', freshness: 'changed', bypassedBy: 'gen/**' },
      'bypass bypassed',
    ],
    ['the source of a move', { ...unseen, action: 'move' }, 'not-required'],
    [
      'a link that is deleted',
      { ...unseen, action: 'delete', target: { ...FILE, kind: 'link' } },
      'not-required',
    ],
    ['mkdir of an existing folder', { ...unseen, action: 'mkdir', target: FOLDER }, 'not-required'],
    ['mkdir of a missing folder', { ...unseen, action: 'mkdir', target: MISSING }, 'new'],
    [
      'an empty, unlisted folder',
      { ...unseen, action: 'delete', target: FOLDER, folder: { empty: true, recursive: false } },
      'empty',
    ],
    [
      'a folder listed in full',
      {
        ...unseen,
        action: 'delete',
        target: FOLDER,
        folder: { empty: false, recursive: true, listedFull: true, listingUnchanged: true },
      },
      'seen',
    ],
  ])('%s', (_what, given, expected) => {
    expect(verdict(given)).toBe(expected);
  });
});

describe('the first rule that refuses wins', () => {
  /**
   * Each row breaks one more rule than the next row. The refusal must have the code of the first
   * broken rule.
   */
  const stacked: [string, Partial<Facts>][] = [
    ['PROTECTED', { protectedBy: '.git/**' }],
    ['READ_ONLY', { target: { ...FILE, readOnly: true, sizeBytes: 1e12, binary: true } }],
    ['TOO_LARGE', { target: { ...FILE, sizeBytes: 1e12, binary: true } }],
    ['REVISION_MISMATCH', { expectedRevision: 'x', target: { ...FILE, binary: true } }],
    ['NOT_READ', { expectedRevision: undefined, sighting: undefined }],
    ['PARTIALLY_READ', { sighting: sighting({ coverage: HEAD }) }],
    ['STALE', { sighting: sighting() }],
    ['NOT_TEXT', { freshness: 'same' }],
    ['PLACEHOLDER_CONTENT', { target: FILE }],
    ['seen', { placeholder: undefined }],
  ];
  const broken: Partial<Facts> = {
    sighting: undefined,
    freshness: 'changed',
    currentRevision: 'r',
    placeholder: { reason: 'rest unchanged' },
    contentHash: 'h',
  };

  it('contain, kind, exists, seen, covered, fresh, content', () => {
    let given = broken;
    const codes = stacked.map(([, change]) => {
      given = { ...given, ...change, protectedBy: change.protectedBy };
      return verdict(given);
    });
    expect(codes).toEqual(stacked.map(([code]) => code));
  });

  it('so the refusal for an unread file does not depend on its content', () => {
    const answer = judge(facts(unseen), policy());
    for (const derived of [
      { target: { ...FILE, binary: true } },
      { placeholder: { reason: 'x' } },
      { touched: [{ from: 1, to: 2 }] },
      { contentHash: 'aa'.repeat(32), currentHash: 'aa'.repeat(32) },
      { totalLines: 3 },
    ])
      expect(judge(facts({ ...unseen, ...derived }), policy())).toEqual(answer);
  });

  it('and no bypass overrides containment, kind, existence, revision or content', () => {
    const bypassedBy = '**';
    expect(verdict({ bypassedBy, protectedBy: 'x' })).toBe('PROTECTED');
    expect(verdict({ bypassedBy, target: { ...FILE, kind: 'fifo' } })).toBe('NOT_A_FILE');
    expect(verdict({ bypassedBy, action: 'edit', target: MISSING })).toBe('DELETED');
    expect(verdict({ bypassedBy, expectedRevision: 'x', currentRevision: 'r' })).toBe('REVISION_MISMATCH');
    expect(verdict({ bypassedBy, placeholder: { reason: 'x' } })).toBe('PLACEHOLDER_CONTENT');
    expect(verdict({ bypassedBy, action: 'delete', target: FOLDER })).toBe('INVALID_ARGUMENT');
  });
});

describe('presets decide as their seed systems do', () => {
  it.each<[string, PresetName, Partial<Facts>, string]>([
    ['A6', 'sandbox', unseen, 'NOT_READ'],
    ['A6 new', 'sandbox', { ...unseen, target: MISSING }, 'new'],
    ['A6 folder', 'sandbox', { target: FOLDER }, 'NOT_A_FILE'],
    ['A8', 'sandbox', { ...unseen, action: 'edit' }, 'NOT_READ'],
    ['A8 missing first', 'sandbox', { ...unseen, action: 'edit', target: MISSING }, 'NOT_FOUND'],
    ['A partial reads count', 'sandbox', { sighting: sighting({ coverage: HEAD }) }, 'seen'],
    ['A never stale, but with a notice', 'sandbox', { freshness: 'changed' }, 'seen stale-warning'],
    ['B3 unread', 'file-time', unseen, 'NOT_READ'],
    ['B3 another time', 'file-time', { otherTime: true }, 'STALE'],
    ['B3 the same time', 'file-time', { otherTime: false }, 'seen'],
    ['B3 deleted passes', 'file-time', { target: MISSING }, 'new recreated'],
    ['B3 failed check passes', 'file-time', { freshness: 'unknown' }, 'seen stale-warning'],
    ['B5', 'file-time', { ...unseen, target: MISSING }, 'new'],
    ['C4 write', 'thread-history', unseen, 'NOT_READ'],
    ['C4 insert', 'thread-history', { ...unseen, action: 'insert' }, 'NOT_READ'],
    ['C4 not found wins', 'thread-history', { ...unseen, action: 'edit', target: MISSING }, 'NOT_FOUND'],
    [
      'C5 compaction clears',
      'thread-history',
      { sighting: sighting({ fingerprint: undefined, coverage: NOTHING, lost: 'compacted' }) },
      'NOT_READ',
    ],
    [
      'C1 a transcript suffices',
      'thread-history',
      {
        sighting: sighting({ fingerprint: undefined, how: 'history', flags: flags({ unverified: true }) }),
        freshness: 'unknown',
      },
      'seen stale-warning',
    ],
    ['D2 untracked is not stale', 'staleness', unseen, 'not-required'],
    ['D2 same', 'staleness', {}, 'seen'],
    ['D2 changed is held back', 'staleness', { freshness: 'changed' }, 'STALE'],
    ['D2 deleted warns', 'staleness', { target: MISSING }, 'new stale-warning recreated'],
    ['D2 failed check', 'staleness', { freshness: 'unknown' }, 'seen stale-warning'],
    ['strict: a changed file', 'strict', { action: 'edit', freshness: 'changed' }, 'STALE'],
    ['strict: unseen lines', 'strict', editOutside(), 'PARTIALLY_READ'],
  ])('%s: %s', (_requirement, preset, given, expected) => {
    expect(verdict(given, PRESETS[preset])).toBe(expected);
  });
});

describe('promises that hold for every combination of facts', () => {
  const coverages = [WHOLE, HEAD, NOTHING];
  const freshnesses = ['same', 'changed', 'unknown'] as const;
  const flagSets = [{}, { clamped: true }, { redacted: true }, { notText: true }, { unverified: true }];

  it.each(['default', 'strict'] as const)(
    '%s allows an overwrite only of a file that was seen whole and is unchanged',
    (preset) => {
      for (const coverage of coverages)
        for (const freshness of freshnesses)
          for (const flag of flagSets) {
            const given = { sighting: sighting({ coverage, flags: flags(flag) }), freshness };
            const right = coverage === WHOLE && freshness === 'same' && Object.keys(flag).length === 0;
            expect(judge(facts(given), PRESETS[preset]).outcome).toBe(right ? 'allow' : 'refuse');
          }
    },
  );

  it('default allows an edit only of a seen file; of a changed one only by a merge', () => {
    for (const coverage of coverages)
      for (const freshness of freshnesses)
        for (const flag of flagSets) {
          const given = {
            action: 'edit' as const,
            sighting: sighting({ coverage, flags: flags(flag) }),
            freshness,
          };
          const result = judge(facts(given), policy());
          if (result.outcome === 'refuse') continue;
          expect(freshness).not.toBe('unknown');
          expect(result.licence).toBe(freshness === 'same' ? 'seen' : 'carry');
          expect([flag.notText, flag.unverified]).toEqual([undefined, undefined]);
        }
  });
});

function editOutside(): Partial<Facts> {
  return {
    action: 'edit',
    sighting: sighting({ coverage: HEAD }),
    touched: [{ from: 8, to: 8 }],
  };
}
