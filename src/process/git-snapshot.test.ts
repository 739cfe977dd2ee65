import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TreeSnapshot } from '../model/entry.ts';
import { bytesAtSnapshot, GitFacts } from './git-blobs.ts';
import { readBlobs } from './git-refs.ts';
import { candidatesSince, dropSnapshot, takeSnapshot } from './git-snapshot.ts';

let base: string;
let root: string;
const signal = new AbortController().signal;
const facts = new GitFacts();

function git(...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.org'];
  return execFileSync('git', [...who, ...args], { cwd: root, env, encoding: 'utf8', stdio: 'pipe' });
}

function put(path: string, text: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
}

async function snapshot(): Promise<TreeSnapshot> {
  const taken = await takeSnapshot(root, {
    folder: join(base, 'state'),
    name: 'one',
    signal,
    facts,
  });
  if ('unavailable' in taken) throw new Error(taken.unavailable);
  return taken.tree;
}

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'git-snapshot-'));
  root = join(base, 'repo');
  mkdirSync(root);
  git('init', '-q');
  put('tracked.txt', 'tracked\n');
  put('src/deep.txt', 'deep\n');
  put('dirty.txt', 'clean\n');
  put('.gitignore', 'ignored/\n');
  git('add', '-A');
  git('commit', '-qm', 'first');
  put('dirty.txt', 'dirty before\n');
  put('untracked.txt', 'untracked before\n');
  put('ignored/x', 'x');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

describe('a snapshot around a command', () => {
  it('lists the files whose bytes git does not have', async () => {
    const { loose, uncovered } = await snapshot();
    expect([...loose].sort()).toEqual(['dirty.txt', 'untracked.txt']);
    expect(uncovered).toEqual([]);
  });

  it('finds changes of files that git is told not to compare', async () => {
    put('kept.txt', 'kept\n');
    put('sparse/missing.txt', 'missing\n');
    git('add', 'kept.txt', 'sparse');
    git('commit', '-qm', 'second');
    git('update-index', '--assume-unchanged', 'tracked.txt', 'src/deep.txt');
    git('update-index', '--skip-worktree', 'src/deep.txt', 'kept.txt', 'sparse/missing.txt');
    unlinkSync(join(root, 'sparse/missing.txt'));
    const taken = await snapshot();
    const marked = ['kept.txt', 'src/deep.txt', 'tracked.txt'];
    expect([...taken.loose].sort()).toEqual(['dirty.txt', ...marked, 'untracked.txt']);
    put('sparse/missing.txt', 'made\n');
    const candidates = await candidatesSince(taken, { facts, signal });
    if ('unavailable' in candidates) throw new Error(candidates.unavailable);
    const paths = candidates.map(({ path }) => path).sort();
    expect(paths).toEqual(['dirty.txt', ...marked, 'sparse/missing.txt', 'untracked.txt'].sort());
    expect(candidates.every(({ blob }) => blob === undefined)).toBe(true);
  });

  it('finds files that were changed, deleted, created or given another mode, with the blobs of tracked ones', async () => {
    const taken = await snapshot();
    put('tracked.txt', 'changed\n');
    unlinkSync(join(root, 'src/deep.txt'));
    put('new/file.txt', 'new\n');
    put('ignored/y', 'y');
    const candidates = await candidatesSince(taken, { facts, signal });
    if ('unavailable' in candidates) throw new Error(candidates.unavailable);
    const paths = candidates.map(({ path }) => path).sort();
    expect(paths).toEqual(['dirty.txt', 'new/file.txt', 'src/deep.txt', 'tracked.txt', 'untracked.txt']);
    const tracked = candidates.filter(({ blob }) => blob !== undefined);
    const names = tracked.map(({ blob }) => blob ?? '');
    const blobs = await readBlobs(root, names, { signal });
    const bytes = Object.fromEntries(tracked.map(({ path }, i) => [path, blobs[i]?.toString()]));
    expect(bytes).toEqual({ 'tracked.txt': 'tracked\n', 'src/deep.txt': 'deep\n' });
  });

  it('still knows the former bytes after the command has committed and switched branches', async () => {
    const taken = await snapshot();
    put('tracked.txt', 'changed\n');
    git('checkout', '-qb', 'other');
    git('commit', '-qam', 'second');
    const candidates = await candidatesSince(taken, { facts, signal });
    if ('unavailable' in candidates) throw new Error(candidates.unavailable);
    const found = candidates.find(({ path }) => path === 'tracked.txt');
    const [blob] = await readBlobs(root, [found?.blob ?? ''], { signal });
    expect(String(blob)).toBe('tracked\n');
  });

  it('detects a mode change', async () => {
    const taken = await snapshot();
    chmodSync(join(root, 'tracked.txt'), 0o755);
    const candidates = await candidatesSince(taken, { facts, signal });
    expect(candidates).toContainEqual(expect.objectContaining({ path: 'tracked.txt', mode: 0o644 }));
  });

  it('works below a subfolder of the repository', async () => {
    root = join(root, 'src');
    const taken = await snapshot();
    writeFileSync(join(root, 'deep.txt'), 'other\n');
    const candidates = await candidatesSince(taken, { facts, signal });
    expect(candidates).toEqual([expect.objectContaining({ path: 'deep.txt' })]);
  });

  it('writes nothing into .git and runs no filter of the user', async () => {
    const mark = join(base, 'filter-ran');
    git('config', 'filter.spy.clean', `touch ${mark}; cat`);
    git('config', 'filter.spy.required', 'true');
    put('.gitattributes', 'tracked.txt filter=spy\n');
    const before = statSync(join(root, '.git/index')).mtimeMs;
    const indexBytes = readFileSync(join(root, '.git/index'));
    // Change the file but not its size. It is too new for git to trust its time, so git would
    // compare contents and run the filter.
    put('tracked.txt', 'TRACKED\n');
    const taken = await snapshot();
    await candidatesSince(taken, { facts, signal });
    expect(existsSync(mark)).toBe(false);
    expect(statSync(join(root, '.git/index')).mtimeMs).toBe(before);
    expect(readFileSync(join(root, '.git/index'))).toEqual(indexBytes);
    // Positive control: git itself runs the filter.
    git('add', 'tracked.txt');
    expect(existsSync(mark)).toBe(true);
  });

  it('reports nested repositories as not covered', async () => {
    mkdirSync(join(root, 'nested'));
    execFileSync('git', ['init', '-q'], { cwd: join(root, 'nested') });
    writeFileSync(join(root, 'nested/a'), 'a');
    expect((await snapshot()).uncovered).toEqual(['nested/']);
  });

  describe('of files that git converts', () => {
    const crlf = 'one\r\ntwo\r\n';
    const old = (...names: string[]): void => {
      for (const name of names) utimesSync(join(root, name), 1e9, 1e9);
    };
    const formerBytes = async (taken: TreeSnapshot): Promise<Record<string, string>> => {
      const candidates = await candidatesSince(taken, { facts, signal });
      if ('unavailable' in candidates) throw new Error(candidates.unavailable);
      const bytes = await bytesAtSnapshot(taken, candidates, { facts, signal });
      return Object.fromEntries([...bytes].map(([path, each]) => [path, each.toString('latin1')]));
    };

    beforeEach(() => {
      put('.gitattributes', '* text=auto\n');
      put('crlf.txt', crlf);
      put('mixed.txt', 'one\r\ntwo\n');
      old('.gitattributes', 'crlf.txt', 'mixed.txt');
      git('add', '.');
    });

    it.each(['2', '4'])(
      'names those whose bytes it cannot derive, for an index of version %s',
      async (version) => {
        git('update-index', `--index-version=${version}`);
        const taken = await snapshot();
        expect(taken.converted).toEqual(['mixed.txt']);
        for (const name of ['crlf.txt', 'mixed.txt', 'tracked.txt']) put(name, 'changed\n');
        expect(await formerBytes(taken)).toEqual({ 'crlf.txt': crlf, 'tracked.txt': 'tracked\n' });
      },
    );

    it('derives no bytes if a filter may keep the size', async () => {
      put('.gitattributes', 'crlf.txt filter=x\n');
      git('add', '.');
      const taken = await snapshot();
      put('.gitattributes', '* -text\n');
      put('crlf.txt', 'changed\n');
      expect(await formerBytes(taken)).toEqual({ '.gitattributes': 'crlf.txt filter=x\n' });
    });

    it('compares a split index', async () => {
      git('update-index', '--split-index');
      expect((await snapshot()).converted).toEqual(['mixed.txt']);
    });
  });

  it('removes its copy of the index', async () => {
    const taken = await snapshot();
    expect(existsSync(taken.index)).toBe(true);
    dropSnapshot(taken);
    expect(existsSync(taken.index)).toBe(false);
  });
});

it('covers a folder outside any repository, where all files are loose', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'no-git-'));
  mkdirSync(join(folder, 'w/node_modules'), { recursive: true });
  for (const name of ['w/a', 'w/b', 'w/node_modules/x']) writeFileSync(join(folder, name), 'x');
  const taken = await takeSnapshot(join(folder, 'w'), {
    folder: join(folder, 's'),
    name: 'x',
    signal,
    facts,
  });
  if ('unavailable' in taken) throw new Error(taken.unavailable);
  expect(taken.tree.loose).toEqual(['a', 'b']);
  writeFileSync(join(folder, 'w/c'), 'c');
  const found = await candidatesSince(taken.tree, { facts, signal });
  expect(found).toEqual([{ path: 'a' }, { path: 'b' }, { path: 'c' }]);
  rmSync(folder, { recursive: true, force: true });
});

it('says that the time limit was reached', async () => {
  const aborted = AbortSignal.abort();
  const taken = await takeSnapshot(root, {
    folder: base,
    name: 'x',
    signal: aborted,
    facts,
  });
  expect(taken).toEqual({ unavailable: 'the time limit was reached' });
});
