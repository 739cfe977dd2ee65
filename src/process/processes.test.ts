import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONFINE, commandBench, UNDO } from '../../test/support/command-bench.ts';
import { upperFolder } from './layer.ts';
import { COMMAND_VARIABLE } from './run-sandboxed.ts';
import type { Profile, SandboxTools } from './sandbox.ts';

const at = await commandBench();
const { here } = at;

/** Kinds of sandboxes. Tests that run as root also use a user namespace, because ordinary users need one. */
const KINDS: readonly (readonly [string, { profile: Profile; tools?: Partial<SandboxTools> }])[] = [
  ['undo', { profile: UNDO }],
  ['undo in a user namespace', { profile: UNDO, tools: { namespace: 'user' } }],
  ['confine', { profile: CONFINE }],
];

/** Capabilities that no command has, as their numbers in the kernel. */
const BEYOND_FILES: readonly (readonly [string, number])[] = [
  ['modules', 16],
  ['raw I/O', 17],
  ['mounts', 21],
  ['a new boot', 22],
  ['the clock', 25],
  ['device nodes', 27],
  ["the kernel's log", 34],
  ['alarms that wake the machine', 35],
];

/** Kills the program that builds the sandbox: the child of this process that has a command's id. */
function killSandbox(): void {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ');
  for (const pid of children.filter((each) => each !== ''))
    if (readFileSync(`/proc/${pid}/environ`, 'latin1').includes(COMMAND_VARIABLE))
      process.kill(Number(pid), 'SIGKILL');
}

describe.skipIf(here === undefined).each(KINDS)('a command in the profile %s', (_name, kind) => {
  it('changes nothing in the workspace', async () => {
    at.put('a');
    const { end, output } = await at.run('echo x > a; cat a; echo bad >&2; exit 7', kind);
    expect(end).toEqual({ kind: 'exited', code: 7, left: [] });
    expect(output).toEqual({ head: 'x\nbad\n', bytes: 6, cutBytes: 0 });
    expect(readFileSync(join(at.workspace, 'a'), 'utf8')).toBe('a\n');
  });

  it.each(['no-such-program', '/no/such/program'])('reports %s as a shell does', async (program) => {
    // Use a PATH whose folders can all be searched. If a shell may not search a folder, it reports
    // 126 instead of 127, because the program might be there.
    const processes = at.processes({ ...process.env, PATH: '/usr/bin:/bin' });
    const { end, output } = await at.run('', { ...kind, processes, command: [program] });
    expect(end).toEqual({ kind: 'exited', code: 127, left: [] });
    expect(output.head).toContain(program);
  });

  it('reports a program without execute permission as a shell does', async () => {
    at.put('script');
    const { end, output } = await at.run('', { ...kind, command: [join(at.workspace, 'script')] });
    expect(end).toEqual({ kind: 'exited', code: 126, left: [] });
    expect(output.head).toContain('Permission denied');
  });

  it('is not started if the sandbox cannot be completed', async () => {
    const { end } = await at.run('true', { ...kind, cwd: join(at.workspace, 'missing') });
    expect(end).toEqual({ kind: 'not-started', reason: expect.stringContaining('missing') });
  });

  it('is not started if a layer cannot be mounted, and the reason is the message of mount', async () => {
    const mount = join(at.home, 'mount');
    const hint = '       dmesg(1) may have more information after failed mount system call.';
    writeFileSync(mount, `#!/bin/sh\necho 'mount: /w: wrong fs type.' >&2; echo '${hint}' >&2; exit 32\n`, {
      mode: 0o755,
    });
    const { end } = await at.run('true', { ...kind, tools: { ...kind.tools, mount } });
    expect(end).toEqual({ kind: 'not-started', reason: 'mount: /w: wrong fs type.' });
  });

  it('does not see the state folder', async () => {
    writeFileSync(join(at.home, 'lookfirst.db'), 'private');
    const { output } = await at.run(`ls -A '${at.home}'; echo x > '${at.home}/y' || echo no`, kind);
    expect(output.head).toMatch(/no\n$/);
    expect(output.head).not.toContain('lookfirst.db');
    expect(existsSync(join(at.home, 'y'))).toBe(false);
  });

  it('ends together with all processes that it started, and names them', async () => {
    const { end } = await at.run(
      '(while :; do echo x >> tick; sleep 0.01; done) & sh -c "exec sleep 77" & exit 3',
      kind,
    );
    expect(end).toMatchObject({ kind: 'exited', code: 3, left: expect.arrayContaining(['sleep 77']) });
    expect(readdirSync(at.workspace)).toEqual([]);
  });

  it('waits a moment for processes that are about to end', async () => {
    const { end, layer } = await at.run('(sleep 0.1; echo x > late) & exit 0', kind);
    expect(end).toEqual({ kind: 'exited', code: 0, left: [] });
    expect(readdirSync(upperFolder(layer, 0))).toEqual(['late']);
  });

  it('keeps its user and inherits no descriptor of the sandbox', async () => {
    const fds = "ls /proc/self/fd | grep '^.$' | tr '\\n' ' '";
    const { output } = await at.run(`id -u; id -g; grep NoNewPrivs /proc/self/status; ${fds}`, kind);
    // 3 is the descriptor of the folder that `ls` reads.
    expect(output.head).toBe(`${process.getuid?.()}\n${process.getgid?.()}\nNoNewPrivs:\t1\n0 1 2 3 `);
  });

  it('cannot change settings of the kernel', async () => {
    // Writes the present value, so that a failing test changes nothing.
    const write = 'f=/proc/sys/kernel/core_pattern; v=$(cat $f); (printf %s "$v" > $f) && echo written';
    const { output } = await at.run(`find /proc/sys /sys -maxdepth 3 -writable; ${write}`, kind);
    expect(output.head).toMatch(/^(.*(Read-only file system|Permission denied)\n)+$/);
  });

  it.each(BEYOND_FILES)('lacks the capability for %s', async (_what, bit) => {
    const { output } = await at.run('grep Cap[IPEA] /proc/self/status', kind);
    const sets = [...output.head.matchAll(/\t([0-9a-f]{16})$/gm)].map(([, set]) => BigInt(`0x${set}`));
    expect(sets.map((set) => (set >> BigInt(bit)) & 1n)).toEqual([0n, 0n, 0n, 0n]);
  });

  it('cannot mount', async () => {
    const { output } = await at.run('mkdir m; mount -t tmpfs none m || echo no', kind);
    expect(output.head).toMatch(/no\n$/);
  });

  it('has no capability in a user namespace', async () => {
    const { output } = await at.run('grep Cap[EPB] /proc/self/status | cut -f2 | sort -u', kind);
    const isRoot =
      kind.profile.kind === 'undo' && (kind.tools?.namespace ?? here?.tools.namespace) === 'root';
    expect(output.head === '0000000000000000\n').toBe(!isRoot);
  });

  it("that is killed by a signal ends with the signal's exit code", async () => {
    expect((await at.run('kill -TERM $$', kind)).end).toEqual({ kind: 'exited', code: 143, left: [] });
  });

  it('is ended by its time limit', async () => {
    const { end } = await at.run('echo begun; sleep 1000', { ...kind, timeoutMs: 300 });
    expect(end).toEqual({ kind: 'ended', why: 'timeout' });
  });

  it('is not ended by a time limit that no timer can hold', async () => {
    const { end } = await at.run('sleep 0.2', { ...kind, timeoutMs: 1e12 });
    expect(end).toEqual({ kind: 'exited', code: 0, left: [] });
  });

  it('is ended by its caller', async () => {
    const aborter = new AbortController();
    const { end, output } = await at.run('echo begun; sleep 1000', {
      ...kind,
      signal: aborter.signal,
      onOutput: () => aborter.abort(),
    });
    expect(end).toEqual({ kind: 'ended', why: 'cancelled' });
    expect(output.head).toBe('begun\n');
  });

  it('is ended if another program kills its sandbox', async () => {
    const { end } = await at.run('echo begun; sleep 1000', { ...kind, onOutput: killSandbox });
    expect(end).toEqual({ kind: 'ended', why: 'cancelled' });
  });

  it('reaches the real folders that are bound through', async () => {
    at.put('node_modules/a');
    const { layer } = await at.run('echo x > node_modules/b; echo y > c', {
      ...kind,
      boundThrough: [join(at.workspace, 'node_modules')],
    });
    expect(readdirSync(join(at.workspace, 'node_modules'))).toEqual(['a', 'b']);
    expect(readdirSync(upperFolder(layer, 0))).toEqual(['c']);
  });

  it('has two layers if one layered folder is inside another', async () => {
    at.put('inner/a');
    const { layer } = await at.run('echo x > inner/b; echo y > c', {
      ...kind,
      layered: [at.workspace, join(at.workspace, 'inner')],
    });
    expect(readdirSync(upperFolder(layer, 0))).toEqual(['c']);
    expect(readdirSync(upperFolder(layer, 1))).toEqual(['b']);
  });
});

describe.skipIf(here === undefined)('the undo profile', () => {
  it.skipIf(process.getuid?.() !== 0)("keeps root's rights over files", async () => {
    at.put('a');
    chownSync(join(at.workspace, 'a'), 12345, 12345);
    const { end } = await at.run('chmod 0 a && cat a && chown 0:0 a && chown 12346 a');
    expect(end).toEqual({ kind: 'exited', code: 0, left: [] });
  });

  it('shows a command its own processes only', async () => {
    const { output } = await at.run('ls -d /proc/[0-9]* | wc -l');
    expect(Number(output.head)).toBeLessThan(10);
  });

  it.each([[undefined], ['de_DE.UTF-8']])('does not change the locale %s', async (locale) => {
    const processes = at.processes({ ...process.env, LC_ALL: locale });
    const { output } = await at.run(`echo "\${LC_ALL-none}"`, { processes });
    expect(output.head).toBe(`${locale ?? 'none'}\n`);
  });

  it('does not change the environment, and can write outside the workspace', async () => {
    const outside = join(at.workspace, '..', 'outside');
    mkdirSync(outside);
    const processes = at.processes({ ...process.env, API_TOKEN: 't' });
    const { output } = await at.run(`echo $API_TOKEN > '${outside}/f'; id -u`, { processes });
    expect(readFileSync(join(outside, 'f'), 'utf8')).toBe('t\n');
    expect(output.head).toBe(`${process.getuid?.()}\n`);
  });
});

describe.skipIf(here === undefined)('long output', () => {
  it('is shown as its beginning and end, and kept whole for its session', async () => {
    const processes = at.processes();
    const { output } = await at.run('seq 1 100000', { processes });
    expect(output.head.startsWith('1\n2\n')).toBe(true);
    expect(output.tail?.endsWith('99999\n100000\n')).toBe(true);
    const whole = execFileSync('seq', ['1', '100000']);
    expect(output.bytes).toBe(whole.byteLength);
    expect(output.head.length + (output.tail?.length ?? 0) + output.cutBytes).toBe(output.bytes);
    expect(processes.output(output.kept ?? '', 's')?.equals(whole)).toBe(true);
    expect(processes.output(output.kept ?? '', 'another')).toBeUndefined();
    expect(processes.output('../lookfirst.db', 's')).toBeUndefined();
  });
});
