import { mkdirSync, renameSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDescriptors } from '../../test/support/descriptors.ts';
import { type Bench, bench } from '../../test/support/disk.ts';
import { treeOf } from '../../test/support/tree.ts';
import { strongestGuarantee } from '../workspace/pinned.ts';
import type { Absent } from '../workspace/workspace.ts';
import { batchContext } from './context.ts';
import { type MadeFolders, makeFolders, removeFolder } from './folders.ts';

function absent(disk: Bench, path: string): Absent {
  const outcome = disk.workspace.locate(path, 'mkdir');
  if (!outcome.ok || outcome.located.exists) throw new Error(`${path} is not absent`);
  return outcome.located;
}

describe('makeFolders', () => {
  it('creates the missing folders, and undo removes only those', async () => {
    const disk = bench(['a/'], { durability: 'full' });
    const located = absent(disk, 'a/b/c/d');
    const made = makeFolders(disk.context, located.place, located.missing);
    expect([treeOf(disk.root), made.made]).toEqual([['a/b/c/d/'], 3]);
    made.undo();
    made.close();
    expect(treeOf(disk.root)).toEqual(['a/']);
  });

  it.skipIf(strongestGuarantee() !== 'walk')('returns the last folder, pinned', () => {
    const disk = bench(['a/']);
    const located = absent(disk, 'a/b');
    const made = makeFolders(disk.context, located.place, located.missing);
    renameSync(join(disk.root, 'a/b'), join(disk.root, 'moved'));
    symlinkSync(disk.outside, join(disk.root, 'a/b'));
    writeFileSync(`${made.dir.prefix}/f`, 'x');
    made.close();
    expect(treeOf(disk.root)).toContain('moved/f: x');
    expect(treeOf(disk.outside)).toEqual([]);
  });

  it('uses folders that another process creates meanwhile, and does not remove them', async () => {
    const disk = bench([]);
    const located = absent(disk, 'a/b');
    mkdirSync(join(disk.root, 'a'));
    const made = makeFolders(disk.context, located.place, located.missing);
    expect(made.made).toBe(1);
    made.undo();
    made.close();
    expect(treeOf(disk.root)).toEqual(['a/']);
  });

  it.skipIf(strongestGuarantee() !== 'walk')(
    'shares the handles of a batch, and only of the same folder',
    () => {
      const disk = bench([]);
      const context = batchContext(disk.context);
      const made = (path: string): MadeFolders => {
        const located = absent(disk, path);
        return makeFolders(context, located.place, located.missing.slice(0, -1));
      };
      const before = openDescriptors();
      const all = [made('a/b/one'), made('a/b/two'), made('a/b/three')];
      expect(openDescriptors() - before).toBeLessThanOrEqual(3);
      renameSync(join(disk.root, 'a/b'), join(disk.root, 'moved'));
      mkdirSync(join(disk.root, 'a/b'));
      all.push(made('a/b/four'));
      for (const [index, { dir }] of all.entries()) writeFileSync(`${dir.prefix}/${index}`, '');
      expect(treeOf(disk.root)).toEqual(['a/b/3: ', 'moved/0: ', 'moved/1: ', 'moved/2: ']);
      for (const each of all) each.close();
    },
  );

  it('does not remove folders that are in use', async () => {
    const disk = bench([]);
    const located = absent(disk, 'a/b');
    const made = makeFolders(disk.context, located.place, located.missing);
    writeFileSync(join(disk.root, 'a/f'), 'x');
    made.undo();
    made.close();
    expect(treeOf(disk.root)).toEqual(['a/f: x']);
  });

  it.each<[string, (path: string, disk: Bench) => void, string[]]>([
    ['a file', (path) => writeFileSync(path, 'x'), ['a: x']],
    ['a link to the outside', (path, { outside }) => symlinkSync(outside, path), []],
  ])('throws a fault if %s is in the way, and leaves nothing behind', async (_what, make, tree) => {
    const disk = bench([]);
    const located = absent(disk, 'a/b');
    make(join(disk.root, 'a'), disk);
    expect(() => makeFolders(disk.context, located.place, located.missing)).toThrow(/could not change a\/b/);
    expect(treeOf(disk.root).filter((line) => !line.includes('=>'))).toEqual(tree);
    expect(treeOf(disk.outside)).toEqual([]);
  });

  it('removes the folders it created if a later one fails', async () => {
    const disk = bench([]);
    const located = absent(disk, 'a/b');
    const names = [...located.missing, 'n'.repeat(300)];
    expect(() => makeFolders(disk.context, located.place, names)).toThrow(/too long/);
    expect(treeOf(disk.root)).toEqual([]);
  });
});

describe('removeFolder', () => {
  it('removes an empty folder, and only an empty one', async () => {
    const disk = bench(['empty/', 'full/f'], { durability: 'full' });
    expect(await removeFolder(disk.context, disk.place('empty'))).toBe(true);
    expect(await removeFolder(disk.context, disk.place('full'))).toBe(false);
    expect(disk.names()).toEqual(['full']);
  });

  it('does nothing if the folder is gone', async () => {
    const disk = bench(['d/']);
    const place = disk.place('d');
    rmdirSync(join(disk.root, 'd'));
    expect(await removeFolder(disk.context, place)).toBe(true);
  });

  it('throws a fault for anything but a folder, and for a root', async () => {
    const disk = bench(['f', 'd/', 'l => d']);
    for (const path of ['f', 'l', '.']) {
      await expect(removeFolder(disk.context, disk.place(path, 'parents'))).rejects.toThrow(
        /could not change/,
      );
    }
    expect(disk.names()).toEqual(['d', 'f', 'l']);
  });
});
