import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { NamedDirectory } from '../workspace/pinned.ts';
import { NewestFiles } from './ripgrep-records.ts';

describe('the newest files', () => {
  it('are selected from any number, in any order', () => {
    const { root } = scratch();
    const names = Array.from({ length: 97 }, (_, index) => `f${(index * 31) % 97}`);
    for (const name of names) {
      writeFileSync(join(root, name), '');
      utimesSync(join(root, name), 0, Number(name.slice(1)));
    }
    const files = new NewestFiles(new NamedDirectory(root), 3, 2);
    for (const name of names) files.add([name]);
    expect(files.newest()).toEqual(['f96', 'f95', 'f94', 'f93', 'f92']);
    expect(files.cut).toBe(92);
  });

  it('are those with the first names if all have the same time', () => {
    const { root } = scratch();
    const names = Array.from({ length: 40 }, (_, index) => `f${99 - index}`);
    for (const name of names) {
      writeFileSync(join(root, name), '');
      utimesSync(join(root, name), 0, 1);
    }
    const files = new NewestFiles(new NamedDirectory(root), 1, 2);
    for (const name of names) files.add([name]);
    expect(files.newest()).toEqual(['f60', 'f61', 'f62']);
  });

  it('do not include deleted files; files that cannot be named are counted apart', () => {
    const { root } = scratch();
    writeFileSync(join(root, 'a'), '');
    const files = new NewestFiles(new NamedDirectory(root), 3);
    files.add(['a', 'gone']);
    expect(files.newest()).toEqual(['a']);
    expect(files.cut).toBe(0);
    files.add(['not\uFFFDutf-8', 'a/below-a-file']);
    expect([files.cut, files.unreachable]).toEqual([0, 2]);
  });
});
