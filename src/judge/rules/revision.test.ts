import { describe, expect, it } from 'vitest';
import { facts, MISSING, says, sighting } from '../../../test/support/judging.ts';
import { NOTHING } from '../../model/coverage.ts';
import type { Facts } from '../facts.ts';
import { revision } from './revision.ts';

describe('revision', () => {
  it.each<[string, Partial<Facts>, string]>([
    ['none expected', {}, 'pass'],
    ['the current one', { expectedRevision: 'r1', currentRevision: 'r1' }, 'pass'],
    [
      'another one, though the file was seen',
      { expectedRevision: 'r0', currentRevision: 'r1' },
      'REVISION_MISMATCH',
    ],
    [
      'another one, unseen',
      { expectedRevision: 'r0', currentRevision: 'r1', sighting: undefined },
      'REVISION_MISMATCH',
    ],
    [
      'another one, but the session knows what is there and brings just that',
      {
        expectedRevision: 'r0',
        currentRevision: 'r1',
        contentHash: 'h1',
        currentHash: 'h1',
        freshness: 'same',
      },
      'pass',
    ],
    [
      'another one, and what is there, unseen',
      {
        expectedRevision: 'r0',
        currentRevision: 'r1',
        contentHash: 'h1',
        currentHash: 'h1',
        sighting: undefined,
      },
      'REVISION_MISMATCH',
    ],
    [
      'another one, and what is there, of which only a part was seen',
      {
        ...{
          expectedRevision: 'r0',
          currentRevision: 'r1',
          contentHash: 'h1',
          currentHash: 'h1',
          freshness: 'same',
        },
        sighting: sighting({ coverage: NOTHING }),
      },
      'REVISION_MISMATCH',
    ],
    ['an empty token', { expectedRevision: '', currentRevision: 'r1' }, 'REVISION_MISMATCH'],
    ['the file is gone', { expectedRevision: 'r1', target: MISSING }, 'REVISION_MISMATCH'],
    ['the bytes could not be looked at', { expectedRevision: 'r1', errno: 'EACCES' }, 'UNVERIFIABLE'],
  ])('%s', (_rule, given, expected) => {
    expect(says(revision, facts(given))).toBe(expected);
  });

  it('never tells the current revision', () => {
    const ruling = revision(
      facts({ expectedRevision: 'r0', currentRevision: 'secret' }),
      Object.create(null),
    );
    expect(JSON.stringify(ruling)).not.toContain('secret');
  });
});
