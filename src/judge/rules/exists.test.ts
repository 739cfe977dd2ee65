import { describe, expect, it } from 'vitest';
import { FILE, facts, MISSING, policy, says, sighting } from '../../../test/support/judging.ts';
import { NOTHING } from '../../model/coverage.ts';
import type { Facts } from '../facts.ts';
import { exists } from './exists.ts';

const FOLDER = { ...FILE, kind: 'directory' } as const;
const tombstone = sighting({ tombstone: true });
const stub = sighting({ fingerprint: undefined, coverage: NOTHING, lost: 'evicted' });

describe('exists', () => {
  it.each<[string, Partial<Facts>, string]>([
    ['a demanded creation meets nothing', { action: 'create', target: MISSING, sighting: undefined }, 'pass'],
    ['a demanded creation meets a file', { action: 'create' }, 'ALREADY_EXISTS'],
    ['a demanded creation meets a folder', { action: 'create', target: FOLDER }, 'ALREADY_EXISTS'],
    ['a plain write meets a file', { action: 'overwrite' }, 'pass'],
    ['mkdir on a folder is done already', { action: 'mkdir', target: FOLDER }, 'pass'],
    ['mkdir on a file', { action: 'mkdir' }, 'ALREADY_EXISTS'],
    ['edit of nothing, never seen', { action: 'edit', target: MISSING, sighting: undefined }, 'NOT_FOUND'],
    ['insert into nothing', { action: 'insert', target: MISSING, sighting: undefined }, 'NOT_FOUND'],
    ['delete of nothing', { action: 'delete', target: MISSING, sighting: undefined }, 'NOT_FOUND'],
    ['move of nothing', { action: 'move', target: MISSING, sighting: undefined }, 'NOT_FOUND'],
    ['an evicted sighting is none', { action: 'edit', target: MISSING, sighting: stub }, 'NOT_FOUND'],
    ['edit of a file deleted since it was seen', { action: 'edit', target: MISSING }, 'DELETED'],
    ['insert into a file deleted since', { action: 'insert', target: MISSING }, 'DELETED'],
    [
      'edit of a file this session deleted',
      { action: 'edit', target: MISSING, sighting: tombstone },
      'DELETED',
    ],
    ['write of a file deleted since: created again, and told', { target: MISSING }, 'recreated'],
    ['write of a file this session deleted', { target: MISSING, sighting: tombstone }, 'pass'],
    ['write where a listed folder was', { target: MISSING, sighting: sighting({ how: 'listing' }) }, 'pass'],
  ])('%s', (_rule, given, expected) => {
    expect(says(exists, facts(given))).toBe(expected);
  });

  it('where staleness only warns, a vanished file is warned of as well (seed D)', () => {
    const ruling = exists(facts({ target: MISSING }), policy({ staleness: 'warn' }));
    expect(ruling).toEqual({
      kind: 'note',
      notices: [{ kind: 'stale-warning', text: 'file was deleted since last read' }, { kind: 'recreated' }],
    });
  });
});
