import { describe, expect, it } from 'vitest';
import { FILE, facts, says } from '../../../test/support/judging.ts';
import { recursive } from './always.ts';

const FOLDER = { ...FILE, kind: 'directory' } as const;

describe('recursive', () => {
  it.each([
    ['an empty folder does not need `recursive`', { empty: true, recursive: false }, 'pass'],
    ['a folder with entries needs `recursive`', { empty: false, recursive: false }, 'INVALID_ARGUMENT'],
    ['a folder with entries passes with `recursive`', { empty: false, recursive: true }, 'pass'],
    ['a folder that was not read counts as not empty', undefined, 'INVALID_ARGUMENT'],
  ])('%s', (_rule, folder, expected) => {
    expect(says(recursive, facts({ action: 'delete', target: FOLDER, folder }))).toBe(expected);
  });

  it('a file, or another action, does not need `recursive`', () => {
    expect(says(recursive, facts({ action: 'delete' }))).toBe('pass');
    expect(says(recursive, facts({ action: 'move', target: FOLDER }))).toBe('pass');
  });
});
