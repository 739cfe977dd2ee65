import { rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bench } from '../../test/support/disk.ts';
import { treeOf } from '../../test/support/tree.ts';
import { makeOneFolder, removeFolder } from './folders.ts';

describe('makeOneFolder', () => {
  it('makes a folder with the mode of the system, or with the given one', async () => {
    const disk = bench([], { durability: 'full' });
    const made = await makeOneFolder(disk.context, disk.place('d'));
    expect([treeOf(disk.root), made]).toEqual([['d/'], { mode: 0o777 & ~process.umask() }]);
    expect(await makeOneFolder(disk.context, disk.place('e'), 0o710)).toEqual({ mode: 0o710 });
  });

  it('accepts a folder that another process has made, and nothing else', async () => {
    const disk = bench(['d/', 'f', 'l => d']);
    const made = ['d', 'f', 'l'].map((path) => makeOneFolder(disk.context, disk.place(path, 'parents')));
    expect(await Promise.all(made)).toEqual(['there', 'taken', 'taken']);
    expect(treeOf(disk.outside)).toEqual([]);
  });

  it('leaves nothing behind if it fails', async () => {
    const disk = bench([]);
    const place = { ...disk.place('d'), name: 'n'.repeat(300) };
    await expect(makeOneFolder(disk.context, place)).rejects.toThrow(/too long/);
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
