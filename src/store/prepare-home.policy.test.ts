import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { readPolicyText } from './prepare-home.ts';

describe('readPolicyText', () => {
  it('gives the text as it stands', () => {
    const { home } = scratch();
    writeFileSync(join(home, 'lookfirst.json'), '{"preset":"strict"}\n');
    expect(readPolicyText(join(home, 'lookfirst.json'))).toBe('{"preset":"strict"}\n');
  });

  it('says that there is none only when there is none', () => {
    const { home } = scratch();
    expect(readPolicyText(join(home, 'lookfirst.json'))).toBeUndefined();
    mkdirSync(join(home, 'folder.json'));
    expect(() => readPolicyText(join(home, 'folder.json'))).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('EISDIR') }),
    );
  });
});
