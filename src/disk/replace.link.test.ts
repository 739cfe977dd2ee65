import { lstatSync, mkdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bench } from '../../test/support/disk.ts';
import { treeOf } from '../../test/support/tree.ts';
import { makeLink } from './replace.ts';

describe('makeLink', () => {
  it.each(['f', 'nowhere', '../outside/f', '/etc'])(
    'creates a link to %j, with the target unchanged',
    async (target) => {
      const disk = bench(['f'], { durability: 'full' });
      expect(await makeLink(disk.context, disk.place('l', 'parents'), target)).toEqual({ ok: true });
      expect(readlinkSync(join(disk.root, 'l'))).toBe(target);
    },
  );

  it.each<[string, (path: string) => void]>([
    ['a file', (path) => writeFileSync(path, 'theirs')],
    ['a folder', (path) => mkdirSync(path)],
  ])('does not replace %s that has the name', async (_what, make) => {
    const disk = bench([]);
    make(join(disk.root, 'l'));
    const before = treeOf(disk.root);
    expect(await makeLink(disk.context, disk.place('l', 'parents'), 'f')).toMatchObject({
      ok: false,
      reason: 'exists',
    });
    expect(treeOf(disk.root)).toEqual(before);
    expect(lstatSync(join(disk.root, 'l')).isSymbolicLink()).toBe(false);
  });
});
