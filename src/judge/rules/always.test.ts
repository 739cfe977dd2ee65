import { describe, expect, it } from 'vitest';
import { facts, MISSING, policy, says } from '../../../test/support/judging.ts';
import type { Facts } from '../facts.ts';
import { contain } from './always.ts';

describe('contain', () => {
  it.each<[string, Facts, object, string]>([
    ['an ordinary path passes', facts(), {}, 'pass'],
    ['a protected path is refused', facts({ protectedBy: '**/.ssh/**' }), {}, 'PROTECTED'],
    [
      'a new file at a protected path is refused',
      facts({ protectedBy: '.git/**', target: MISSING }),
      {},
      'PROTECTED',
    ],
    [
      'a protected path is refused even with a bypass',
      facts({ protectedBy: '.git/**', bypassedBy: '**' }),
      {},
      'PROTECTED',
    ],
    ['a read-only session changes nothing', facts(), { readOnly: true }, 'READ_ONLY'],
    ['a read-only session creates nothing', facts({ target: MISSING }), { readOnly: true }, 'READ_ONLY'],
    ['the root is not deleted', facts({ action: 'delete', isRoot: true }), {}, 'PROTECTED'],
    ['the root is not moved', facts({ action: 'move', isRoot: true }), {}, 'PROTECTED'],
    ['mkdir of the root passes', facts({ action: 'mkdir', isRoot: true }), {}, 'pass'],
  ])('%s', (_rule, given, under, expected) => {
    expect(says(contain, given, policy(under))).toBe(expected);
  });
});
