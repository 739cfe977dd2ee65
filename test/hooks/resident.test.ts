import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hookScript } from '../../src/cli/clients/hook-scripts.ts';
import { rounds } from '../support/rounds.ts';

const PROGRAM = new URL('../../dist/bin/lookfirst.js', import.meta.url).pathname;

/** `npm run attack` makes more calls. */
const CALLS = rounds(10, 1000);
/** The number of calls that find no background process, so that each starts Node. */
const FIRST_CALLS = rounds(4, 20);

/** The name of the symbolic link that leads to the background process for new calls. */
const pointer = `hook-${hostname()}-${process.getuid?.()}.sock`;
let base: string;
let home: string;
let root: string;
let script: string;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the hook script in the state folder, as an agent program does. */
function callScript(input: unknown, args: readonly string[] = ['claude-code'], env = {}): Promise<Ended> {
  return call([script, ...args], input, env);
}

/** Runs the hook program directly with Node, without the script. */
function callNode(program: string, input: unknown, env = {}): Promise<Ended> {
  return call([process.execPath, program, 'hook', 'claude-code'], input, { LOOKFIRST_HOME: home, ...env });
}

function call([file = '', ...args]: readonly string[], input: unknown, env: object): Promise<Ended> {
  return new Promise((resolve) => {
    const around = {
      PATH: process.env['PATH'],
      LOOKFIRST_COMPILE_CACHE: process.env['LOOKFIRST_COMPILE_CACHE'],
      LOOKFIRST_RESIDENT_CHECK_MS: '50',
      CLAUDE_PROJECT_DIR: root,
      ...env,
    };
    const child = spawn(file, args, { cwd: root, env: around, stdio: 'pipe' });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (part) => (stdout += part));
    child.stderr.on('data', (part) => (stderr += part));
    child.stdin.on('error', () => undefined);
    child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
    child.stdin.end(typeof input === 'string' ? input : JSON.stringify(input));
  });
}

function event(hook_event_name: string, more: object = {}): object {
  return { session_id: 's1', cwd: root, hook_event_name, ...more };
}

const blindWrite = () =>
  event('PreToolUse', {
    tool_name: 'Write',
    tool_input: { file_path: join(root, 'a.txt'), content: 'x' },
    tool_use_id: 't1',
  });

function writeScript(places: { readonly node?: string; readonly program?: string } = {}): void {
  const uid = process.getuid?.() ?? 0;
  const { node = process.execPath, program = PROGRAM } = places;
  writeFileSync(script, hookScript({ home, node, program, uid }));
  chmodSync(script, 0o755);
}

/** A copy of the program in its own folder, from which a test may remove files. */
function copyOfProgram(): string {
  cpSync(join(PROGRAM, '../..'), join(base, 'dist'), { recursive: true });
  cpSync(join(PROGRAM, '../../../package.json'), join(base, 'package.json'));
  symlinkSync(join(PROGRAM, '../../../node_modules'), join(base, 'node_modules'));
  return join(base, 'dist/bin/lookfirst.js');
}

/** Background processes (residents) of this test's state folder, found in /proc. */
function residents(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => textOf(pid, 'cmdline').includes('--resident'))
    .filter((pid) => textOf(pid, 'environ').split('\0').includes(`LOOKFIRST_HOME=${home}`));
}

function textOf(pid: number, file: 'cmdline' | 'environ'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

function sockets(): string[] {
  return existsSync(join(home, 'run')) ? readdirSync(join(home, 'run')) : [];
}

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'hook-script-'));
  // Use a state folder whose path is too long for a socket.
  home = join(base, 'a'.repeat(60), 'b'.repeat(60), 'state');
  root = join(base, 'work');
  mkdirSync(join(home, 'bin'), { recursive: true, mode: 0o700 });
  mkdirSync(root);
  writeFileSync(join(root, 'a.txt'), 'one\n');
  script = join(home, 'bin', 'lookfirst-hook');
  writeScript();
});
afterEach(() => {
  for (const pid of residents()) process.kill(pid, 'SIGKILL');
  rmSync(base, { recursive: true, force: true });
});

describe.runIf(process.platform === 'linux')('the hook script', () => {
  const env = () => ({ LOOKFIRST_HOME: home });

  it('uses only the project folder that its own client names, with and without a resident process', async () => {
    const elsewhere = { ...env(), CLAUDE_PROJECT_DIR: base.concat('/other') };
    for (const client of ['codex', 'gemini', 'cursor']) {
      const named = {
        hook_event_name: { codex: 'PreToolUse', gemini: 'BeforeTool', cursor: 'preToolUse' }[client],
        conversation_id: 's1',
        tool_name: { codex: 'apply_patch', gemini: 'write_file', cursor: 'Write' }[client],
        tool_input: {
          file_path: join(root, 'a.txt'),
          content: 'x',
          command: '*** Begin Patch\n*** Delete File: a.txt\n*** End Patch',
        },
      };
      const write = event('', { ...named, tool_use_id: client });
      const first = await callScript(write, [client], { ...elsewhere, LOOKFIRST_GUARANTEE: 'best-effort' });
      expect([client, first.stdout]).toEqual([client, expect.stringContaining('NOT_READ')]);
      await expect.poll(() => sockets()).toContain(pointer);
      const second = await callScript(write, [client], elsewhere);
      expect([client, second.stdout]).toEqual([client, expect.stringContaining('NOT_READ')]);
    }
  });

  it('denies through Node first, then through the resident process that Node has started', async () => {
    const first = await callScript(blindWrite(), ['claude-code'], env());
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(first.stdout).hookSpecificOutput.permissionDecision).toBe('deny');
    await expect.poll(residents).toHaveLength(1);
    await expect.poll(sockets).toContain(pointer);
    // The script can no longer start Node, so the background process must answer.
    writeScript({ node: '/nonexistent/node' });
    const second = await callScript(blindWrite(), ['claude-code', '--event', 'PreToolUse'], env());
    expect(second).toMatchObject({ code: 0, stderr: '' });
    expect(second.stdout).toBe(first.stdout);
  });

  it('makes its socket and folder accessible to the user only', async () => {
    await callScript(blindWrite(), ['claude-code'], env());
    await expect.poll(sockets).toContain(pointer);
    expect(lstatSync(join(home, 'run')).mode & 0o777).toBe(0o700);
    const socket = sockets().find((name) => name.startsWith('r-')) ?? '';
    expect(lstatSync(join(home, 'run', socket)).mode & 0o777).toBe(0o600);
  });

  it(`${FIRST_CALLS} first calls at once are all answered and leave one resident`, async () => {
    const calls = Array.from({ length: FIRST_CALLS }, () => callScript(blindWrite(), ['claude-code'], env()));
    for (const { code, stdout } of await Promise.all(calls)) {
      expect(code).toBe(0);
      expect(stdout).toContain('"deny"');
    }
    await expect.poll(residents).toHaveLength(1);
    await expect.poll(sockets).toContain(pointer);
  });

  it('ends when idle and leaves no process, socket or other file', async () => {
    const idle = { ...env(), LOOKFIRST_RESIDENT_IDLE_MS: '1000' };
    await callScript(blindWrite(), ['claude-code'], idle);
    await expect.poll(sockets).not.toEqual([]);
    // A starting process has no command line for a moment, so `residents` misses it. Wait until its
    // socket is gone too.
    await expect.poll(() => [...residents(), ...sockets()]).toEqual([]);
  });

  it(`${CALLS} calls leave one resident process, and nothing is left after its idle time`, async () => {
    const scraps = join(base, 'tmp');
    mkdirSync(scraps);
    const around = { ...env(), TMPDIR: scraps, LOOKFIRST_RESIDENT_IDLE_MS: '3000' };
    for (let made = 0; made < CALLS; made += 10) {
      const calls = Array.from({ length: 10 }, () => callScript(blindWrite(), ['claude-code'], around));
      for (const { code, stdout } of await Promise.all(calls)) {
        expect(code).toBe(0);
        expect(stdout).toContain('"deny"');
      }
    }
    // If several background processes start at the same time, only the first one stays.
    await expect.poll(residents).toHaveLength(1);
    await expect.poll(() => [...residents(), ...sockets()]).toEqual([]);
    expect(readdirSync(scraps)).toEqual([]);
    const snapshots = join(home, 'snapshots');
    expect(existsSync(snapshots) ? readdirSync(snapshots) : []).toEqual([]);
  });

  it('a new resident removes the files that a killed one has left', async () => {
    await callScript(blindWrite(), ['claude-code'], env());
    await expect.poll(sockets).toContain(pointer);
    const [pid = 0] = residents();
    process.kill(pid, 'SIGKILL');
    await expect.poll(residents).toEqual([]);
    const left = sockets().find((name) => name.startsWith('r-')) ?? '';
    // Makes the socket look old. A clean-up removes only old sockets, because the process of a new
    // one may not listen yet.
    const past = new Date(Date.now() - 120_000);
    utimesSync(join(home, 'run', left), past, past);
    await callScript(blindWrite(), ['claude-code'], env());
    await expect.poll(residents).toHaveLength(1);
    await expect.poll(sockets).not.toContain(left);
    await expect.poll(sockets).toContain(pointer);
  });

  it('answers through Node when the resident was killed, and has a new one afterwards', async () => {
    await callScript(blindWrite(), ['claude-code'], env());
    await expect.poll(residents).toHaveLength(1);
    const [pid = 0] = residents();
    process.kill(pid, 'SIGKILL');
    await expect.poll(residents).toEqual([]);
    const { code, stdout } = await callScript(blindWrite(), ['claude-code'], env());
    expect(code).toBe(0);
    expect(stdout).toContain('"deny"');
    await expect.poll(residents).toHaveLength(1);
  });

  it('a replaced program file ends the resident', async () => {
    const copy = join(base, 'program.mjs');
    execFileSync('cp', ['-r', new URL('../../dist', import.meta.url).pathname, join(base, 'dist')]);
    execFileSync('ln', [
      '-s',
      new URL('../../node_modules', import.meta.url).pathname,
      join(base, 'node_modules'),
    ]);
    execFileSync('cp', [new URL('../../package.json', import.meta.url).pathname, base]);
    const program = join(base, 'dist/bin/lookfirst.js');
    writeScript({ program });
    await callScript(blindWrite(), ['claude-code'], env());
    await expect.poll(sockets).toContain(pointer);
    expect(residents()).toHaveLength(1);
    execFileSync('cp', [program, copy]);
    execFileSync('mv', [copy, program]);
    await expect.poll(residents).toEqual([]);
  });

  it('is not needed if a resident runs: Node queries the resident of its own program, even through a link', async () => {
    const program = copyOfProgram();
    const link = join(base, 'linked');
    symlinkSync(program, link);
    const first = await callNode(link, blindWrite());
    expect(first.stdout).toContain('"deny"');
    await expect.poll(sockets).toContain(pointer);
    // Without this file a new Node process cannot answer, so the background process must answer.
    rmSync(join(program, '../../chunks/hook.cjs'));
    expect(await callNode(program, blindWrite())).toEqual(first);
    expect(residents()).toHaveLength(1);
  });

  it('is not used for a call with its own settings: Node answers, and denies if it fails', async () => {
    const program = copyOfProgram();
    await callNode(program, blindWrite());
    await expect.poll(sockets).toContain(pointer);
    rmSync(join(program, '../../chunks/hook.cjs'));
    for (const own of [{ LOOKFIRST_SESSION: 's2' }, { LOOKFIRST_GUARANTEE: 'best-effort' }]) {
      const { code, stderr } = await callNode(program, blindWrite(), own);
      expect(code).toBe(2);
      expect(stderr).toContain('could not check this call');
    }
  });

  it('starts no second resident while one starts, and starts another if the first never answers', async () => {
    const starting = join(home, 'run', 'starting');
    mkdirSync(join(home, 'run'), { mode: 0o700 });
    writeFileSync(starting, '');
    expect((await callScript(blindWrite(), ['claude-code'], env())).stdout).toContain('"deny"');
    expect(residents()).toEqual([]);
    utimesSync(starting, 0, 0);
    expect((await callScript(blindWrite(), ['claude-code'], env())).stdout).toContain('"deny"');
    await expect.poll(residents).toHaveLength(1);
    await expect.poll(sockets).not.toContain('starting');
  });

  it('uses the state folder of the script, even if the client lacks the variable', async () => {
    expect((await callScript(blindWrite(), ['claude-code'], { HOME: base })).stdout).toContain('"deny"');
    await expect.poll(residents).toHaveLength(1);
    expect(existsSync(join(base, '.local'))).toBe(false);
  });

  it('works without curl', async () => {
    const bin = join(base, 'bin');
    mkdirSync(bin);
    const text = hookScript({ home, node: process.execPath, program: PROGRAM, uid: process.getuid?.() ?? 0 });
    writeFileSync(script, text.replaceAll('/curl', '/no-such-curl'));
    const { code, stdout } = await callScript(blindWrite(), ['claude-code'], env());
    expect(code).toBe(0);
    expect(stdout).toContain('"deny"');
  });

  it('starts Node without additional certificates, unless the store is Postgres', async () => {
    // Node prints a warning about a certificate file that it cannot read. The warning shows that
    // Node was started with this variable.
    const certificates = { NODE_EXTRA_CA_CERTS: '/nonexistent/certificates' };
    const call = (more = {}): Promise<{ stderr: string }> =>
      callScript(event('SessionStart'), ['claude-code'], { ...env(), ...certificates, ...more });
    expect((await call()).stderr).not.toContain('extra certs');
    expect((await call({ LOOKFIRST_STORE: 'postgres://127.0.0.1:1/none' })).stderr).toContain('extra certs');
    await expect.poll(residents).toHaveLength(1);
    const around = residents().map((pid) => textOf(pid, 'environ').split('\0'));
    expect(around).toEqual([expect.arrayContaining(['NODE_EXTRA_CA_CERTS=/nonexistent/certificates'])]);
  });

  it('denies a change and lets other events pass when the package is gone', async () => {
    writeScript({ program: '/nonexistent/lookfirst.js' });
    const change = await callScript(blindWrite(), ['claude-code', '--event', 'PreToolUse'], env());
    expect(change).toMatchObject({ code: 2, stdout: '' });
    expect(change.stderr).toContain('uninstalled');
    const read = await callScript(event('PostToolUse'), ['claude-code', '--event', 'PostToolUse'], env());
    expect(read).toMatchObject({ code: 0, stdout: '' });
    const open = await callScript(
      blindWrite(),
      ['claude-code', '--event', 'PreToolUse', '--fail-open'],
      env(),
    );
    expect(open).toMatchObject({ code: 0, stdout: '' });
  });

  it('passes on text with quotes, dollars, backslashes and newlines unchanged', async () => {
    const content = '$HOME `id` "x" \'y\' \\n \u00e9 \u{1f600}\nlast';
    const input = { ...(blindWrite() as object), tool_input: { file_path: join(root, 'new.txt'), content } };
    for (let i = 0; i < 2; i += 1) {
      const { code, stdout, stderr } = await callScript(input, ['claude-code'], env());
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' });
      await expect.poll(residents).toHaveLength(1);
    }
  });

  it('judges a denied call of the generic client once, through the script and through Node', async () => {
    const generic = (event: object): object => ({ session: 's1', cwd: root, ...event });
    await callScript(generic({ event: 'prompt', prompt: 'go' }), ['generic'], env());
    await expect.poll(sockets).toContain(pointer);
    const write = generic({
      event: 'before',
      action: 'write',
      input: { path: 'a.txt', content: 'x' },
      call: '1',
    });
    const denied = {
      code: 2,
      stdout: expect.stringContaining('deny'),
      stderr: expect.stringContaining('NOT_READ'),
    };
    expect(await callScript(write, ['generic', '--event', 'before'], env())).toMatchObject(denied);
    const node = [process.execPath, PROGRAM, 'hook', 'generic'];
    expect(await call(node, write, env())).toMatchObject(denied);
    const log = await call([process.execPath, PROGRAM, 'log', '--kind', 'refusal', '--json'], '', env());
    expect(log.stdout.trim().split('\n')).toHaveLength(2);
  });

  it('is a POSIX script', () => {
    execFileSync('sh', ['-n', script]);
  });
});
