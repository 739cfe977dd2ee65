import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LOOKFIRST } from '../../src/dialect/lookfirst/dialect.ts';
import { removeLayer } from '../../src/process/layer.ts';
import { commandText } from '../../src/report/command-words.ts';
import {
  base,
  here,
  put,
  ran,
  refusedRun,
  root,
  session,
  sessions,
  text,
  useWorkspace,
} from '../support/command-workspace.ts';
import { desk, ok } from '../support/desk.ts';
import { treeOf } from '../support/tree-of.ts';

useWorkspace();

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
    await expect.poll(() => existsSync(layer.folder)).toBe(false);
  });

  it('names a file of another root than the first by its absolute path', async () => {
    const t = await desk();
    const two = await t.open({ roots: [t.root, t.outside] });
    const path = join(t.outside, 'a.txt');
    const { files } = await ok(two.run(`echo x > a.txt; echo y > ${path}`));
    expect(files.map((file) => file.path).sort()).toEqual([path, 'a.txt'].sort());
    for (const name of ['p', 'r']) mkdirSync(join(t.outside, name));
    const policy = { protected: ['p/**'] };
    const guarded = await t.open({
      roots: [t.root, t.outside],
      readOnlyRoots: [join(t.outside, 'r')],
      policy,
    });
    for (const name of ['p/x.txt', 'r/x.txt']) {
      const path = join(t.outside, name);
      const outcome = await guarded.run(`echo z > ${path}`);
      expect(outcome).toMatchObject({ ok: false, refusal: { path: expect.stringContaining(t.outside) } });
    }
    const layers = join(t.home, 'layers');
    // Refused commands keep their overlay layers. Remove them here, because the clean-up after the
    // test cannot remove them without root's rights.
    for (const name of readdirSync(layers)) removeLayer({ folder: join(layers, name) });
    await expect.poll(() => readdirSync(layers)).toEqual([]);
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

  it('keeps the setgid and sticky bits of folders, also when its change of their mode is undone', async () => {
    mkdirSync(join(root, 'd'));
    mkdirSync(join(root, 'whole'));
    for (const path of ['d', 'whole']) chmodSync(join(root, path), 0o3775);
    const modes = (): string[] =>
      ['d', 'd/new', 'whole/new', 'whole/new/f8'].map((path) =>
        ((lstatSync(join(root, path), { throwIfNoEntry: false })?.mode ?? 0) & 0o7777).toString(8),
      );
    const { change } = await ran(
      'umask 022; chmod 3700 d; mkdir d/new whole/new; for i in $(seq 9); do mkdir whole/new/f$i; done',
    );
    expect(modes()).toEqual(['3700', '2755', '2755', '2755']);
    await ok(session.undo({ change: change ?? '' }));
    expect(modes()).toEqual(['3775', '0', '0', '0']);
  });

  it('is refused if it removes a folder with a name that is not UTF-8', async () => {
    put('d/a.txt', 'one\n');
    execFileSync('/bin/sh', ['-c', `echo x > "$(printf 'd/b\\377')"; mkdir -p "$(printf 'e/c\\377/f')"`], {
      cwd: root,
    });
    for (const folder of ['d', 'e']) {
      const refusal = await refusedRun(`rm -r ${folder}`);
      expect(refusal).toMatchObject({
        code: 'UNVERIFIABLE',
        detail: { reason: 'its name is not valid UTF-8' },
      });
    }
    expect(text('d/a.txt')).toBe('one\n');
  });

  it("does not give a file's group what an access list gives to one user", async () => {
    for (const path of ['changed', 'listed']) put(path, 'one\n');
    mkdirSync(join(root, 'folder'), { mode: 0o700 });
    for (const path of ['changed', 'listed']) chmodSync(join(root, path), 0o600);
    // This access list gives all rights to the owner and one named user, and none to the group and
    // others. The named user is the one who runs the test, because only root can name other users
    // in an overlay layer. If root runs the test, the named user is 1000.
    const user = Buffer.alloc(4);
    user.writeUInt32LE(process.getuid?.() || 1000);
    const list = `0200000001000700ffffffff02000700${user.toString('hex')}04000000ffffffff10000700ffffffff20000000ffffffff`;
    const script = `const [native, ...paths] = process.argv.slice(1);
      for (const path of paths) {
        const fd = require('node:fs').openSync(path, 'r');
        require(native).setAttrSync(fd, 'system.posix_acl_access', Buffer.from('${list}', 'hex'));
      }`;
    const setLists = [
      process.execPath,
      '-e',
      script,
      createRequire(import.meta.url).resolve('fs-native-extensions'),
    ];
    execFileSync('/usr/bin/env', [...setLists, 'listed'], { cwd: root });
    const text = 'umask 077; echo two >> listed; echo one > new; mkdir made; echo one > made/new; "$@"';
    const paths = ['changed', 'new', 'folder', 'made', 'made/new'];
    const outcome = await session.run(['sh', '-c', text, 'sh', ...setLists, ...paths], { profile: 'undo' });
    expect(outcome).toMatchObject({ ok: true, exitCode: 0, committed: true });
    const modes = ['listed', ...paths].map((path) => (lstatSync(join(root, path)).mode & 0o777).toString(8));
    expect(modes).toEqual(['770', '700', '700', '700', '700', '700']);
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

  it('that removes a folder leaves no folder in the state folder', async () => {
    put('d/e/a.txt', 'one\n');
    await ran('rm -r d');
    await sessions.close();
    const left = readdirSync(join(base, 'state'), { withFileTypes: true, recursive: true });
    const isOwn = /^(layers|spent-layers|retained|lock-ranges|outputs|snapshots|blobs|compiled)$/;
    expect(left.flatMap((each) => (each.isDirectory() && !isOwn.test(each.name) ? [each.name] : []))).toEqual(
      [],
    );
  });

  it('that cannot rename a folder says why, and mv moves it', async () => {
    put('d/a.txt', 'one\n');
    const result = await ran(`${process.execPath} -e "fs.renameSync('d', 'e')"`);
    expect(result.exitCode).toBe(1);
    expect(commandText(result, LOOKFIRST.names)).toContain('refuses to rename an existing folder (EXDEV)');
    const moved = await ran('mv d e; echo cross-device link');
    expect(commandText(moved, LOOKFIRST.names)).not.toContain('(EXDEV)');
    expect(text('e/a.txt')).toBe('one\n');
  });

  it('that copies a secret file shows none of its values, then or later', async () => {
    put('deploy/prod.env', 'API=k3y-0f-the-kingdom-77\n');
    put('.env', 'TOKEN=t0ken-0f-the-kingdom\n');
    const copies = await ran('cp deploy/prod.env a.txt; cat .env > b.txt; { echo one; cat .env; } > c.txt');
    expect(copies.files).toHaveLength(3);
    const reads = await Promise.all(['a.txt', 'b.txt', 'c.txt'].map((path) => session.read(path)));
    const found = await session.search('kingdom');
    expect(JSON.stringify([copies, reads, found])).not.toContain('kingdom');
    expect(await session.write('c.txt', 'x\n')).toMatchObject({ refusal: { code: 'REDACTED_READ' } });
  });

  it.each(['config', '.aws'])('runs although %s is a file, not a folder with secret files', async (name) => {
    put(name, 'text\n');
    expect(await ran('echo done')).toMatchObject({ exitCode: 0, output: { head: 'done\n' } });
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

  it('shows no more of a long output than an answer may hold', async () => {
    const { output } = await ran('yes "$(printf %01000d 0)" | head -n 1000');
    const path = output.path ?? '';
    const { text: shown, to, totalLines } = await ok(session.readForTool(path, {}, {}));
    const { maxAnswerBytes } = session.policy;
    expect([shown.length <= maxAnswerBytes, shown.length > maxAnswerBytes - 1002]).toEqual([true, true]);
    expect([to, totalLines]).toEqual([(shown.length + 1) / 1001, 1000]);
    for (const wrong of [{ limit: -5 }, { limit: 0 }, { offset: 0 }])
      expect(await session.readForTool(path, wrong, {})).toMatchObject({ ok: false });
  });
});

describe.skipIf(here === undefined)('a state folder that cannot be written', () => {
  /** Makes it impossible to remove or keep the overlay layer of the running command. */
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

  it.each(['undo', 'confine'] as const)('starts no command if no layer can be made: %s', async (profile) => {
    await ran('true');
    rmSync(join(base, 'state', 'layers'), { recursive: true });
    writeFileSync(join(base, 'state', 'layers'), '');
    await expect(session.run('echo two > a.txt', { profile })).rejects.toMatchObject({
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
