import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { environment, lookfirst, ordinaryProgram, PROGRAM, type Ran } from '../support/command-line.ts';
import { giveAway, ORDINARY } from '../support/nobody.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const here = await sandboxHere();

let places: Scratch;
beforeEach(() => {
  places = scratch();
  mkdirSync(join(places.root, 'd'));
  for (const name of ['a.txt', 'd/b.txt']) writeFileSync(join(places.root, name), 'one\n');
});

/** Gives the workspace and the state folder to an ordinary user. */
function giveToUser(): void {
  const { base, root, home } = places;
  giveAway(base, root, home, ...['a.txt', 'd', 'd/b.txt'].map((name) => join(root, name)));
}

/** Runs the built program without root's rights, because root passes every permission check. */
function asUser(...args: readonly string[]): Ran {
  const [program = '', ...first] = ordinaryProgram();
  const options = { cwd: places.root, env: environment(places), encoding: 'utf8', ...ORDINARY } as const;
  const { status, stdout, stderr } = spawnSync(program, [...first, ...args], options);
  return { code: status ?? -1, stdout, stderr };
}

/**
 * Changes the mode of a path. Makes it accessible again at the end of the test, because an ordinary
 * user could not remove the workspace otherwise.
 */
function withMode(name: string, mode: number): void {
  const path = join(places.root, name);
  chmodSync(path, mode);
  onTestFinished(() => {
    if (existsSync(path)) chmodSync(path, 0o755);
  });
}

describe('a change in a folder that the user may not write', () => {
  it.each([
    [
      'a move names the folder that the file leaves',
      { name: 'move_path', arguments: { source: 'd/b.txt', destination: 'g' } },
      'd/b.txt',
    ],
    ['an undo names a relative path', { name: 'undo_change', arguments: {} }, 'd/new.txt'],
  ])('%s', (_what, call, path) => {
    giveToUser();
    const made = { name: 'write_file', arguments: { path: 'd/new.txt', content: 'x\n' } };
    expect(serve(made)).toContain('wrote 2 bytes');
    withMode('d', 0o555);
    expect(serve(call)).toContain(`could not change ${path}: permission denied in its folder`);
  });

  /** Everything that a server prints when it gets one call. */
  function serve(call: object): string {
    const [program = '', ...first] = ordinaryProgram();
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'client', version: '1' },
    };
    const messages = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: call },
    ];
    const input = messages.map((message) => `${JSON.stringify(message)}\n`).join('');
    const env = environment(places);
    return spawnSync(program, [...first, '--session', 'ann', places.root], {
      ...{ env, input, encoding: 'utf8' },
      ...ORDINARY,
    }).stdout;
  }
});

const kept = (): readonly string[] => readdirSync(join(places.home, 'layers'));

describe.skipIf(here === undefined)('a command of an ordinary user', () => {
  beforeEach(giveToUser);

  it.each([
    ['a folder without search permission', 'd', 0o600, 'chmod 700 d; echo two > d/b.txt', 'd/b.txt'],
    ['a name in a folder without search permission', 'd', 0o600, 'chmod 700 d; echo x > d/new', 'd/new'],
    ['a removed folder without search permission', 'd', 0o600, 'chmod 700 d; rm -r d', 'd'],
    ['a removed folder without read permission', 'd', 0o300, 'chmod 700 d; rm -r d', 'd'],
    ['a file without read permission', 'a.txt', 0o000, 'chmod 600 a.txt; echo two > a.txt', 'a.txt'],
  ])('is refused with the cause if it changes %s', (_what, name, mode, line, path) => {
    withMode(name, mode);
    const { code, stderr } = asUser('run', '--', 'sh', '-c', `echo two > c.txt; ${line}`);
    expect(stderr).toContain(`refusing to commit what the command did to ${path}`);
    expect(stderr).toMatch(/EACCES|permission denied/);
    expect(stderr).toContain('[UNVERIFIABLE]');
    expect([code, readdirSync(places.root).includes('c.txt')]).toEqual([2, false]);
    expect(statSync(join(places.root, name)).mode & 0o777).toBe(mode);
    // The command's writes are kept. The user can commit them after changing the permissions.
    const [layer = ''] = kept();
    expect(stderr).toContain(`lookfirst run --apply ${layer} commits its writes after the cause is removed.`);
    chmodSync(join(places.root, name), 0o700);
    expect(asUser('run', '--apply', layer)).toMatchObject({ code: 0 });
    expect(readFileSync(join(places.root, 'c.txt'), 'utf8')).toBe('two\n');
  });

  it('reports the kept writes if the commit itself fails', () => {
    withMode('d', 0o300);
    const { code, stderr } = asUser('run', '--', 'sh', '-c', 'echo two > d/b.txt');
    expect(stderr).toMatch(/the writes of the command could not be committed: .*permission denied/);
    expect(stderr).toContain('nothing was changed');
    expect(stderr).toContain(`lookfirst run --apply ${kept()[0]}`);
    expect([code, kept().length]).toEqual([1, 1]);
  });

  it('is committed if it leaves a folder that may be listed but not searched', () => {
    expect(asUser('run', '--', 'sh', '-c', 'mkdir e; echo x > e/f; chmod 600 e')).toMatchObject({ code: 0 });
    expect(statSync(join(places.root, 'e')).mode & 0o777).toBe(0o600);
    withMode('e', 0o700);
    expect(readFileSync(join(places.root, 'e/f'), 'utf8')).toBe('x\n');
  });

  it('has the permissions that it set if its kept writes are committed later', () => {
    withMode('a.txt', 0o444);
    const script = 'rm -f a.txt; echo two > a.txt; mkdir e; echo x > e/f; chmod 200 e/f; chmod 0 e';
    expect(asUser('run', '--', 'sh', '-c', script)).toMatchObject({ code: 2 });
    chmodSync(join(places.root, 'a.txt'), 0o644);
    expect(asUser('run', '--apply', kept()[0] ?? '')).toMatchObject({ code: 0 });
    expect(statSync(join(places.root, 'e')).mode & 0o777).toBe(0);
    withMode('e', 0o700);
    expect(statSync(join(places.root, 'e/f')).mode & 0o777).toBe(0o200);
  });

  it.each([[[]], [['--confine']]])('has no capabilities and cannot change the kernel: %o', (flags) => {
    const write = 'f=/proc/sys/kernel/core_pattern; v=$(cat $f); printf %s "$v" > $f || echo no';
    const ran = asUser('run', ...flags, '--', 'sh', '-c', `grep 'Cap[IPEBA]' /proc/self/status; ${write}`);
    expect(ran.stdout).toMatch(/^(Cap\w+:\t0{16}\n){5}no\n$/);
  });

  it('can be undone if a folder that it made has no read permission', () => {
    expect(asUser('run', '--', 'sh', '-c', 'mkdir e; chmod 300 e')).toMatchObject({ code: 0 });
    expect(asUser('undo')).toMatchObject({ code: 0 });
    expect(readdirSync(places.root)).toEqual(['a.txt', 'd']);
  });
});

const isRoot = process.getuid?.() === 0;

/** Runs a script and then a command, in a mount namespace of its own. */
function withMounts(script: string, command: readonly string[]): Ran {
  const words = ['--mount', 'sh', '-ec', `${script}\nexec "$@"`, 'sh', ...command];
  const options = { cwd: places.root, env: environment(places), encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync('unshare', words, options);
  return { code: status ?? -1, stdout, stderr };
}

const TMPFS = 'mount -t tmpfs none d; echo old > d/there.txt';

describe.skipIf(here === undefined)('a command whose workspace cannot be layered as a whole', () => {
  it('is refused if the workspace is the whole file system', async () => {
    const path = join(places.root, 'a.txt');
    const args = ['run', '--root', '/', '--', 'sh', '-c', `echo two > ${path}`];
    const { code, stderr } = await lookfirst(places, args);
    expect([code, readFileSync(path, 'utf8')]).toEqual([2, 'one\n']);
    expect(stderr).toMatch(/no layer can cover the whole file system.*NO_SANDBOX/);
  });

  it.skipIf(!isRoot).each(['undo', 'confine'])('has a layer over each file system in it: %s', (profile) => {
    const flags = profile === 'undo' ? [] : ['--confine'];
    const script = 'cat d/there.txt; echo new > d/there.txt; mkdir d/n; echo x > d/n/x; rm d/gone.txt';
    const shown = 'head -v -c 99 d/*.txt d/*/*';
    const ran = withMounts(`${TMPFS}; echo gone > d/gone.txt; "$@"; set -- ${shown}`, [
      ...PROGRAM,
      ...['run', ...flags, '--', 'sh', '-c', script],
    ]);
    expect(ran.stdout).toContain('old\n==> d/there.txt <==\nnew\n\n==> d/n/x <==\nx\n');
    expect(ran.stderr).toMatch(/changed d\/there.txt.*deleted d\/gone.txt|deleted d\/gone.txt.*changed/s);
  });

  it.skipIf(!isRoot)('is refused for an ordinary user if there is another file system in it', () => {
    giveToUser();
    const words = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
    const script = `${TMPFS}; set -- ${words.join(' ')} "$@"`;
    const command = [...ordinaryProgram(), 'run', '--', 'sh', '-c', 'echo two > a.txt'];
    const { code, stderr } = withMounts(script, command);
    expect(stderr).toContain(`another file system is mounted at ${join(places.root, 'd')}`);
    expect([code, readFileSync(join(places.root, 'a.txt'), 'utf8')]).toEqual([2, 'one\n']);
  });
});

describe.skipIf(here === undefined || !isRoot)('a command whose state folder has no space left', () => {
  it('is refused, and so is an undo, with the cause', () => {
    const script = [
      `mount -t tmpfs -o nr_inodes=300 none ${places.home}`,
      `"$1" "$2" run -- sh -c 'for i in $(seq 150); do echo $i > n$i; done'`,
      `i=0; while touch ${places.home}/fill$i; do i=$((i+1)); done 2> /dev/null`,
      '"$1" "$2" undo || true',
    ].join('\n');
    const { code, stderr } = withMounts(script, [...PROGRAM, 'run', '--', 'true']);
    expect(stderr).not.toContain('unexpected failure');
    expect(stderr).toContain(
      'no space left on the disk of the state folder (ENOSPC); nothing was changed [IO_FAILED]',
    );
    expect(stderr).toContain('cannot be written (ENOSPC); free some space there [NO_SANDBOX]');
    expect([code, readdirSync(places.root).length]).toEqual([2, 152]);
  });
});
