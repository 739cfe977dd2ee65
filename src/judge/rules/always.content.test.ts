import { describe, expect, it } from 'vitest';
import { FILE, facts, policy, says } from '../../../test/support/judging.ts';
import type { Policy } from '../../model/policy.ts';
import type { Facts } from '../facts.ts';
import { content } from './always.ts';

const BINARY = { ...FILE, binary: true };

describe('content', () => {
  it.each<[string, Partial<Facts>, Partial<Policy>, string]>([
    ['text over text', { target: { ...FILE, binary: false } }, {}, 'pass'],
    ['text over a file that was not read', {}, {}, 'pass'],
    ['text over a binary', { target: BINARY }, {}, 'NOT_TEXT'],
    ['bytes over a binary', { target: BINARY, contentKind: 'bytes' }, {}, 'pass'],
    [
      'text over a binary, if any sighting licenses an overwrite',
      { target: BINARY },
      { overwrite: 'any' },
      'pass',
    ],
    ['an edit in a binary', { action: 'edit', target: BINARY }, { overwrite: 'any' }, 'NOT_TEXT'],
    ['an insert into a binary', { action: 'insert', target: BINARY }, {}, 'NOT_TEXT'],
    ['delete of a binary', { action: 'delete', target: BINARY }, {}, 'pass'],
    ['a placeholder for the rest', { placeholder: { reason: 'rest unchanged' } }, {}, 'PLACEHOLDER_CONTENT'],
    [
      'a placeholder in a new file',
      { placeholder: { reason: 'x' }, target: { exists: false } },
      {},
      'PLACEHOLDER_CONTENT',
    ],
    [
      'a placeholder that the policy allows',
      { placeholder: { reason: 'rest unchanged' } },
      { placeholders: 'allow' },
      'pass',
    ],
  ])('%s', (_rule, given, under, expected) => {
    expect(says(content, facts(given), policy(under))).toBe(expected);
  });
});
