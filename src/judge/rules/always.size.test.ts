import { describe, expect, it } from 'vitest';
import { FILE, facts, MISSING, says } from '../../../test/support/judging.ts';
import { LIMITS } from '../../model/limits.ts';
import type { JudgedAction } from '../facts.ts';
import { size } from './always.ts';

describe('size', () => {
  const limit = LIMITS.maxEditBytes;
  it.each<[JudgedAction, number, string]>([
    ['edit', limit, 'pass'],
    ['edit', limit + 1, 'TOO_LARGE'],
    ['insert', limit + 1, 'TOO_LARGE'],
    ['overwrite', limit + 1, 'TOO_LARGE'],
    ['delete', limit + 1, 'pass'],
    ['move', limit + 1, 'pass'],
  ])('%s of %d bytes: %s', (action, sizeBytes, expected) => {
    expect(says(size, facts({ action, target: { ...FILE, sizeBytes } }))).toBe(expected);
  });

  it('passes for a new file', () => {
    expect(says(size, facts({ target: MISSING }))).toBe('pass');
  });
});
