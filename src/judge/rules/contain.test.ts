import { describe, expect, it } from 'vitest';
import { facts, MISSING, policy, says } from '../../../test/support/judging.ts';
import type { Facts } from '../facts.ts';
import { contain } from './contain.ts';

describe('contain', () => {
  it.each<[string, Facts, object, string]>([
    ['an ordinary path passes', facts(), {}, 'pass'],
    ['a protected path is the operator’s', facts({ protectedBy: '**/.ssh/**' }), {}, 'PROTECTED'],
    ['also for a new file', facts({ protectedBy: '.git/**', target: MISSING }), {}, 'PROTECTED'],
    ['also with a bypass', facts({ protectedBy: '.git/**', bypassedBy: '**' }), {}, 'PROTECTED'],
    ['a read-only session changes nothing', facts(), { readOnly: true }, 'READ_ONLY'],
    ['nor creates', facts({ target: MISSING }), { readOnly: true }, 'READ_ONLY'],
    ['the root is not deleted', facts({ action: 'delete', isRoot: true }), {}, 'PROTECTED'],
    ['the root is not moved away', facts({ action: 'move', isRoot: true }), {}, 'PROTECTED'],
    ['making the root again is harmless', facts({ action: 'mkdir', isRoot: true }), {}, 'pass'],
  ])('%s', (_rule, given, under, expected) => {
    expect(says(contain, given, policy(under))).toBe(expected);
  });
});
