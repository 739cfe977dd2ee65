import { describe, expect, it } from 'vitest';
import { FILE, facts, says } from '../../../test/support/judging.ts';
import { recursive } from './folder.ts';

const FOLDER = { ...FILE, kind: 'directory' } as const;

describe('recursive', () => {
  it.each([
    ['an empty folder needs no word', { empty: true, recursive: false }, 'pass'],
    ['a full one needs the word', { empty: false, recursive: false }, 'INVALID_ARGUMENT'],
    ['and has it', { empty: false, recursive: true }, 'pass'],
    ['a folder not looked into counts as full', undefined, 'INVALID_ARGUMENT'],
  ])('%s', (_rule, folder, expected) => {
    expect(says(recursive, facts({ action: 'delete', target: FOLDER, folder }))).toBe(expected);
  });

  it('a file, or another action, does not ask for it', () => {
    expect(says(recursive, facts({ action: 'delete' }))).toBe('pass');
    expect(says(recursive, facts({ action: 'move', target: FOLDER }))).toBe('pass');
  });
});
