import { describe, expect, it } from 'vitest';
import { facts, MISSING, says, sighting } from '../../../test/support/judging.ts';
import { NOTHING } from '../../model/coverage.ts';
import type { Facts } from '../facts.ts';
import { revision } from './always.ts';

describe('revision', () => {
  it.each<[string, Partial<Facts>, string]>([
    ['no expected revision', {}, 'pass'],
    ['the current revision', { expectedRevision: 'r1', currentRevision: 'r1' }, 'pass'],
    [
      'another revision of a seen file',
      { expectedRevision: 'r0', currentRevision: 'r1' },
      'REVISION_MISMATCH',
    ],
    [
      'another revision of an unseen file',
      { expectedRevision: 'r0', currentRevision: 'r1', sighting: undefined },
      'REVISION_MISMATCH',
    ],
    [
      'another revision, but the content equals the present bytes, which were seen whole',
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
      'another revision, and the content equals the present bytes, which were not seen',
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
      'another revision, and the content equals the present bytes, which were seen in part',
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
    ['an empty revision', { expectedRevision: '', currentRevision: 'r1' }, 'REVISION_MISMATCH'],
    ['a revision of a missing file', { expectedRevision: 'r1', target: MISSING }, 'REVISION_MISMATCH'],
    ['a revision of a file that cannot be read', { expectedRevision: 'r1', errno: 'EACCES' }, 'UNVERIFIABLE'],
  ])('%s', (_rule, given, expected) => {
    expect(says(revision, facts(given))).toBe(expected);
  });

  it('never discloses the current revision', () => {
    const ruling = revision(
      facts({ expectedRevision: 'r0', currentRevision: 'secret' }),
      Object.create(null),
    );
    expect(JSON.stringify(ruling)).not.toContain('secret');
  });
});
