import { describe, expect, it } from 'vitest';
import { FILE, facts, MISSING, policy, says } from '../../../test/support/judging.ts';
import type { JudgedAction } from '../facts.ts';
import { size } from './always.ts';

describe('size', () => {
  const under = policy({ maxEditBytes: 100 });
  it.each<[JudgedAction, number, string]>([
    ['edit', 100, 'pass'],
    ['edit', 101, 'TOO_LARGE'],
    ['insert', 101, 'TOO_LARGE'],
    ['overwrite', 101, 'TOO_LARGE'],
    ['delete', 101, 'pass'],
    ['move', 101, 'pass'],
  ])('%s of %d bytes under a limit of 100: %s', (action, sizeBytes, expected) => {
    expect(says(size, facts({ action, target: { ...FILE, sizeBytes } }), under)).toBe(expected);
  });

  it('passes for a new file', () => {
    expect(says(size, facts({ target: MISSING }), under)).toBe('pass');
  });
});
