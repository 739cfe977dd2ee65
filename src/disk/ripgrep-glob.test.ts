import { execFileSync } from 'node:child_process';
import { rgPath } from '@vscode/ripgrep';
import { describe, expect, it } from 'vitest';
import { makeTree, scratch } from '../../test/support/tree.ts';
import { type FileGlob, readGlob } from './ripgrep-glob.ts';

function read(glob: string): FileGlob {
  const found = readGlob(glob);
  if ('problem' in found) throw new Error(found.problem);
  return found;
}

describe('a glob', () => {
  // Each row: a glob, paths that it matches, and paths that it does not match. These tests cover
  // our own matching; the tests below cover the preselection by ripgrep.
  it.each([
    ['src/*.ts', ['src/a.ts'], ['src/b/a.ts', 'x/src/a.ts', 'src/a.tsx']],
    ['./src/*.ts', ['src/a.ts'], ['a.ts']],
    ['src/**/*.ts', ['src/a.ts', 'src/b/a.ts', 'src/b/c/a.ts'], ['a.ts', 'lib/src/a.ts']],
    ['src/**', ['src/a', 'src/b/c'], ['src', 'lib/a']],
    ['**', ['a', 'a/b'], []],
    ['a/**/b/**/c', ['a/b/c', 'a/x/b/c', 'a/b/y/z/c', 'a/b/b/c'], ['a/c', 'a/b/c/d']],
    ['**/test/*.ts', ['test/a.ts', 'x/y/test/a.ts'], ['test/x/a.ts']],
    ['{src,test}/*.{ts,tsx}', ['src/a.ts', 'test/a.tsx'], ['lib/a.ts', 'src/a.js']],
    ['a/{b,{c,d}e}/f', ['a/b/f', 'a/ce/f', 'a/de/f'], ['a/c/f']],
    ['a/{,b}c', ['a/c', 'a/bc'], ['a/b']],
    ['[a-c]x', ['bx', 'q/bx'], ['dx', 'x']],
    ['[!a-c]x', ['dx'], ['bx']],
    ['[^a-c]x', ['dx'], ['bx']],
    ['[]-]', [']', '-'], ['a']],
    ['\\*\\[', ['*['], ['a[']],
    ['x/?', ['x/a', 'x/ü', 'x/😀'], ['x/ab', 'x/']],
    ['x/*😀*', ['x/a😀', 'x/😀'], ['x/a']],
    ['!*.md', ['a.ts', 'd/b.ts'], ['a.md', 'd/b.md']],
    ['!docs/**', ['a.md'], ['docs/a.md', 'docs/b/c.md']],
    ['x/a{b', undefined, undefined],
  ] as const)('%s', (glob, yes, no) => {
    if (yes === undefined) return expect(readGlob(glob)).toHaveProperty('problem');
    const { matches } = read(glob);
    expect(yes.filter((path) => !matches(path))).toEqual([]);
    expect(no.filter((path) => matches(path))).toEqual([]);
  });

  it.each([
    ['', 'empty'],
    ['./', 'empty'],
    ['/etc/*', 'below the searched folder'],
    ['a/../b', 'below the searched folder'],
    ['src/', 'write ** after it'],
    ['a}', 'without {'],
    ['[a', 'without ]'],
    ['[z-a]', 'backwards'],
    ['a\\', 'backslash'],
    ['{a,b}'.repeat(9), 'more than 256 alternatives'],
    ['a'.repeat(4001), 'longer than 4000'],
  ])('%.20s is refused', (glob, problem) => {
    expect(readGlob(glob)).toEqual({ problem: expect.stringContaining(problem) });
  });

  it.each([
    ['src/lib/**/*.ts', ['src', 'lib']],
    ['src/{a,b}/*.ts', ['src']],
    ['{src/a,src/b}/*.ts', ['src']],
    ['{src,test}/*.ts', []],
    ['src/a.ts', ['src']],
    ['*.ts', []],
    ['!src/**', []],
    ['s*/a/b', []],
  ])('%s matches only inside its literal folders: %j', (glob, base) => {
    expect(read(glob).base).toEqual(base);
  });

  it('takes bounded time for a hostile name', () => {
    const glob = `x/${'a*'.repeat(40)}b`;
    expect(read(glob).matches(`x/${'a'.repeat(250)}`)).toBe(false);
    expect(read(`${'**/a/'.repeat(30)}b`).matches(`${'a/'.repeat(400)}c`)).toBe(false);
  });
});

describe("ripgrep's preselection", () => {
  const NAMES = [
    'a.ts',
    'd/b.ts',
    '.c.ts',
    'd/a.tsx',
    'ab',
    'a b',
    '-a',
    'd/include',
    'a:b.ts',
    '[x].ts',
    'ü.ts',
  ];

  it.each([
    ['*.ts', ['a.ts', 'd/b.ts', '.c.ts', 'a:b.ts', '[x].ts', 'ü.ts']],
    ['**/*.ts', ['a.ts', 'd/b.ts', '.c.ts', 'a:b.ts', '[x].ts', 'ü.ts']],
    ['*.{ts,tsx}', ['a.ts', 'd/b.ts', '.c.ts', 'd/a.tsx', 'a:b.ts', '[x].ts', 'ü.ts']],
    ['a**', ['a.ts', 'd/a.tsx', 'ab', 'a b', 'a:b.ts']],
    ['?.ts', ['a.ts', 'd/b.ts', 'ü.ts']],
    ['a b', ['a b']],
    ['-a', ['-a']],
    ['include', ['d/include']],
    ['a:*', ['a:b.ts']],
    ['[[]x].ts', ['[x].ts']],
    ['d/*.ts', ['d/b.ts']],
    ['*', NAMES],
  ])('for %s includes every match of the glob', (glob, expected) => {
    const places = scratch();
    makeTree(places, NAMES);
    const { args, matches } = read(glob);
    const listed = execFileSync(rgPath, ['--files', '--hidden', '--null', ...args], {
      cwd: places.root,
    }).toString();
    const found = listed.split('\0').filter((path) => path !== '' && matches(path));
    expect(found.sort()).toEqual([...expected].sort());
  });
});
