import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeTree, type Scratch, scratch } from '../../test/support/tree.ts';
import type { FindOptions } from '../model/session.ts';
import { Workspace } from '../workspace/workspace.ts';
import { findFiles, type SearchWorld } from './find.ts';

function open(places: Scratch, options: NonNullable<Parameters<typeof Workspace.open>[1]> = {}): SearchWorld {
  const workspace = Workspace.open([places.root], options);
  onTestFinished(() => workspace.close());
  return { workspace };
}

/** Found paths sorted by name, for tests that do not check the order. */
async function found(world: SearchWorld, pattern: string, options?: FindOptions): Promise<string[]> {
  const outcome = await findFiles(world, pattern, options);
  if (!outcome.ok) throw new Error(outcome.refusal.code);
  return [...outcome.paths].sort();
}

describe('a pattern', () => {
  const TREE = ['a.ts', 'src/b.ts', 'src/deep/c.ts', 'src/deep/c.test.ts', 'test/d.js', '.hidden/e.ts', '.f'];

  it.each([
    ['*.ts', undefined, ['.hidden/e.ts', 'a.ts', 'src/b.ts', 'src/deep/c.test.ts', 'src/deep/c.ts']],
    ['*.{test.ts,js}', undefined, ['src/deep/c.test.ts', 'test/d.js']],
    ['src/*.ts', undefined, ['src/b.ts']],
    ['src/**/*.ts', undefined, ['src/b.ts', 'src/deep/c.test.ts', 'src/deep/c.ts']],
    ['**/deep/*', undefined, ['src/deep/c.test.ts', 'src/deep/c.ts']],
    ['deep/*.ts', 'src', ['src/deep/c.test.ts', 'src/deep/c.ts']],
    ['*.ts', 'src/deep', ['src/deep/c.test.ts', 'src/deep/c.ts']],
    ['*.ts', './src/../src/deep/', ['src/deep/c.test.ts', 'src/deep/c.ts']],
    ['*.ts', 'ROOT/src/deep', ['src/deep/c.test.ts', 'src/deep/c.ts']],
    ['.*', undefined, ['.f']],
    ['!*.ts', undefined, ['.f', 'test/d.js']],
    ['A.TS', undefined, []],
    ['nowhere/*.ts', undefined, []],
    ['a.ts/*', undefined, []],
  ])('%s in %s', async (pattern, path, expected) => {
    const places = scratch();
    makeTree(places, TREE);
    const options = path === undefined ? {} : { path: path.replace('ROOT', places.root) };
    expect(await found(open(places), pattern, options)).toEqual(expected);
  });

  it.each([
    ['nothing', ''],
    ['a NUL', 'a\0b'],
    ['half of a surrogate pair', '\ud800'],
    ['an absolute pattern', '/etc/*'],
    ['a pattern with ".."', '../*'],
    ['an unclosed class', 'a['],
  ])('with %s is refused', async (_what, pattern) => {
    const outcome = await findFiles(open(scratch()), pattern);
    expect(outcome).toMatchObject({
      ok: false,
      refusal: { code: 'INVALID_ARGUMENT', action: 'search', path: '.' },
    });
  });
});

describe('rules of ignore files', () => {
  it.each([
    ['apply outside Git', ['.gitignore: *.log\n', 'a.log', 'a.txt'], '*', {}, ['.gitignore', 'a.txt']],
    ['apply to files requested by name', ['.gitignore: *.log\n', 'a.log', 'd/b.log'], '*.log', {}, []],
    [
      'apply to files requested by path',
      ['.gitignore: d/x*\n', 'd/x.log', 'd/y.log'],
      'd/*.log',
      {},
      ['d/y.log'],
    ],
    ['have exceptions', ['.gitignore: *.log\n!b.log\n', 'a.log', 'b.log'], '*.log', {}, ['b.log']],
    ['apply in their own folder only', ['d/.gitignore: /a\n', 'd/a', 'd/e/a', 'a'], 'a', {}, ['a', 'd/e/a']],
    [
      'apply below their folder',
      ['.gitignore: *.log\n', 'd/a.log', 'd/a.txt'],
      'a.*',
      { path: 'd' },
      ['d/a.txt'],
    ],
    [
      'are relative to their own folder',
      ['.gitignore: /d/a\n', 'd/a', 'd/e/d/a'],
      'a',
      { path: 'd' },
      ['d/e/d/a'],
    ],
    [
      'of the repository apply',
      ['.git/HEAD', '.gitignore: *.log\n', 'd/a.log', 'd/b'],
      '*',
      { path: 'd' },
      ['d/b'],
    ],
    [
      'in .git/info/exclude apply',
      ['.git/info/exclude: *.log\n', 'd/a.log', 'd/b'],
      '*',
      { path: 'd' },
      ['d/b'],
    ],
    [
      'do not apply to a folder that `path` names',
      ['.gitignore: dist/\n', 'dist/a.js'],
      '*.js',
      { path: 'dist' },
      ['dist/a.js'],
    ],
    [
      'do not apply to a folder that the pattern names',
      ['.gitignore: dist/\n', 'dist/a.js'],
      'dist/*',
      {},
      ['dist/a.js'],
    ],
  ])('%s', async (_what, tree, pattern, options, expected) => {
    const places = scratch();
    makeTree(places, tree);
    expect(await found(open(places), pattern, options)).toEqual(expected);
  });

  it('above the workspace apply only within the same repository', async () => {
    const places = scratch();
    makeTree(places, ['.gitignore: z\n', 'a.txt', 'd/b.txt', 'd/.gitignore: c.txt\n', 'd/c.txt']);
    writeFileSync(join(places.base, '.gitignore'), '*.txt\n');
    const world = open(places);
    expect(await found(world, '*.txt')).toEqual(['a.txt', 'd/b.txt']);
    expect(await found(world, '*.txt', { path: 'd' })).toEqual(['d/b.txt']);
    mkdirSync(join(places.base, '.git'));
    expect(await found(world, '*.txt')).toEqual([]);
    expect(await found(world, '*.txt', { path: 'd' })).toEqual([]);
    mkdirSync(join(places.root, '.git'));
    expect(await found(world, '*.txt')).toEqual(['a.txt', 'd/b.txt']);
  });
});

describe('the result of a find', () => {
  it('is newest first, then by name, and bounded', async () => {
    const places = scratch();
    const names = ['b', 'a', 'd', 'c', 'e'];
    makeTree(places, names);
    for (const [index, name] of names.entries())
      utimesSync(join(places.root, name), 0, 1000 + Math.floor(index / 2));
    const world = open(places);
    expect(await findFiles(world, '*')).toEqual({
      ok: true,
      paths: ['e', 'c', 'd', 'a', 'b'],
      truncated: false,
    });
    expect(await findFiles(world, '*', { limit: 5 })).toMatchObject({ truncated: false });
    expect(await findFiles(world, '*', { limit: 3 })).toEqual({
      ok: true,
      paths: ['e', 'c', 'd'],
      truncated: true,
    });
  });

  it('includes files with any valid name', async () => {
    const places = scratch();
    const names = [
      'with space',
      '-dash',
      'new\nline',
      'co:lon',
      'täglich 日本 😀',
      '"quote"',
      '[x]',
      'a\\b',
      '*',
      '#',
      '!',
    ];
    for (const name of names) writeFileSync(join(places.root, name), '');
    expect(await found(open(places), '*')).toEqual([...names].sort());
  });

  it('omits a name that is not UTF-8, and says that not everything could be read', async () => {
    const places = scratch();
    writeFileSync(Buffer.concat([Buffer.from(`${places.root}/a`), Buffer.from([0xff])]), '');
    makeTree(places, ['b']);
    expect(await findFiles(open(places), '*')).toEqual({
      ok: true,
      paths: ['b'],
      truncated: true,
      unreadable: true,
    });
  });

  it('omits links, FIFOs and the files of Git', async () => {
    const places = scratch();
    makeTree(places, [
      'a',
      'OUTSIDE/secret',
      'OUTSIDE/d/secret',
      'in => a',
      'out => OUTSIDE/secret',
      'd => OUTSIDE/d',
      '.git/config',
      'sub/.git: gitdir: x',
      'sub/b',
    ]);
    execFileSync('mkfifo', [join(places.root, 'fifo')]);
    expect(await found(open(places), '*')).toEqual(['a', 'sub/b']);
  });

  it.each(['*', '*.txt', '**/secrets/*'])('omits protected files for the pattern %s', async (pattern) => {
    const places = scratch();
    makeTree(places, ['secrets/a.txt', 'd/Key.PEM', 'd/secrets/open.txt', 'state/b.txt', 'x/y/.ssh/c.txt']);
    const world = open(places, {
      protect: ['secrets/**', '**/*.pem', '**/.ssh/**'],
      protectFolders: [join(places.root, 'state')],
    });
    expect(await found(world, pattern)).toEqual(['d/secrets/open.txt']);
  });

  it('does not count protected files toward the limit', async () => {
    const places = scratch();
    makeTree(places, ['old', 'key.pem', 'other.pem']);
    utimesSync(join(places.root, 'old'), 0, 1);
    const outcome = await findFiles(open(places, { protect: ['**/*.pem'] }), '*', { limit: 1 });
    expect(outcome).toEqual({ ok: true, paths: ['old'], truncated: false });
  });

  it('has paths relative to the first root, absolute ones in other roots, and real ones behind links', async () => {
    const places = scratch();
    makeTree(places, ['d/a', 'OUTSIDE/b', 'link => d']);
    const workspace = Workspace.open([places.root, places.outside]);
    onTestFinished(() => workspace.close());
    expect(await found({ workspace }, '*', { path: 'link' })).toEqual(['d/a']);
    expect(await found({ workspace }, '*', { path: places.outside })).toEqual([join(places.outside, 'b')]);
  });

  it('is the same with the weaker containment by paths', async () => {
    const places = scratch();
    makeTree(places, ['a', 'd/a', 'OUTSIDE/a', 'out => OUTSIDE']);
    expect(await found(open(places, { use: 'best-effort' }), 'a')).toEqual(['a', 'd/a']);
  });
});

describe('a folder to search', () => {
  it.each([
    ['outside', '../outside', 'OUTSIDE_WORKSPACE'],
    ['behind a link to outside', 'out', 'OUTSIDE_WORKSPACE'],
    ['that is missing', 'nothing', 'NOT_FOUND'],
    ['that is a file', 'a', 'NOT_A_FILE'],
    ['that is a FIFO', 'fifo', 'NOT_A_FILE'],
    ['that is protected', '.git', 'PROTECTED'],
    ['without a name', '', 'INVALID_ARGUMENT'],
  ])('%s is refused', async (_what, path, code) => {
    const places = scratch();
    makeTree(places, ['a', '.git/config', 'out => OUTSIDE']);
    execFileSync('mkfifo', [join(places.root, 'fifo')]);
    const outcome = await findFiles(open(places, { protect: ['**/.git'] }), '*', { path });
    expect(outcome).toMatchObject({ ok: false, refusal: { code, action: 'search', path } });
  });

  it('that a pattern names is refused like one that `path` names', async () => {
    const places = scratch();
    makeTree(places, ['.git/config']);
    symlinkSync(places.outside, join(places.root, 'out'));
    const world = open(places, { protect: ['**/.git'] });
    expect(await findFiles(world, '.git/*')).toMatchObject({ refusal: { code: 'PROTECTED' } });
    expect(await findFiles(world, 'out/*')).toMatchObject({ refusal: { code: 'OUTSIDE_WORKSPACE' } });
  });

  it('with an ignore file that never ends is abandoned at the time limit', async () => {
    const places = scratch();
    makeTree(places, ['a', 'd/', '.gitignore => /dev/zero']);
    execFileSync('mkfifo', [join(places.root, 'd/.gitignore')]);
    const refusal = { code: 'INVALID_ARGUMENT', detail: { reason: expect.stringContaining('too long') } };
    const memory = { ...open(places), ripgrep: { limits: { timeMs: 60_000, memoryBytes: 60 << 20 } } };
    expect(await findFiles(memory, '*')).toMatchObject({ ok: false, refusal });
    const time = { ...open(places), ripgrep: { limits: { timeMs: 50, memoryBytes: 1 << 30 } } };
    expect(await findFiles(time, '*', { path: 'd' })).toMatchObject({ ok: false, refusal });
  });
});

describe('finding', () => {
  it('fails with a fault that says what to install if there is no ripgrep', async () => {
    const packaged = (): Promise<string> => Promise.reject(new Error('not installed'));
    const world = { ...open(scratch()), ripgrep: { packaged, searchPath: '' } };
    await expect(findFiles(world, '*')).rejects.toMatchObject({ name: 'Fault', code: 'CONFIG_INVALID' });
  });

  it('fails with a fault if ripgrep fails', async () => {
    const world = { ...open(scratch()), ripgrep: { packaged: async () => '/bin/ls' } };
    await expect(findFiles(world, '*')).rejects.toMatchObject({ name: 'Fault', code: 'IO_FAILED' });
  });
});
