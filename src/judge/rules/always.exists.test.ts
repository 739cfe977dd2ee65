import { describe, expect, it } from 'vitest';
import { FILE, facts, MISSING, policy, says, sighting } from '../../../test/support/judging.ts';
import { NOTHING } from '../../model/coverage.ts';
import type { Facts } from '../facts.ts';
import { exists } from './always.ts';

const FOLDER = { ...FILE, kind: 'directory' } as const;
const tombstone = sighting({ tombstone: true });
const stub = sighting({ fingerprint: undefined, coverage: NOTHING, lost: 'evicted' });

describe('exists', () => {
  it.each<[string, Partial<Facts>, string]>([
    [
      'a demanded creation of a missing file',
      { action: 'create', target: MISSING, sighting: undefined },
      'pass',
    ],
    ['a demanded creation of an existing file', { action: 'create' }, 'ALREADY_EXISTS'],
    ['a demanded creation at the path of a folder', { action: 'create', target: FOLDER }, 'ALREADY_EXISTS'],
    ['a plain write of an existing file', { action: 'overwrite' }, 'pass'],
    ['mkdir of an existing folder', { action: 'mkdir', target: FOLDER }, 'pass'],
    ['mkdir at the path of a file', { action: 'mkdir' }, 'ALREADY_EXISTS'],
    [
      'edit of a missing file that was never seen',
      { action: 'edit', target: MISSING, sighting: undefined },
      'NOT_FOUND',
    ],
    ['insert into a missing file', { action: 'insert', target: MISSING, sighting: undefined }, 'NOT_FOUND'],
    ['delete of a missing file', { action: 'delete', target: MISSING, sighting: undefined }, 'NOT_FOUND'],
    ['move of a missing file', { action: 'move', target: MISSING, sighting: undefined }, 'NOT_FOUND'],
    ['an evicted sighting does not count', { action: 'edit', target: MISSING, sighting: stub }, 'NOT_FOUND'],
    ['edit of a file deleted since it was seen', { action: 'edit', target: MISSING }, 'DELETED'],
    ['insert into a file deleted since', { action: 'insert', target: MISSING }, 'DELETED'],
    [
      'edit of a file this session deleted',
      { action: 'edit', target: MISSING, sighting: tombstone },
      'DELETED',
    ],
    ['write of a file deleted since: created again, with a notice', { target: MISSING }, 'recreated'],
    ['write of a file this session deleted', { target: MISSING, sighting: tombstone }, 'pass'],
    [
      'write at the path of a listed folder that was deleted',
      { target: MISSING, sighting: sighting({ how: 'listing' }) },
      'pass',
    ],
  ])('%s', (_rule, given, expected) => {
    expect(says(exists, facts(given))).toBe(expected);
  });

  it('under `staleness: warn` a deleted file gets a warning too (seed D)', () => {
    const ruling = exists(facts({ target: MISSING }), policy({ staleness: 'warn' }));
    expect(ruling).toEqual({
      kind: 'note',
      notices: [{ kind: 'stale-warning', text: 'file was deleted since last read' }, { kind: 'recreated' }],
    });
  });
});
