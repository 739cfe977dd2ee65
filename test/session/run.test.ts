import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PolicyOverrides } from '../../src/config/resolve-policy.ts';
import type { RunResult } from '../../src/model/results.ts';
import type { RunOptions } from '../../src/model/session.ts';
import type { Refusal } from '../../src/model/verdict.ts';
import { removeLayer } from '../../src/process/layer.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { treeOf } from '../support/tree-of.ts';

const here = await sandboxHere();

let base: string;
let root: string;
let sessions: Sessions;
let session: GatedSession;

async function open(policy: PolicyOverrides = {}): Promise<void> {
  await sessions?.close();
  sessions = await Sessions.open({ roots: [root], home: join(base, 'state'), policy });
  session = await sessions.session('agent');
}

beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-run-')));
  root = join(base, 'work');
  mkdirSync(root);
  await open();
});

afterEach(async () => {
  await sessions.close();
  // A kept layer may contain folders without permissions, which `rm` cannot remove.
  removeLayer({ folder: base });
});

function put(path: string, text: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
}

const text = (path: string): string => readFileSync(join(root, path), 'utf8');

async function ran(command: string, options?: RunOptions): Promise<RunResult> {
  const outcome = await session.run(command, options);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  return outcome;
}

async function refusedRun(command: string, options?: RunOptions): Promise<Refusal> {
  const outcome = await session.run(command, options);
  if (outcome.ok) throw new Error(`not refused: ${JSON.stringify(outcome)}`);
  return outcome.refusal;
}

/** Runs a command, and lets another program write after the command's own writes and before it ends. */
function runBeside(command: string, write: () => void): ReturnType<GatedSession['run']> {
  const go = join(base, 'go');
  return session.run(`${command}; echo ready; while ! [ -e '${go}' ]; do sleep 0.01; done`, {
    profile: 'undo',
    onProgress: () => {
      write();
      writeFileSync(go, '');
    },
  });
}

describe.skipIf(here === undefined)('a command', () => {
  it('may leave folders without write permission, new and existing, with changed contents', async () => {
    put('old/a.txt', 'one\n');
    const result = await ran(
      'umask 022; mkdir -p new/sub; echo x > new/sub/x.txt; chmod 500 new/sub; chmod 0 new; echo two > old/a.txt; echo b > old/b.txt; chmod 555 old',
    );
    expect(result).toMatchObject({ exitCode: 0, committed: true });
    expect(lstatSync(join(root, 'new')).mode & 0o777).toBe(0);
    expect(lstatSync(join(root, 'old')).mode & 0o777).toBe(0o555);
    chmodSync(join(root, 'new'), 0o700);
    expect(lstatSync(join(root, 'new/sub')).mode & 0o777).toBe(0o500);
    expect([text('new/sub/x.txt'), text('old/a.txt'), text('old/b.txt')]).toEqual(['x\n', 'two\n', 'b\n']);
    expect(readdirSync(join(base, 'state', 'layers'))).toEqual([]);
    for (const folder of ['new/sub', 'old']) chmodSync(join(root, folder), 0o700);
  });

  it('is refused if it leaves a path that is too long', async () => {
    put('a.txt', 'one\n');
    const refusal = await refusedRun(
      'echo two > a.txt; n=$(printf %0200d 0); for i in $(seq 30); do mkdir $n && cd $n || exit 1; done; echo x > f',
    );
    expect(refusal).toMatchObject({ code: 'UNVERIFIABLE', detail: { reason: 'its path is too long' } });
    expect([readdirSync(root), text('a.txt')]).toEqual([['a.txt'], 'one\n']);
    const layer = sessions.world.processes.kept(refusal.detail?.layer ?? '');
    if (layer === undefined) throw new Error('not kept');
    removeLayer({ folder: layer.folder });
    await expect.poll(() => existsSync(layer.folder), { timeout: 20_000 }).toBe(false);
  });

  it('is one change, which one undo takes back', async () => {
    put('a.txt', 'one\n');
    put('gone.txt', 'gone\n');
    put('d/b.txt', 'b\n');
    put('e/f/g.txt', 'g\n');
    chmodSync(join(root, 'd/b.txt'), 0o644);
    symlinkSync('a.txt', join(root, 'l'));
    const before = treeOf(root);
    const result = await ran(
      'echo two > a.txt; rm gone.txt l; mkdir -p n/m; echo x > n/m/x.txt; chmod 755 d/b.txt; mv e moved; ln -s ../a.txt d/l; : > empty',
    );
    expect(result).toMatchObject({ exitCode: 0, committed: true, change: expect.stringMatching(/^c/) });
    expect(text('a.txt')).toBe('two\n');
    expect(existsSync(join(root, 'gone.txt'))).toBe(false);
    expect(text('n/m/x.txt')).toBe('x\n');
    expect(text('moved/f/g.txt')).toBe('g\n');
    expect(readlinkSync(join(root, 'd/l'))).toBe('../a.txt');
    expect(lstatSync(join(root, 'd/b.txt')).mode & 0o777).toBe(0o755);
    const did = Object.fromEntries(result.files.map((file) => [file.path, file.did]));
    expect(did).toMatchObject({
      'a.txt': 'changed',
      'gone.txt': 'deleted',
      'n/m/x.txt': 'created',
      'd/b.txt': 'permissions',
    });
    const entries = await sessions.world.store.entries({ kinds: ['change'] });
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({ action: 'run', change: result.change });
    expect(await session.undo({ change: result.change ?? '' })).toMatchObject({ ok: true });
    expect(treeOf(root)).toEqual(before);
    expect(readdirSync(join(base, 'state', 'layers'))).toEqual([]);
  });

  it.each<[string, string]>([
    ['a folder that becomes a file', 'rm -r d; echo x > d'],
    ['a file that becomes a folder', 'rm a; mkdir a; echo x > a/b'],
    ['a folder replaced by one of its name', 'rm -r d; mkdir d; echo y > d/f; echo z > d/new'],
    ['a folder moved over another', 'rm -r e; mv d e'],
    ['two folders swapped', 'mv d t; mv e d; mv t e'],
    ['a file that becomes a link', 'ln -sf /etc/passwd a'],
    ['a link to a folder that becomes a folder', 'rm k; mkdir k; echo x > k/f'],
    ['a folder that becomes a link', 'rm -r d; ln -s e d'],
    ['names of every kind', "mkdir 'x y'; echo 1 > 'x y/ü\n\"'; echo 2 > ./-rf; echo 3 > '*'"],
    ['everything removed', 'rm -rf ./* .[a-z]*'],
  ])('%s: is committed as the shell left it, and undone', async (_what, command) => {
    for (const [path, content] of [
      ['a', 'a\n'],
      ['d/f', 'f\n'],
      ['d/s/g', 'g\n'],
      ['e/h', 'h\n'],
      ['.hid/i', 'i\n'],
    ] as const)
      put(path, content);
    symlinkSync('e', join(root, 'k'));
    const before = treeOf(root);
    const plain = join(base, 'plain');
    const { execFileSync } = await import('node:child_process');
    execFileSync('cp', ['-a', root, plain]);
    execFileSync('sh', ['-c', command], { cwd: plain });
    const result = await ran(command);
    expect(treeOf(root)).toEqual(treeOf(plain));
    expect(await session.undo({ change: result.change ?? '' })).toMatchObject({ ok: true });
    expect(treeOf(root)).toEqual(before);
  });

  it('that fails is committed with the changes it made', async () => {
    const result = await ran('echo x > a; exit 3');
    expect(result).toMatchObject({ exitCode: 3, committed: true });
    expect(text('a')).toBe('x\n');
  });

  it('that changes nothing is not recorded as a change', async () => {
    put('a', 'a\n');
    const result = await ran('echo a > a; touch a; cat a');
    expect(result).toMatchObject({ exitCode: 0, files: [], output: { head: 'a\n' } });
    expect(result.change).toBeUndefined();
  });

  it('that is cancelled changes nothing', async () => {
    const result = await ran('echo x > a; sleep 1000', { timeoutMs: 300 });
    expect(result).toMatchObject({ ended: 'timeout', committed: false, files: [] });
    expect(readdirSync(root)).toEqual([]);
    expect(readdirSync(join(base, 'state', 'layers'))).toEqual([]);
  });

  it('can be run as a dry run', async () => {
    const result = await ran('echo x > a', { writes: 'discard' });
    expect(result).toMatchObject({ committed: false, files: [{ path: 'a', did: 'created' }] });
    expect(readdirSync(root)).toEqual([]);
  });

  it('omits FIFOs and says so', async () => {
    const result = await ran('mkfifo p; echo x > a');
    expect(result.leftOut).toEqual(['p (fifo)']);
    expect(readdirSync(root)).toEqual(['a']);
  });

  it('shows small changes, which then count as seen', async () => {
    put('a', 'one\ntwo\n');
    await session.read('a');
    const result = await ran('echo three >> a');
    expect(result.files).toEqual([
      {
        path: 'a',
        did: 'changed',
        kind: 'file',
        added: 1,
        removed: 0,
        diff: expect.stringContaining('+three'),
      },
    ]);
    expect(await session.write('a', 'new\n')).toMatchObject({ ok: true });
  });

  it('makes a file unread if it changed the file without showing it', async () => {
    put('a', 'one\n');
    await session.read('a');
    await ran('seq 1 1000 > a');
    expect(await session.write('a', 'new\n')).toMatchObject({ ok: false });
  });

  it('runs in a folder of the workspace, and nowhere else', async () => {
    mkdirSync(join(root, 'd'));
    await ran('echo x > a', { cwd: 'd' });
    expect(text('d/a')).toBe('x\n');
    expect(await refusedRun('true', { cwd: '..' })).toMatchObject({ code: 'OUTSIDE_WORKSPACE' });
  });

  it('keeps long output readable for its session', async () => {
    const { output } = await ran('seq 1 100000');
    expect(output.path).toMatch(/^lookfirst-output:/);
    expect(await session.read(output.path ?? '', { offset: 50_000, limit: 2 })).toMatchObject({
      ok: true,
      text: '50000\n50001',
      complete: false,
    });
    const other = await sessions.session('other');
    expect(await other.read(output.path ?? '')).toMatchObject({ ok: false });
  });
});

describe.skipIf(here === undefined)('a state folder that cannot be written', () => {
  /** Makes it impossible to remove or keep the layer of the running command. */
  function blockLayer(): void {
    const layers = join(base, 'state', 'layers');
    for (const id of readdirSync(layers)) mkdirSync(join(layers, id, 'layer.json'), { recursive: true });
  }

  it('does not make a committed command fail', async () => {
    const result = await ran('echo two > a.txt; echo begun; sleep 0.1', { onProgress: blockLayer });
    expect(result).toMatchObject({ committed: true, change: expect.stringMatching(/^c/) });
    expect(text('a.txt')).toBe('two\n');
  });

  it('loses the writes of a refused command, and the refusal names no kept layer', async () => {
    const command = 'echo x > f; chmod 444 a.txt; echo two > a.txt; echo begun; sleep 0.1';
    put('a.txt', 'one\n');
    chmodSync(join(root, 'a.txt'), 0o444);
    const refusal = await refusedRun(`rm -f a.txt; ${command}`, { onProgress: blockLayer });
    expect(refusal).toMatchObject({ code: 'READ_ONLY' });
    expect(refusal.detail).not.toHaveProperty('layer');
    expect(existsSync(join(root, 'f'))).toBe(false);
  });

  it('keeps no layer after a failed commit that cannot be repeated', async () => {
    const layers = join(base, 'state', 'layers');
    const failing = session.run('echo two > a.txt; echo begun; sleep 0.1', {
      onProgress: () => {
        const [id = ''] = readdirSync(layers);
        rmSync(join(layers, id, 'up-0'), { recursive: true });
        mkdirSync(join(layers, id, 'layer.new'));
      },
    });
    await expect(failing).rejects.toMatchObject({ code: 'IO_FAILED', reason: 'ENOENT' });
    expect(readdirSync(layers)).toEqual([]);
    expect(existsSync(join(root, 'a.txt'))).toBe(false);
  });

  it('loses the middle of a long output, but commits the command', async () => {
    const { output, committed } = await ran('echo begun; sleep 0.1; seq 1 100000; echo two > a.txt', {
      onProgress: (bytes) => bytes < 10 && writeFileSync(join(base, 'state', 'outputs'), ''),
    });
    expect(committed).toBe(true);
    expect(output.tail).toMatch(/99999\n100000\n$/);
    expect(output).not.toHaveProperty('path');
  });

  it('starts no command if no layer can be made', async () => {
    await ran('true');
    rmSync(join(base, 'state', 'layers'), { recursive: true });
    writeFileSync(join(base, 'state', 'layers'), '');
    await expect(session.run('echo two > a.txt')).rejects.toMatchObject({
      code: 'IO_FAILED',
      unchanged: true,
    });
    expect(existsSync(join(root, 'a.txt'))).toBe(false);
  });
});

it.skipIf(here === undefined)(
  'a command that creates a file whose name is not UTF-8 is refused',
  async () => {
    const refusal = await refusedRun(`echo x > f; echo x > "$(printf 'a\\377')"`);
    expect(refusal).toMatchObject({ code: 'UNVERIFIABLE', path: 'a\ufffd' });
    expect(readdirSync(root)).toEqual([]);
  },
);

describe.skipIf(here === undefined)('a command is refused if it changes', () => {
  it.each<[string, string]>([
    ['a protected file', 'echo x > id_rsa'],
    ['a git hook', 'mkdir -p .git/hooks; echo x > .git/hooks/pre-commit'],
    ['a program in git configuration', 'mkdir -p .git; printf "[core]\\n\\thooksPath = x\\n" > .git/config'],
    ['the configuration of an agent', 'mkdir .claude; echo {} > .claude/settings.json'],
    ['a folder with a protected file', 'rm -r keys'],
  ])('%s', async (_what, command) => {
    put('keys/id_rsa', 'secret');
    expect(await refusedRun(command)).toMatchObject({ code: 'PROTECTED' });
    expect(treeOf(root)).toMatchObject({ 'keys/id_rsa': expect.anything() });
    expect(readdirSync(root)).toEqual(['keys']);
    expect(readdirSync(join(base, 'state', 'layers'))).toEqual([]);
  });

  it('a protected path, unless the policy trusts commands with it', async () => {
    await open({ commands: { trust: ['.claude/**'] } });
    await ran('mkdir .claude; echo {} > .claude/settings.json');
    expect(text('.claude/settings.json')).toBe('{}\n');
  });

  it('a file without write permission', async () => {
    put('a', 'a\n');
    chmodSync(join(root, 'a'), 0o444);
    expect(await refusedRun('rm -f a; echo x > a')).toMatchObject({ code: 'READ_ONLY', path: 'a' });
    expect(text('a')).toBe('a\n');
  });

  it('anything in a read-only session', async () => {
    await open({ readOnly: true });
    expect(await refusedRun('echo x > a')).toMatchObject({ code: 'READ_ONLY' });
    expect(await ran('true')).toMatchObject({ exitCode: 0 });
  });

  it('anything in a read-only folder', async () => {
    mkdirSync(join(root, 'ro'));
    await sessions.close();
    sessions = await Sessions.open({
      roots: [root],
      home: join(base, 'state'),
      readOnlyRoots: [join(root, 'ro')],
    });
    session = await sessions.session('agent');
    expect(await refusedRun('echo x > ro/f')).toMatchObject({ code: 'READ_ONLY', path: 'ro/f' });
  });

  it('a file to more than the allowed size', async () => {
    await open({ commands: { fileBytes: 1000 } });
    expect(await refusedRun('head -c 2000 /dev/zero > a', { profile: 'undo' })).toMatchObject({
      code: 'TOO_LARGE',
    });
  });
});

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
    expect(sessions.world.workspace.annexes).toEqual([]);
  });
});

describe.skipIf(here === undefined)('a change of another writer', () => {
  const LINES = 'one\ntwo\nthree\nfour\nfive\n';

  it('in another part of the file is merged', async () => {
    put('a', LINES);
    await session.read('a');
    const outcome = await runBeside('sed -i s/one/ONE/ a', () => put('a', LINES.replace('five', 'FIVE')));
    expect(outcome).toMatchObject({ ok: true, merged: ['a'] });
    expect(text('a')).toBe(LINES.replace('one', 'ONE').replace('five', 'FIVE'));
    await session.undo({});
    expect(text('a')).toBe(LINES.replace('five', 'FIVE'));
  });

  it.each<[string, string, () => void]>([
    ['changed the same line', 'sed -i s/one/ONE/ a', () => put('a', LINES.replace('one', 'uno'))],
    ['changed a file that the command removed', 'rm a', () => put('a', LINES.replace('one', 'uno'))],
    ['removed a file that the command changed', 'echo six >> a', () => rmSync(join(root, 'a'))],
    ['made a file that the command made', 'echo x > n', () => put('n', 'theirs\n')],
    ['added a file to a folder that the command removed', 'rm -r d', () => put('d/new', 'theirs\n')],
  ])('that %s is a conflict', async (_what, command, write) => {
    put('a', LINES);
    put('d/f', 'f\n');
    await session.read('a');
    const outcome = await runBeside(command, write);
    expect(outcome).toMatchObject({
      ok: false,
      refusal: { code: 'COMMAND_CONFLICT', detail: { output: 'ready\n' } },
    });
    const after = treeOf(root);
    const layer = outcome.ok ? '' : (outcome.refusal.detail?.layer ?? '');
    expect(await session.run({ kept: 'c0' })).toMatchObject({ ok: false });
    expect(await session.run({ kept: layer })).toMatchObject({ ok: true, change: layer });
    expect(treeOf(root)).not.toEqual(after);
    await session.undo({ change: layer });
    expect(treeOf(root)).toEqual(after);
    expect(readdirSync(join(base, 'state', 'layers'))).toEqual([]);
  });

  it('to other files is no conflict', async () => {
    put('a', LINES);
    const outcome = await runBeside('sed -i s/one/ONE/ a', () => put('b', 'theirs\n'));
    expect(outcome).toMatchObject({ ok: true });
    expect(text('b')).toBe('theirs\n');
  });

  it('that the session has not seen is never dropped', async () => {
    put('a', LINES);
    await session.read('a');
    put('a', LINES.replace('five', 'FIVE'));
    expect(await refusedRun(`printf 'ONE\\ntwo\\nthree\\nfour\\nfive\\n' > a`)).toMatchObject({
      code: 'COMMAND_CONFLICT',
      detail: { diff: expect.stringContaining('+FIVE') },
    });
    expect(text('a')).toBe(LINES.replace('five', 'FIVE'));
    await ran('sed -i s/one/ONE/ a');
    expect(text('a')).toBe(LINES.replace('one', 'ONE').replace('five', 'FIVE'));
  });

  it("is not suspected in the effect of the session's own command", async () => {
    put('a', LINES);
    await session.read('a');
    await ran('seq 1 1000 > a');
    await ran(`printf '${LINES.replaceAll('\n', '\\n')}' > a`);
    expect(text('a')).toBe(LINES);
  });

  it('matters under `seen-only`: a command may change only files that were read', async () => {
    await open({ commands: { writes: 'seen-only' } });
    put('a', LINES);
    expect(await refusedRun('echo x > a')).toMatchObject({ code: 'NOT_READ', path: 'a' });
    await session.read('a');
    await ran('echo x > a; echo y > new');
    expect(text('a')).toBe('x\n');
  });

  it('is overwritten under `apply`', async () => {
    await open({ commands: { writes: 'apply' } });
    put('a', LINES);
    await session.read('a');
    put('a', LINES.replace('five', 'FIVE'));
    await ran('echo x > a');
    expect(text('a')).toBe('x\n');
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

it('no command runs without a sandbox', async () => {
  const path = process.env['PATH'];
  process.env['PATH'] = '/nowhere';
  try {
    const { Processes } = await import('../../src/process/processes.ts');
    const processes = new Processes({ home: join(base, 'state'), env: process.env, attributes: undefined });
    Object.defineProperty(sessions.world, 'processes', { value: processes });
    expect(await refusedRun('echo x > a')).toMatchObject({ code: 'NO_SANDBOX', next: 'ask_human' });
    expect(readdirSync(root)).toEqual([]);
  } finally {
    process.env['PATH'] = path;
  }
});

describe.skipIf(here === undefined)('secrets of a command', () => {
  const token = `ghp_${'a1B2'.repeat(9)}`;

  it('are masked in its output, in the kept output and in the diff', async () => {
    put('.env', 'API_KEY=very-private-42\nNAME=me\n');
    put('n.txt', 'x\n');
    const result = await ran(
      `cat .env; echo ${token}; echo key is very-private-42; echo "# note" >> .env; echo "t=${token}" > n.txt`,
    );
    expect(result.output.head).toBe('API_KEY=[masked]\nNAME=[masked]\n[masked]\nkey is [masked]\n');
    expect(JSON.stringify(result)).not.toMatch(/very-private|a1B2a1B2/);
    const long = await ran(`seq 20000; echo ${token}; cat .env; seq 20000`);
    const read = await session.read(long.output.path ?? '', { offset: 20_001, limit: 3 });
    expect(read).toMatchObject({ ok: true, text: '[masked]\nAPI_KEY=[masked]\nNAME=[masked]' });
  });

  it('are masked in its journal entry, whatever the policy shows', async () => {
    await open({ secrets: 'show' });
    const { change = '', output } = await ran(`echo ${token}; : > made.txt`);
    expect(output.head).toBe(`${token}\n`);
    const [entry] = await sessions.world.store.entries({ change, limit: 1 });
    expect(entry?.text).toBe('echo [masked]; : > made.txt');
  });

  it('are masked in a conflict, and in the command line of the kept layer', async () => {
    put('.env', 'A=first-value\n');
    const outcome = await runBeside(`: ${token}; echo B=2 > .env`, () => put('.env', 'A=other-value\n'));
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'COMMAND_CONFLICT' } });
    expect(JSON.stringify(outcome)).not.toMatch(/first-value|other-value/);
    const kept = readdirSync(join(base, 'state/layers')).map((id) =>
      readFileSync(join(base, 'state/layers', id, 'layer.json'), 'utf8'),
    );
    expect(kept).toHaveLength(1);
    expect(kept.join()).not.toContain(token);
  });

  it('do not count as seen if a diff shows them masked', async () => {
    await ran(`echo 'A=secret-one' > .env`);
    expect(await session.write('.env', 'A=[x]\n')).toMatchObject({ ok: false });
    expect(text('.env')).toBe('A=secret-one\n');
  });
});
