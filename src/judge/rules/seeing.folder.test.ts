import { describe, expect, it } from 'vitest';
import { FILE, facts, policy, says } from '../../../test/support/judging.ts';
import { folder } from './seeing.ts';

const FOLDER = { ...FILE, kind: 'directory' } as const;
const base = { empty: false, recursive: true };

describe('folder', () => {
  it.each([
    ['never listed', base, 'NOT_READ'],
    ['listed in part', { ...base, listedFull: false, listingUnchanged: true }, 'NOT_READ'],
    ['listed in full, changed since', { ...base, listedFull: true, listingUnchanged: false }, 'STALE'],
    ['listed in full, nothing known since', { ...base, listedFull: true }, 'STALE'],
    ['listed in full, unchanged', { ...base, listedFull: true, listingUnchanged: true }, 'pass'],
    ['no facts at all', undefined, 'NOT_READ'],
  ])('%s', (_rule, given, expected) => {
    expect(says(folder, facts({ action: 'delete', target: FOLDER, folder: given }))).toBe(expected);
  });

  it('passes if the policy requires no sighting, and for files and moves', () => {
    const given = facts({ action: 'delete', target: FOLDER, folder: base });
    expect(says(folder, given, policy({ seen: 'optional' }))).toBe('pass');
    expect(says(folder, facts({ action: 'delete' }))).toBe('pass');
    expect(says(folder, facts({ action: 'move', target: FOLDER }))).toBe('pass');
  });
});
