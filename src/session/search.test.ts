import { execFileSync } from 'node:child_process';
import { readdirSync, readlinkSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeTree, type Scratch, scratch } from '../../test/support/tree.ts';
import type { SearchResult } from '../model/results.ts';
import type { SearchOptions } from '../model/session.ts';
import { strongestGuarantee } from '../workspace/pinned.ts';
import { Workspace } from '../workspace/workspace.ts';
import type { SearchWorld } from './find.ts';
import { searchText } from './search.ts';

function open(places: Scratch, options: NonNullable<Parameters<typeof Workspace.open>[1]> = {}): SearchWorld {
  const workspace = Workspace.open([places.root], options);
  onTestFinished(() => workspace.close());
  return { workspace };
}

async function result(world: SearchWorld, pattern: string, options?: SearchOptions): Promise<SearchResult> {
  const outcome = await searchText(world, pattern, options);
  if (!outcome.ok) throw new Error(`${outcome.refusal.code} ${outcome.refusal.detail?.reason}`);
  const { mode, hits, truncated, matches } = outcome;
  return { mode, hits, truncated, matches };
}

/** Hits in grep's form: `path:line:text`, and `path-line-text` for context. */
async function lines(world: SearchWorld, pattern: string, options?: SearchOptions): Promise<string[]> {
  const { hits } = await result(world, pattern, options);
  return hits.map(({ path, line, text, context }) => [path, line, text].join(context === true ? '-' : ':'));
}

describe('matching lines', () => {
  it.each([
    ['are found by a regular expression', 'b.t', {}, ['d/x.md:1:bet', 'x.ts:2:bit']],
    ['are found by anchors', '^b|t$', {}, ['d/x.md:1:bet', 'x.ts:2:bit']],
    ['are found in any case with ignoreCase', 'BIT', { ignoreCase: true }, ['x.ts:2:bit']],
    ['are found in the exact case only by default', 'BIT', {}, []],
    ['are found in one folder', 'b.t', { path: 'd' }, ['d/x.md:1:bet']],
    ['are found in one file', 'b.t', { path: 'x.ts' }, ['x.ts:2:bit']],
    ['are found in files with a matching name', 'b.t', { glob: '*.ts' }, ['x.ts:2:bit']],
    ['are found in files with a matching path', 'b.t', { glob: 'd/**' }, ['d/x.md:1:bet']],
    ['are found in all files that a negated glob does not match', 'b.t', { glob: '!d/**' }, ['x.ts:2:bit']],
    ['are not found if no file matches the glob', 'b.t', { glob: 'nowhere/**' }, []],
    ['are shown with context', 'bit', { context: 1 }, ['x.ts-1-one', 'x.ts:2:bit', 'x.ts-3-end']],
    ['are found by a word that looks like a flag', '--files', {}, ['flags:1:--files']],
    ['are found by a word with a dash', '-e', {}, ['flags:2:-e']],
  ])('%s', async (_what, pattern, options, expected) => {
    const places = scratch();
    makeTree(places, ['x.ts: one\nbit\nend\n', 'd/x.md: bet\n', 'flags: --files\n-e\n']);
    expect(await lines(open(places), pattern, options)).toEqual(expected);
  });

  it.each([
    ['a word', 'foo', true, [1, 2, 3]],
    ['a word after a sign', '$foo', true, [1]],
    ['a word before a sign', 'foo()', true, [3]],
    ['signs', '++', true, [5]],
    ['an expression', '[$]?foo', false, [1, 2, 3]],
  ])('are found as whole words: %s', async (_what, pattern, literal, expected) => {
    const places = scratch();
    makeTree(places, ['a: x = $foo;\na$foo\nfoo()\nfoobar\n ++ \nC++\n']);
    const { hits } = await result(open(places), pattern, { literal, wholeWord: true });
    expect(hits.map(({ line }) => line)).toEqual(expected);
  });

  it('are counted, in the order of paths and lines', async () => {
    const places = scratch();
    makeTree(places, ['b: x\nx\n', 'a: x\n', 'c/a: x\n']);
    const { hits, ...rest } = await result(open(places), 'x');
    expect(hits.map(({ path, line }) => `${path}:${line}`)).toEqual(['a:1', 'b:1', 'b:2', 'c/a:1']);
    expect(rest).toEqual({ mode: 'lines', truncated: false, matches: 4 });
  });

  it('are limited, and marked as truncated only if some are missing', async () => {
    const places = scratch();
    makeTree(places, ['a: x\nx\nx\n', 'b: x\nx\n']);
    const world = open(places);
    expect(await result(world, 'x', { limit: 5 })).toMatchObject({ truncated: false, matches: 5 });
    const four = await result(world, 'x', { limit: 4 });
    expect(four).toMatchObject({ truncated: true, matches: 4 });
    expect(four.hits.map(({ path, line }) => `${path}:${line}`)).toEqual(['a:1', 'a:2', 'a:3', 'b:1']);
    const one = await result(world, 'x', { limit: 1 });
    expect(one).toMatchObject({ truncated: true, matches: 1 });
    expect(await result(world, 'x', { path: 'a', limit: 2 })).toMatchObject({ truncated: true, matches: 2 });
  });

  it('have context after the last of them, even at the limit', async () => {
    const places = scratch();
    makeTree(places, ['a: 1\nx\n2\n3\n4\nx\n']);
    expect(await lines(open(places), 'x', { limit: 1, context: 1 })).toEqual(['a-1-1', 'a:2:x', 'a-3-2']);
  });

  it('come from all files that match', async () => {
    const places = scratch();
    const names = Array.from({ length: 300 }, (_, index) => `f${String(index).padStart(3, '0')}`);
    makeTree(
      places,
      names.map((name) => `${name}: needle\n`),
    );
    const all = await result(open(places), 'needle', { limit: 300 });
    expect(all.hits.map(({ path }) => path)).toEqual(names);
    expect(all).toMatchObject({ truncated: false, matches: 300 });
    const some = await result(open(places), 'needle');
    expect(some).toMatchObject({ truncated: true, matches: 200 });
    expect(new Set(some.hits.map(({ path }) => path)).size).toBe(200);
  });

  it('are limited in size together with their context', async () => {
    const places = scratch();
    const wide = `${'y'.repeat(480)}\n`;
    makeTree(places, [`a: ${`${wide.repeat(20)}x\n`.repeat(50)}`]);
    const found = await result(open(places), 'x', { context: 20 });
    expect(found.truncated).toBe(true);
    expect(found.hits.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(200_000);
    expect(found.hits.length).toBeGreaterThan(300);
  });

  it('are cut around the match if they are long', async () => {
    const places = scratch();
    writeFileSync(
      join(places.root, 'min.js'),
      `${'ä'.repeat(2_000_000)}needle${'b'.repeat(2_000_000)}\nshort needle\n`,
    );
    expect(await lines(open(places), 'needle')).toEqual([
      `min.js:1:…${'ä'.repeat(150)}needle${'b'.repeat(344)}…`,
      'min.js:2:short needle',
    ]);
  });

  it('are not said to be complete if a matching file has a name that is not UTF-8', async () => {
    const places = scratch();
    writeFileSync(Buffer.concat([Buffer.from(`${places.root}/a`), Buffer.from([0xff])]), 'needle\n');
    const none = { ok: true, hits: [], truncated: true, unreadable: true };
    expect(await searchText(open(places), 'needle')).toMatchObject(none);
  });

  it('are complete if a matching file has the replacement character in its name', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a\ufffd'), 'needle\n');
    const found = { ok: true, hits: [{ path: 'a\ufffd' }], truncated: false };
    expect(await searchText(open(places), 'needle')).toMatchObject(found);
  });

  it('are shown with replacement characters if they are not UTF-8, and decoded if they are UTF-16', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'latin1'), Buffer.from('needle \xe4\n', 'latin1'));
    writeFileSync(join(places.root, 'utf16'), Buffer.from('\ufeffone\nneedle ä\n', 'utf16le'));
    writeFileSync(join(places.root, 'with-bom'), '\ufeffneedle\r\n');
    const expected = ['latin1:1:needle \uFFFD', 'utf16:2:needle ä', 'with-bom:1:needle'];
    expect(await lines(open(places), 'needle')).toEqual(expected);
  });

  it('come from files with any name', async () => {
    const places = scratch();
    const names = ['with space', '-dash', '--', 'new\nline', 'co:lon:1:x', 'täglich 日本 😀', '"quote"'];
    for (const name of names) writeFileSync(join(places.root, name), 'needle\n');
    const { hits } = await result(open(places), 'needle');
    expect(hits.map(({ path }) => path)).toEqual([...names].sort());
    for (const path of names) expect((await result(open(places), 'needle', { path })).hits).toHaveLength(1);
  });

  it('are not searched in binary files; in a binary file named by `path`, only before its first NUL', async () => {
    const places = scratch();
    const text = 'needle\n'.repeat(3);
    writeFileSync(join(places.root, 'bin'), `${text}\0needle\nneedle\n`);
    expect(await result(open(places), 'needle')).toMatchObject({ hits: [], matches: 0, truncated: false });
    const asked = await result(open(places), 'needle', { path: 'bin' });
    expect(asked).toMatchObject({ matches: 3, truncated: true });
    expect(asked.hits.map(({ line }) => line)).toEqual([1, 2, 3]);
  });
});

describe('the other modes', () => {
  const TREE = ['a: x\ny\nx x\n', 'b: y\n', 'd/c: x\n'];

  it.each([
    ['files', [{ path: 'a' }, { path: 'd/c' }], 2],
    [
      'count',
      [
        { path: 'a', count: 2 },
        { path: 'd/c', count: 1 },
      ],
      3,
    ],
  ] as const)('%s: one hit per file', async (mode, hits, matches) => {
    const places = scratch();
    makeTree(places, TREE);
    const expected = hits.map((hit) => ({ line: 0, text: '', ...hit }));
    expect(await result(open(places), 'x', { mode })).toEqual({
      mode,
      hits: expected,
      truncated: false,
      matches,
    });
  });

  it.each(['files', 'count'] as const)('%s: the limit counts files', async (mode) => {
    const places = scratch();
    makeTree(places, TREE);
    const one = await result(open(places), 'x', { mode, limit: 1 });
    expect(one.hits).toHaveLength(1);
    expect(one.truncated).toBe(true);
    expect(await result(open(places), 'x', { mode, limit: 2 })).toMatchObject({ truncated: false });
  });

  it.each([
    ['files', 1],
    ['count', 2],
  ] as const)('%s: works for one file', async (mode, matches) => {
    const places = scratch();
    makeTree(places, TREE);
    expect(await result(open(places), 'x', { mode, path: 'a' })).toMatchObject({ matches, truncated: false });
  });
});

describe('the set of searched files', () => {
  it('omits ignored, linked and protected files and those of Git', async () => {
    const places = scratch();
    makeTree(places, [
      '.gitignore: ignored\n',
      'ignored: needle',
      '.hidden: needle',
      'OUTSIDE/d/secret: needle',
      'link => OUTSIDE/d/secret',
      'folder => OUTSIDE/d',
      '.git/config: needle',
      'd/key.PEM: needle',
      'secrets/a: needle',
      'd/secrets/a: needle',
      'odd(1)/a: needle',
      'state/log: needle',
    ]);
    const world = open(places, {
      protect: ['**/*.pem', 'secrets/**', 'odd(1)/**', 'odd\\(1\\)/**'],
      protectFolders: [join(places.root, 'state')],
    });
    expect(await lines(world, 'needle')).toEqual(['.hidden:1:needle', 'd/secrets/a:1:needle']);
    expect(await lines(world, 'needle', { path: 'd' })).toEqual(['d/secrets/a:1:needle']);
    const count = await result(world, 'needle', { mode: 'count' });
    expect(count).toMatchObject({ matches: 2, truncated: false });
  });

  it('omits excluded files, whatever the other options say', async () => {
    const places = scratch();
    makeTree(places, ['a.ts: needle', 'a.test.ts: needle', 'd/b.ts: needle', 'd/b.md: needle']);
    const world = open(places);
    const exclude = '*.test.ts';
    expect(await lines(world, 'needle', { exclude, glob: '*.ts' })).toEqual([
      'a.ts:1:needle',
      'd/b.ts:1:needle',
    ]);
    expect(await lines(world, 'needle', { exclude: 'd/**' })).toEqual([
      'a.test.ts:1:needle',
      'a.ts:1:needle',
    ]);
    expect(await lines(world, 'needle', { exclude: '*.md', glob: 'd/*' })).toEqual(['d/b.ts:1:needle']);
  });

  it('is the same with the weaker containment by paths', async () => {
    const places = scratch();
    makeTree(places, ['a: needle', 'd/-b: needle', 'OUTSIDE/a: needle', 'out => OUTSIDE']);
    const world = open(places, { use: 'best-effort' });
    expect(await lines(world, 'needle')).toEqual(['a:1:needle', 'd/-b:1:needle']);
    expect(await lines(world, 'needle', { path: 'd/-b' })).toEqual(['d/-b:1:needle']);
    expect(await result(world, 'needle', { mode: 'count' })).toMatchObject({ matches: 2 });
  });

  it.each([
    ['outside', '../outside', 'OUTSIDE_WORKSPACE'],
    ['behind a link to outside', 'out/secret', 'OUTSIDE_WORKSPACE'],
    ['missing', 'nothing', 'NOT_FOUND'],
    ['a FIFO', 'fifo', 'NOT_A_FILE'],
    ['a link to a device', 'null', 'OUTSIDE_WORKSPACE'],
    ['protected', 'key.pem', 'PROTECTED'],
  ])('cannot be %s', async (_what, path, code) => {
    const places = scratch();
    makeTree(places, ['key.pem', 'OUTSIDE/secret', 'out => OUTSIDE', 'null => /dev/null']);
    execFileSync('mkfifo', [join(places.root, 'fifo')]);
    const outcome = await searchText(open(places, { protect: ['**/*.pem'] }), 'x', { path });
    expect(outcome).toMatchObject({ ok: false, refusal: { code, action: 'search', path } });
  });
});

describe('an argument', () => {
  it.each([
    ['an unclosed group', 'a(', {}, /unclosed group/],
    ['a look-ahead', 'a(?=b)', {}, /look-around/],
    ['a line break', 'a\nb', {}, /not allowed in a regex/],
    ['an expression that is too large', 'a{999}{999}{999}', {}, /size limit|too large|exceeds/],
    ['nothing', '', {}, /empty/],
    ['a NUL', 'a\0', {}, /NUL/],
    ['a glob that cannot be read', 'a', { glob: '{a' }, /without }/],
    ['no glob', 'a', { glob: '' }, /glob is empty/],
    ['an exclusion that cannot be read', 'a', { exclude: '{a' }, /without }/],
  ])('with %s is refused with the reason', async (_what, pattern, options, reason) => {
    const places = scratch();
    makeTree(places, ['a']);
    for (const path of ['.', 'a']) {
      const outcome = await searchText(open(places), pattern, { ...options, path });
      const refusal = { code: 'INVALID_ARGUMENT', detail: { reason: expect.stringMatching(reason) }, path };
      expect(outcome).toMatchObject({ ok: false, refusal });
    }
  });
});

describe.skipIf(process.platform !== 'linux')('a caller that cancels', () => {
  it('leaves no process behind', async () => {
    const places = scratch();
    makeTree(places, ['a: needle']);
    // Make the file of ignore rules a FIFO, on which ripgrep blocks.
    execFileSync('mkfifo', [join(places.root, '.gitignore')]);
    const giveUp = new AbortController();
    const ended = searchText(open(places), 'needle', { signal: giveUp.signal });
    while (processesIn(places.root) === 0) await setImmediate();
    giveUp.abort(new Error('changed my mind'));
    await expect(ended).rejects.toThrow('changed my mind');
    expect(processesIn(places.root)).toBe(0);
  });

  it.skipIf(strongestGuarantee() !== 'walk')('keeps no file open', async () => {
    const places = scratch();
    makeTree(places, ['d/a: needle', 'd/e/b: needle']);
    const world = open(places);
    await result(world, 'needle', { path: 'd/e', glob: 'x/**' });
    await result(world, 'needle', { path: 'd/e' });
    await result(world, 'needle', { path: 'd/a' });
    await searchText(world, 'needle', { path: 'd/missing' });
    await expect(searchText(world, 'needle', { path: 'd/e', signal: AbortSignal.abort() })).rejects.toThrow();
    const held = (): string[] =>
      readdirSync('/proc/self/fd')
        .map((fd) => target(`/proc/self/fd/${fd}`))
        .filter((path) => path.startsWith(places.root));
    // Poll, because the workspace keeps recently used folders open for a moment.
    await expect.poll(held).toEqual([places.root]);
  });
});

function processesIn(folder: string): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => target(`/proc/${pid}/cwd`) === folder).length;
}

function target(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

describe('searching', () => {
  it('fails with a fault if there is no ripgrep', async () => {
    const packaged = (): Promise<string> => Promise.reject(new Error('not installed'));
    const world = { ...open(scratch()), ripgrep: { packaged, searchPath: '' } };
    await expect(searchText(world, 'a')).rejects.toMatchObject({ name: 'Fault', code: 'CONFIG_INVALID' });
  });

  it('skips a file that was removed or replaced before it is read', async () => {
    const places = scratch();
    makeTree(places, ['a: needle', 'OUTSIDE/b: needle']);
    const world = open(places);
    const { locate } = world.workspace;
    // Turn the matching file into a link to outside, between the two runs of ripgrep.
    world.workspace.locate = (...args) => {
      if (args[0].endsWith('/a')) {
        unlinkSync(join(places.root, 'a'));
        symlinkSync(join(places.outside, 'b'), join(places.root, 'a'));
      }
      return locate.apply(world.workspace, args);
    };
    expect(await result(world, 'needle')).toMatchObject({ hits: [], matches: 0 });
  });
});

describe('a search that takes too long', () => {
  it.each([
    ['a folder', {}],
    ['a file', { path: 'a' }],
  ])('to find anything in %s is refused, not reported as empty', async (_what, options) => {
    const places = scratch();
    makeTree(places, ['a: x\n']);
    // This fake ripgrep lists a candidate immediately, and its second run never ends.
    const script = '#!/bin/sh\ncase "$*" in *--json*) exec sleep 1000;; esac\nprintf "./a\\000"\n';
    const binary = join(places.outside, 'rg');
    writeFileSync(binary, script, { mode: 0o755 });
    const limits = { timeMs: 300, memoryBytes: 1 << 30 };
    const world = { ...open(places), ripgrep: { packaged: async () => binary, limits } };
    expect(await searchText(world, 'x', options)).toMatchObject({
      ok: false,
      refusal: { code: 'INVALID_ARGUMENT', detail: { reason: expect.stringContaining('too long') } },
    });
  });
});
