import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  base,
  here,
  open,
  put,
  ran,
  refusedRun,
  root,
  runBeside,
  session,
  sessions,
  text,
  useWorkspace,
} from '../support/command-workspace.ts';
import { treeOf } from '../support/tree-of.ts';

useWorkspace();

describe.skipIf(here === undefined)('git', () => {
  it('commits inside a command, and undo takes the commit back', async () => {
    const git = 'git -c user.name=a -c user.email=a@b -c init.defaultBranch=main';
    await ran(`${git} init -q . && echo 1 > a && git add a && ${git} commit -qm one`);
    const before = treeOf(root);
    const result = await ran(`echo 2 > a && ${git} commit -qam two && git log --oneline | wc -l`);
    expect(result.output.head.trim()).toBe('2');
    expect(await session.undo({ change: result.change ?? '' })).toMatchObject({ ok: true });
    expect(treeOf(root)).toEqual(before);
    expect((await ran('git log --oneline | wc -l; git status --short')).output.head.trim()).toBe('1');
  });

  it('a commit can be undone even after `git status` has refreshed the index', async () => {
    const git = 'git -c user.name=a -c user.email=a@b -c init.defaultBranch=main';
    await ran(`${git} init -q . && echo 1 > a && echo 1 > b && git add . && ${git} commit -qm one`);
    await ran(`echo 2 > a && ${git} commit -qam two`);
    const index = readFileSync(join(root, '.git/index'));
    const renew = (): string => {
      utimesSync(join(root, 'b'), 1, 1);
      return execFileSync('git', ['status', '--short'], { cwd: root, encoding: 'utf8' });
    };
    expect(renew()).toBe('');
    expect(readFileSync(join(root, '.git/index')).equals(index)).toBe(false);
    expect(await session.undo()).toMatchObject({ ok: true });
    expect((await ran('git log --oneline | wc -l; git status --short')).output.head.trim()).toBe('1');
    execFileSync('git', ['rm', '-q', '--cached', 'b'], { cwd: root });
    expect(await session.undo()).toMatchObject({ ok: false, refusal: { code: 'STALE' } });
  });
});

describe.skipIf(here === undefined)('`git status`', () => {
  const git = 'git -c user.name=a -c user.email=a@b -c init.defaultBranch=main';

  it('alone is no change, and the undo of an earlier change of the index needs no merge', async () => {
    await ran(`${git} init -q . && echo 1 > a && echo 1 > b && git add . && ${git} commit -qm one`);
    const { change = '' } = await ran('echo 2 > a && git add a');
    utimesSync(join(root, 'b'), 1, 1);
    const status = await ran('git status --short');
    expect(status).toMatchObject({ output: { head: 'M  a\n' }, files: [] });
    expect(status.change).toBeUndefined();
    expect(await session.undo({ change })).toMatchObject({ ok: true });
    expect((await ran('git status --short')).output.head).toBe('');
  });

  it('beside a change of a file leaves the index out of the change', async () => {
    await ran(`${git} init -q . && echo 1 > a && git add . && ${git} commit -qm one`);
    utimesSync(join(root, 'a'), 1, 1);
    const result = await ran('echo 2 > b; git status --short');
    expect(result).toMatchObject({ output: { head: '?? b\n' }, files: [{ path: 'b' }] });
    expect((await ran('git status --short')).output.head).toBe('?? b\n');
  });

  it.each(['update-index --assume-unchanged a', 'update-index --chmod=+x a', 'rm -q --cached a'])(
    'is not all that `git %s` does: the index is a change',
    async (command) => {
      await ran(`${git} init -q . && echo 1 > a && git add . && ${git} commit -qm one`);
      expect((await ran(`git ${command}`)).files.map(({ path }) => path)).toEqual(['.git/index']);
    },
  );
});

describe.skipIf(here === undefined)('a git index that another program renews meanwhile', () => {
  const outside = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      cwd: root,
      encoding: 'utf8',
    });

  /** Makes `git status` rewrite the index. */
  const renew = (name: string): void => {
    utimesSync(join(root, name), 1, 1);
    outside('status', '--short');
  };

  it('is no conflict if the command renewed it, too', async () => {
    for (const name of ['a', 'b']) put(name, '1\n');
    for (const args of [
      ['init', '-q'],
      ['add', '.'],
      ['commit', '-qm', 'one'],
    ])
      outside(...args);
    const outcome = await runBeside('touch -d 2001-01-01 b; git status --short; echo 2 > c', () =>
      renew('a'),
    );
    expect(outcome).toMatchObject({ ok: true, files: [{ path: 'c' }] });
    expect(outside('status', '--short')).toBe('?? c\n');
  });

  it('is a conflict if the command staged a file', async () => {
    for (const name of ['a', 'b']) put(name, '1\n');
    for (const args of [
      ['init', '-q'],
      ['add', '.'],
      ['commit', '-qm', 'one'],
    ])
      outside(...args);
    const outcome = await runBeside('echo 2 > b; git add b', () => renew('a'));
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'COMMAND_CONFLICT', path: '.git/index' } });
  });
});

describe.skipIf(here === undefined)('a git worktree', () => {
  const git = 'git -c user.name=a -c user.email=a@b';

  async function openWorktree(): Promise<string> {
    const main = join(base, 'main');
    const { execFileSync } = await import('node:child_process');
    const sh = (script: string) => execFileSync('sh', ['-c', script], { cwd: base, stdio: 'ignore' });
    sh(`git init -q main && cd main && echo 1 > a && git add a && ${git} commit -qm one`);
    rmSync(root, { recursive: true });
    sh(`cd main && git worktree add -q ../work -b side`);
    await open();
    return main;
  }

  it('commits to its repository, and undo takes the commit back', async () => {
    const main = await openWorktree();
    const before = [treeOf(root), treeOf(join(main, '.git'))];
    const result = await ran(`echo 2 > a && ${git} commit -qam two && git log --oneline | wc -l`);
    expect(result.output.head.trim()).toBe('2');
    expect(treeOf(join(main, '.git'))).not.toEqual(before[1]);
    expect(await session.undo({ change: result.change ?? '' })).toMatchObject({ ok: true });
    expect([treeOf(root), treeOf(join(main, '.git'))]).toEqual(before);
  });

  it('protects the hooks of its repository, whose files tools cannot read', async () => {
    const main = await openWorktree();
    expect(await refusedRun(`echo x > ${main}/.git/hooks/pre-commit`)).toMatchObject({ code: 'PROTECTED' });
    expect(await session.read(join(main, '.git/HEAD'))).toMatchObject({
      ok: false,
      refusal: { code: 'OUTSIDE_WORKSPACE' },
    });
  });

  it('is accepted only if its repository lists it', async () => {
    const outside = join(base, 'victim');
    mkdirSync(outside);
    writeFileSync(join(root, '.git'), `gitdir: ${outside}\n`);
    await open();
    expect(sessions.world.workspace.extraRoots).toEqual([]);
  });
});

describe.skipIf(here === undefined)('scratch folders', () => {
  it('are written directly if git ignores them, and named in the result', async () => {
    put('.gitignore', 'node_modules\n');
    put('node_modules/p/i.js', 'x\n');
    put('packages/a/node_modules/q/i.js', 'x\n');
    await ran('git init -q .');
    const result = await ran(
      'echo y > node_modules/p/n.js; echo z > a; echo w > packages/a/node_modules/q/n.js',
    );
    expect([...result.scratch].sort()).toEqual(['node_modules', 'packages/a/node_modules']);
    expect(result.files.map(({ path }) => path)).toEqual(['a']);
    expect(text('node_modules/p/n.js')).toBe('y\n');
    await session.undo({ change: result.change ?? '' });
    expect(text('node_modules/p/n.js')).toBe('y\n');
  });

  it('are layered if git does not ignore them, or if they are links', async () => {
    put('node_modules/p/i.js', 'x\n');
    mkdirSync(join(base, 'elsewhere'));
    symlinkSync(join(base, 'elsewhere'), join(root, 'target'));
    put('.gitignore', 'target\n');
    await ran('git init -q .');
    const result = await ran('echo y > node_modules/n; echo x > target/x 2>/dev/null');
    expect(result.scratch).toEqual([]);
    expect(result.files.map(({ path }) => path)).toEqual(['node_modules/n']);
    expect(readdirSync(join(base, 'elsewhere'))).toEqual([]);
  });
});
