import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { readPolicyText } from './prepare-home.ts';

describe('readPolicyText', () => {
  it('returns the text unchanged', () => {
    const { home } = scratch();
    writeFileSync(join(home, 'lookfirst.json'), '{"preset":"strict"}\n');
    expect(readPolicyText(join(home, 'lookfirst.json'))).toBe('{"preset":"strict"}\n');
  });

  it('returns undefined only if the file is missing', () => {
    const { home } = scratch();
    expect(readPolicyText(join(home, 'lookfirst.json'))).toBeUndefined();
    mkdirSync(join(home, 'folder.json'));
    expect(() => readPolicyText(join(home, 'folder.json'))).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('it is a folder') }),
    );
  });

  it('refuses a link whose target is missing, because the default policy may be looser', () => {
    const { home } = scratch();
    symlinkSync(join(home, 'gone.json'), join(home, 'lookfirst.json'));
    expect(() => readPolicyText(join(home, 'lookfirst.json'))).toThrow('it is a link to a missing file');
  });
});
