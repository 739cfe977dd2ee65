import { chmodSync, copyFileSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { rgPath } from '@vscode/ripgrep';
import { describe, expect, it } from 'vitest';
import { type Scratch, scratch } from '../../test/support/tree.ts';
import { findRipgrep } from './ripgrep.ts';

async function notInstalled(): Promise<string> {
  throw new Error('Could not find @vscode/ripgrep-linux-x64.');
}

function program(folder: string): string {
  mkdirSync(folder, { recursive: true });
  copyFileSync('/bin/true', join(folder, 'rg'));
  chmodSync(join(folder, 'rg'), 0o755);
  return folder;
}

describe.skipIf(process.platform === 'win32')('ripgrep', () => {
  it('comes from the package', async () => {
    expect(await findRipgrep({ searchPath: '/nowhere' }, [])).toBe(realpathSync(rgPath));
  });

  it('is found on PATH if the package is not installed, or its file is missing', async () => {
    const { base } = scratch();
    const folder = program(join(base, 'bin'));
    const searchPath = `/nowhere:${folder}`;
    expect(await findRipgrep({ packaged: notInstalled, searchPath }, [])).toBe(join(folder, 'rg'));
    const packaged = async (): Promise<string> => join(base, 'gone');
    expect(await findRipgrep({ packaged, searchPath }, [])).toBe(join(folder, 'rg'));
  });

  it.each([
    ['is nowhere', () => '/nowhere'],
    ['lies in the workspace', ({ root }: Scratch) => program(join(root, 'bin'))],
    [
      'is a link into the workspace',
      ({ root, base }: Scratch) => {
        symlinkSync(program(join(root, 'bin')), join(base, 'bin'));
        return join(base, 'bin');
      },
    ],
    [
      'is found by a relative folder',
      ({ base }: Scratch) => `:${relative(process.cwd(), program(join(base, 'bin')))}`,
    ],
    [
      'cannot be run',
      ({ base }: Scratch) => {
        writeFileSync(join(base, 'rg'), '', { mode: 0o644 });
        return base;
      },
    ],
  ])('is a fault that says what to install if rg %s', async (_what, prepare) => {
    const places = scratch();
    const found = findRipgrep({ packaged: notInstalled, searchPath: prepare(places) }, [places.root]);
    await expect(found).rejects.toMatchObject({
      name: 'Fault',
      code: 'CONFIG_INVALID',
      reason: 'ripgrep',
      message: expect.stringMatching(/npm install --include=optional.*on PATH as rg/),
    });
  });
});
