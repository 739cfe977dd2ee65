import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bench } from '../../test/support/disk.ts';
import { inspect, linkTarget, listNames } from './list.ts';

describe('listNames', () => {
  it('returns all names, sorted by code unit, with their kinds', () => {
    const disk = bench(['b', 'a/', 'B', 'é', 'link => nowhere', '.hidden', 'a b']);
    execFileSync('mkfifo', [join(disk.root, 'pipe')]);
    const { dir } = disk.place('x');
    expect(listNames(dir)).toEqual([
      { name: '.hidden', kind: 'file' },
      { name: 'B', kind: 'file' },
      { name: 'a', kind: 'directory' },
      { name: 'a b', kind: 'file' },
      { name: 'b', kind: 'file' },
      { name: 'link', kind: 'link' },
      { name: 'pipe', kind: 'fifo' },
      { name: 'é', kind: 'file' },
    ]);
  });

  it('sorts by code unit where the order by bytes differs', () => {
    const disk = bench(['\uff01', '\u{1f600}', 'a']);
    expect(listNames(disk.place('x').dir).map(({ name }) => name)).toEqual(['a', '\u{1f600}', '\uff01']);
  });

  it('returns thousands of names', () => {
    const disk = bench([]);
    for (let file = 0; file < 3000; file += 1) writeFileSync(join(disk.root, `f${file}`), '');
    expect(listNames(disk.place('x').dir)).toHaveLength(3000);
  });
});

describe('inspect and linkTarget', () => {
  it('describe a name without following links', () => {
    const disk = bench(['f', 'd/', 'l => d', 'out => OUTSIDE/x']);
    const { dir } = disk.place('x');
    expect(inspect(dir, 'l')?.isSymbolicLink()).toBe(true);
    expect(inspect(dir, 'f')?.isFile()).toBe(true);
    expect(inspect(dir, 'gone')).toBeUndefined();
    expect(linkTarget({ dir, name: 'l' })).toBe('d');
    expect(linkTarget({ dir, name: 'out' })).toBe(join(disk.outside, 'x'));
    expect(['f', 'd', 'gone'].map((name) => linkTarget({ dir, name }))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('throw system errors other than a missing name', () => {
    const { dir } = bench([]).place('x');
    expect(() => inspect(dir, 'n'.repeat(300))).toThrow(/ENAMETOOLONG/);
    expect(() => linkTarget({ dir, name: 'n'.repeat(300) })).toThrow(/ENAMETOOLONG/);
  });
});
