import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { makeFolder } from './prepare-home.ts';

it('makes a private folder and missing parents, and leaves existing folders unchanged', () => {
  const { base } = scratch();
  mkdirSync(join(base, 'there'), { mode: 0o755 });
  makeFolder(join(base, 'there/new/deep'));
  makeFolder(join(base, 'there/new/deep'));
  const modes = ['there', 'there/new', 'there/new/deep'].map(
    (name) => statSync(join(base, name)).mode & 0o777,
  );
  expect(modes).toEqual([0o755, 0o700, 0o700]);
});

it('accepts a link to a folder', () => {
  const { base, root } = scratch();
  symlinkSync(root, join(base, 'link'));
  makeFolder(join(base, 'link'));
  makeFolder(join(base, 'link/in'));
  expect(statSync(join(root, 'in')).isDirectory()).toBe(true);
});

it('fails if a file is in the way or the parent is not writable', () => {
  const { base } = scratch();
  writeFileSync(join(base, 'file'), '');
  expect(() => makeFolder(join(base, 'file'))).toThrow(/EEXIST/);
  expect(() => makeFolder(join(base, 'file/in'))).toThrow(/ENOTDIR/);
  expect(() => makeFolder('/proc/lookfirst/state')).toThrow(/ENOENT|EACCES|EPERM/);
});
