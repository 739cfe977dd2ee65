import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sandboxHere } from '../../test/support/sandbox.ts';
import { loadNative } from '../disk/context.ts';
import { keepLayer, makeLayer, removeLayer, upperFolder } from './layer.ts';
import { type LayerEntry, layerEntries } from './layer-entries.ts';
import { type CommandRequest, type CommandRun, Processes } from './processes.ts';
import type { Profile, SandboxTools } from './sandbox.ts';

const here = await sandboxHere();
const attributes = loadNative();

const LIMITS = { timeoutMs: 20_000, maxProcesses: 200, memoryBytes: 1 << 30, fileBytes: 1 << 24 };
const UNDO: Profile = { kind: 'undo' };
const CONFINE: Profile = { kind: 'confine', network: 'off', limits: LIMITS };

let home: string;
let workspace: string;
let count = 0;

beforeEach(() => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-process-')));
  home = join(base, 'state');
  workspace = join(base, 'work, space:1');
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(workspace);
});

afterEach(() => removeLayer({ folder: join(home, '..') }));

function put(path: string, text = `${path}\n`): void {
  mkdirSync(join(workspace, path, '..'), { recursive: true });
  writeFileSync(join(workspace, path), text);
}

async function run(
  script: string,
  more: Partial<CommandRequest> & {
    readonly processes?: Processes;
    readonly tools?: Partial<SandboxTools> | undefined;
  } = {},
): Promise<CommandRun> {
  if (here === undefined) throw new Error('no sandbox');
  const { processes = new Processes({ home, env: process.env, attributes }), tools, ...request } = more;
  count += 1;
  return processes.run(
    {
      id: `r${count}`,
      session: 's',
      profile: UNDO,
      layered: [workspace],
      boundThrough: [],
      cwd: workspace,
      command: ['/bin/sh', '-c', script],
      hide: [],
      env: [],
      timeoutMs: 20_000,
      output: 'kept',
      ...request,
    },
    { ...here, tools: { ...here.tools, ...tools } },
  );
}

function described(entry: LayerEntry): string {
  switch (entry.kind) {
    case 'gone':
      return `- ${entry.relative}`;
    case 'folder':
      return `${entry.copied ? '' : '+'}${entry.relative}/${entry.opaque ? ' opaque' : ''} ${entry.mode.toString(8)}`;
    case 'file':
      return `${entry.copied ? '' : '+'}${entry.relative} ${entry.mode.toString(8)} ${entry.size}`;
    case 'link':
      return `${entry.relative} -> ${entry.target}`;
    case 'special':
      return `${entry.relative} ${entry.special}`;
    case 'unnameable':
      return `${entry.relative} unnameable`;
    default:
      return entry satisfies never;
  }
}

describe.skipIf(here === undefined)('the entries of a layer', () => {
  it.each<[string, string, readonly string[]]>([
    ['a new file', 'echo x > n', ['+n 644 2']],
    ['an empty file', ': > n', ['+n 644 0']],
    ['a changed file', 'echo x >> a', ['a 644 4']],
    ['a file written with the same bytes', 'echo a > a', ['a 644 2']],
    ['a changed mode', 'chmod 600 a', ['a 600 2']],
    ['a file that its owner may not read', 'chmod 0 a', ['a 0 2']],
    ['a removed file', 'rm a', ['- a']],
    ['a file replaced by rename', 'echo new > t && mv t a', ['+a 644 4']],
    ['a new folder', 'mkdir n && echo x > n/f', ['+n/ 755', '+n/f 644 2']],
    ['a change in a folder', 'echo x > d/f', ['d/ 755', 'd/f 644 2']],
    ['a removed folder', 'rm -r d', ['- d']],
    ['a folder made again', 'rm -r d && mkdir d && echo x > d/g', ['+d/ opaque 755', '+d/g 644 2']],
    ['a folder in a folder made again', 'rm -r d && mkdir -p d/e', ['+d/ opaque 755', '+d/e/ opaque 755']],
    ['a renamed folder', 'mv d e', ['- d', '+e/ 755', '+e/f 644 4']],
    ['a folder without permissions', 'mkdir n && echo x > n/f && chmod 0 n', ['+n/ 0', '+n/f 644 2']],
    ['a file that became a folder', 'rm a && mkdir a', ['+a/ opaque 755']],
    ['a folder that became a file', 'rm -r d && echo x > d', ['+d 644 2']],
    ['a new link', 'ln -s /etc/passwd l', ['l -> /etc/passwd']],
    ['a file that became a link', 'ln -sf /etc/passwd a', ['a -> /etc/passwd']],
    ['a link to a folder outside', 'ln -s /etc e', ['e -> /etc']],
    ['a FIFO', 'mkfifo p', ['p fifo']],
    ['a name with a newline', "echo x > 'a\nb'", ['+a\nb 644 2']],
    ['a name that is not UTF-8', `echo x > "$(printf 'a\\377')"`, ['a\ufffd unnameable']],
    ['nothing', 'true', []],
  ])('%s', async (_what, script, expected) => {
    put('a', 'a\n');
    put('d/f', 'd/f\n');
    const { layer, end } = await run(`umask 022; ${script}`);
    expect(end).toEqual({ kind: 'exited', code: 0 });
    if (attributes === undefined) throw new Error('no attributes');
    const entries = [...layerEntries(upperFolder(layer, 0), attributes)].map(described);
    expect(entries).toEqual(expected);
    expect(readFileSync(join(workspace, 'a'), 'utf8')).toBe('a\n');
    expect(readdirSync(workspace)).toEqual(['a', 'd']);
  });
});

/** Root's sandboxes in a user namespace are those of any other user. */
const KINDS: readonly (readonly [string, { profile: Profile; tools?: Partial<SandboxTools> }])[] = [
  ['undo', { profile: UNDO }],
  ['undo in a user namespace', { profile: UNDO, tools: { namespace: 'user' } }],
  ['undo by bubblewrap', { profile: UNDO, tools: { perl: undefined } }],
  [
    'undo by bubblewrap in a user namespace',
    { profile: UNDO, tools: { perl: undefined, namespace: 'user' } },
  ],
  ['confine', { profile: CONFINE }],
];

describe.skipIf(here === undefined).each(KINDS)('a command in the profile %s', (name, kind) => {
  it('changes nothing in the workspace', async () => {
    put('a');
    const { end, output } = await run('echo x > a; cat a; echo bad >&2; exit 7', kind);
    expect(end).toEqual({ kind: 'exited', code: 7 });
    expect(output).toEqual({ head: 'x\nbad\n', bytes: 6, cutBytes: 0 });
    expect(readFileSync(join(workspace, 'a'), 'utf8')).toBe('a\n');
  });

  it.each(['no-such-program', '/no/such/program'])('reports %s as a shell does', async (program) => {
    // In a folder that may not be searched a program might exist: then the code is 126.
    const processes = new Processes({ home, env: { ...process.env, PATH: '/usr/bin:/bin' }, attributes });
    const { end, output } = await run('', { ...kind, processes, command: [program] });
    expect(end).toEqual({ kind: 'exited', code: 127 });
    expect(output.head).toContain(program);
  });

  it('is not started if the sandbox cannot be completed', async () => {
    const { end } = await run('true', { ...kind, cwd: join(workspace, 'missing') });
    expect(end).toEqual({ kind: 'not-started', reason: expect.stringContaining('missing') });
  });

  it('is not started if a layer cannot be mounted, and the reason is the message of mount', async () => {
    const mount = join(home, 'mount');
    const hint = '       dmesg(1) may have more information after failed mount system call.';
    writeFileSync(mount, `#!/bin/sh\necho 'mount: /w: wrong fs type.' >&2; echo '${hint}' >&2; exit 32\n`, {
      mode: 0o755,
    });
    const isPerl = kind.profile.kind === 'undo' && !name.includes('bubblewrap') && here?.tools.perl;
    const perl = isPerl ? { ...isPerl, calls: [isPerl.calls[0], 9999, isPerl.calls[2]] as const } : undefined;
    const { end } = await run('true', { ...kind, tools: { ...kind.tools, mount, perl } });
    const reason = perl ? 'sandbox: mount /: Function not implemented' : 'mount: /w: wrong fs type.';
    expect(end).toEqual({ kind: 'not-started', reason });
  });

  it('does not see the state folder', async () => {
    writeFileSync(join(home, 'lookfirst.db'), 'private');
    const { output } = await run(`ls -A '${home}'; echo x > '${home}/y' || echo no`, kind);
    expect(output.head).toMatch(/no\n$/);
    expect(output.head).not.toContain('lookfirst.db');
    expect(existsSync(join(home, 'y'))).toBe(false);
  });

  it('ends with everything it started', async () => {
    const { end } = await run('(while :; do echo x >> tick; sleep 0.01; done) & exit 0', kind);
    expect(end).toEqual({ kind: 'exited', code: 0 });
    expect(readdirSync(workspace)).toEqual([]);
  });

  it('keeps its user and has no descriptor of the sandbox', async () => {
    const fds = "ls /proc/self/fd | grep '^.$' | tr '\\n' ' '";
    const { output } = await run(`id -u; id -g; grep NoNewPrivs /proc/self/status; ${fds}`, kind);
    // 3 is the folder that ls reads.
    expect(output.head).toBe(`${process.getuid?.()}\n${process.getgid?.()}\nNoNewPrivs:\t1\n0 1 2 3 `);
  });

  it('has no capability in a user namespace', async () => {
    const { output } = await run('grep Cap[EPB] /proc/self/status | cut -f2 | sort -u', kind);
    const isRoot =
      kind.profile.kind === 'undo' && (kind.tools?.namespace ?? here?.tools.namespace) === 'root';
    expect(output.head === '0000000000000000\n').toBe(!isRoot);
  });

  it('ends with the code of its signal', async () => {
    expect((await run('kill -TERM $$', kind)).end).toEqual({ kind: 'exited', code: 143 });
  });

  it('is ended by its time limit', async () => {
    const { end } = await run('echo begun; sleep 1000', { ...kind, timeoutMs: 300 });
    expect(end).toEqual({ kind: 'ended', why: 'timeout' });
  });

  it('is ended by its caller', async () => {
    const aborter = new AbortController();
    const { end, output } = await run('echo begun; sleep 1000', {
      ...kind,
      signal: aborter.signal,
      onOutput: () => aborter.abort(),
    });
    expect(end).toEqual({ kind: 'ended', why: 'cancelled' });
    expect(output.head).toBe('begun\n');
  });

  it('reaches the real folders that are bound through', async () => {
    put('node_modules/a');
    const { layer } = await run('echo x > node_modules/b; echo y > c', {
      ...kind,
      boundThrough: [join(workspace, 'node_modules')],
    });
    expect(readdirSync(join(workspace, 'node_modules'))).toEqual(['a', 'b']);
    expect(readdirSync(upperFolder(layer, 0))).toEqual(['c']);
  });

  it('has two layers where one folder lies in another', async () => {
    put('inner/a');
    const { layer } = await run('echo x > inner/b; echo y > c', {
      ...kind,
      layered: [workspace, join(workspace, 'inner')],
    });
    expect(readdirSync(upperFolder(layer, 0))).toEqual(['c']);
    expect(readdirSync(upperFolder(layer, 1))).toEqual(['b']);
  });
});

describe.skipIf(here === undefined)('a confined command', () => {
  it('can change nothing outside the workspace', async () => {
    const outside = join(workspace, '..', 'outside');
    mkdirSync(outside);
    const mine = `/tmp/mine-${randomUUID()}`;
    const { output } = await run(`echo x > '${outside}/f' || echo no; echo y > ${mine} && ls ${mine}`, {
      profile: CONFINE,
    });
    expect(output.head).toContain(`no\n${mine}\n`);
    expect(readdirSync(outside)).toEqual([]);
    expect(existsSync(mine)).toBe(false);
  });

  it('has no network, no capabilities, and few variables', async () => {
    const processes = new Processes({ home, env: { ...process.env, API_TOKEN: 't', KEEP: 'k' }, attributes });
    const script = 'cat /proc/net/dev | tail -n +3 | grep -v lo: ; grep CapEff /proc/self/status; env';
    const { output } = await run(script, { profile: CONFINE, processes, env: ['KEEP'] });
    expect(output.head).toMatch(/^CapEff:\t0+\n/);
    expect(output.head).toContain('KEEP=k');
    expect(output.head).not.toContain('API_TOKEN');
  });

  it('does not see what the policy hides', async () => {
    const outside = join(workspace, '..', 'outside');
    mkdirSync(join(outside, '.ssh'), { recursive: true });
    writeFileSync(join(outside, '.ssh', 'id'), 'secret');
    writeFileSync(join(outside, '.netrc'), 'secret');
    const { output } = await run(`cat '${outside}/.netrc' '${outside}/.ssh/id'; ls -A '${outside}/.ssh'`, {
      profile: CONFINE,
      hide: [join(outside, '.ssh'), join(outside, '.netrc'), join(outside, 'missing')],
    });
    expect(output.head).not.toContain('secret');
  });

  it('cannot write a file beyond the limit', async () => {
    const { output } = await run('head -c 30000000 /dev/zero > big; stat -c %s big', { profile: CONFINE });
    expect(output.head).toContain(`${1 << 24}\n`);
  });
});

describe.skipIf(here === undefined)('a confined command does not escape', () => {
  /** Each tries to write `escaped` into a file outside, or to print what it must not read. `O` is the folder outside. */
  it.each<[string, string]>([
    ['by a path', 'echo escaped > "$O/f"'],
    ['by `..`', 'echo escaped > "../outside/f"'],
    ['by a link', 'ln -s "$O" l; echo escaped > l/f'],
    ['by a link in place of a folder', 'mkdir d; rmdir d; ln -s "$O" d; echo escaped > d/f'],
    ['by /proc/1/root', 'echo escaped > "/proc/1/root$O/f"'],
    ['by the working folder of its parent', 'echo escaped > "/proc/$PPID/cwd/../../outside/f"'],
    ['by every descriptor', 'for d in /proc/self/fd/*; do echo escaped > "$d/../../outside/f"; done'],
    ['by mounting', 'mount -o remount,rw / && echo escaped > "$O/f"; umount "$PWD" && echo escaped > f'],
    ['by a new namespace', 'unshare -Urm sh -c "mount -o remount,rw,bind $O && echo escaped > $O/f"'],
    ['by a setuid program', 'cp /bin/sh s; chmod 4755 s; ./s -c "echo escaped > $O/f"'],
    ['by reading the state', 'cat "$O/../state/secret"'],
  ])('%s', async (_way, script) => {
    const outside = join(workspace, '..', 'outside');
    mkdirSync(outside);
    writeFileSync(join(home, 'secret'), 'escaped');
    const command = `O='${outside}'; ${script}`;
    const { output } = await run(`${command}; true`, { profile: CONFINE });
    expect(output.head.replaceAll(/[^\n]*: [^\n]*/g, '')).not.toContain('escaped');
    expect(readdirSync(outside)).toEqual([]);
    expect(readdirSync(workspace)).toEqual([]);
  });

  it('by a socket of the machine', async () => {
    const path = join(workspace, '..', 's');
    const met: string[] = [];
    const server = createServer(() => met.push('met')).listen(path);
    const script = `node -e 'require("net").connect(process.argv[1]).on("error",()=>console.log("no")).on("connect",()=>console.log("yes"))' '${path}'; true`;
    const { output } = await run(script, { profile: CONFINE });
    server.close();
    // The folder is in /tmp, which is private.
    expect([output.head.trim(), met]).toEqual(['no', []]);
  });
});

describe.skipIf(here === undefined)('the undo profile', () => {
  it('shows a command its own processes only', async () => {
    const { output } = await run('ls -d /proc/[0-9]* | wc -l');
    expect(Number(output.head)).toBeLessThan(10);
  });

  it.each([[undefined], ['de_DE.UTF-8']])('leaves the locale %s as it is', async (locale) => {
    const processes = new Processes({ home, env: { ...process.env, LC_ALL: locale }, attributes });
    const { output } = await run(`echo "\${LC_ALL-none}"`, { processes });
    expect(output.head).toBe(`${locale ?? 'none'}\n`);
  });

  it('leaves environment, home and /tmp as they are', async () => {
    const outside = join(workspace, '..', 'outside');
    mkdirSync(outside);
    const processes = new Processes({ home, env: { ...process.env, API_TOKEN: 't' }, attributes });
    const { output } = await run(`echo $API_TOKEN > '${outside}/f'; id -u`, { processes });
    expect(readFileSync(join(outside, 'f'), 'utf8')).toBe('t\n');
    expect(output.head).toBe(`${process.getuid?.()}\n`);
  });
});

describe.skipIf(here === undefined)('long output', () => {
  it('is shown as head and tail, and kept whole for its session', async () => {
    const processes = new Processes({ home, env: process.env, attributes });
    const { output } = await run('seq 1 100000', { processes });
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

describe('the probe', () => {
  it('says what is missing and how to get it', async () => {
    const probe = await new Processes({ home, env: process.env, attributes: undefined }).probe();
    expect(probe).toMatchObject({ ok: false, missing: expect.stringContaining('attributes') });
  });

  it('leaves nothing behind', async () => {
    const processes = new Processes({ home, env: process.env, attributes });
    expect(await processes.probe()).toBe(await processes.probe());
    expect(existsSync(join(home, 'layers')) ? readdirSync(join(home, 'layers')) : []).toEqual([]);
  });
});

describe('a command whose sandbox is still starting', () => {
  const processesOf = (id: string): readonly string[] =>
    readdirSync('/proc').filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`LOOKFIRST_COMMAND=${id}\0`);
      } catch {
        return false;
      }
    });

  it.skipIf(here === undefined).each([
    ['undo', UNDO],
    ['confine', CONFINE],
  ])('leaves no process behind if it is cancelled: %s', async (_kind, profile) => {
    const ids = Array.from({ length: 40 }, () => `r${randomUUID().replaceAll('-', '')}`);
    for (const [round, id] of ids.entries()) {
      const control = new AbortController();
      setTimeout(() => control.abort(), round / 4);
      const { layer } = await run('sleep 100', { id, profile, signal: control.signal });
      removeLayer(layer);
    }
    await expect.poll(() => ids.flatMap(processesOf), { timeout: 10_000 }).toEqual([]);
  });

  it.skipIf(process.platform !== 'linux')('is ended by the next one if its process was killed', async () => {
    const [dead, alive] = [0, 1].map(() => `r${randomUUID().replaceAll('-', '')}`);
    const waiting = [dead, alive].map((id) => {
      makeLayer(home, id ?? '', [], id === dead ? 'killed' : 'me');
      return spawn('sleep', ['100'], { env: { ...process.env, LOOKFIRST_COMMAND: id }, stdio: 'ignore' });
    });
    const ended = once(waiting[0] ?? process, 'exit');
    const owner = { tag: 'me', isTagAlive: (tag: string) => tag === 'me' };
    new Processes({ home, env: {}, attributes: undefined, owner }).expire({
      nowMs: Date.now(),
      dryRun: false,
    });
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(processesOf(alive ?? '')).toEqual([String(waiting[1]?.pid)]);
    waiting[1]?.kill();
  });
});

it.skipIf(process.platform !== 'linux')(
  'a probe whose process was killed is ended by the next clean-up',
  async () => {
    const programs = join(home, 'programs');
    mkdirSync(programs);
    writeFileSync(join(programs, 'unshare'), '#!/bin/sh\nexec sleep 100\n', { mode: 0o755 });
    const owner = { tag: 'killed', isTagAlive: (tag: string) => tag === 'me' };
    // Perl has no part in this: its sandbox ends with its parent.
    const env = { PATH: `${programs}:/usr/bin:/bin`, PERL5OPT: '' };
    const probing = new Processes({ home, env, attributes, owner }).probe();
    const cleaning = new Processes({ home, env, attributes, owner: { ...owner, tag: 'me' } });
    let isOver = false;
    void probing.finally(() => {
      isOver = true;
    });
    await expect
      .poll(() => {
        cleaning.expire({ nowMs: Date.now(), dryRun: false });
        return isOver;
      })
      .toBe(true);
    expect(await probing).toMatchObject({ ok: false });
  },
);

it('a layer is removed with names that are not UTF-8', async () => {
  const layer = makeLayer(home, 'odd', []);
  writeFileSync(Buffer.concat([Buffer.from(`${layer.folder}/a`), Buffer.from([0xff])]), '');
  removeLayer(layer);
  // Another process removes it.
  await expect.poll(() => existsSync(layer.folder), { timeout: 20_000 }).toBe(false);
});

it('kept layers and outputs go after 7 days, abandoned layers after one', () => {
  const old = (days: number): Date => new Date(Date.now() - days * 24 * 60 * 60 * 1000);
  const place = (path: string, days: number): void => utimesSync(join(home, path), old(days), old(days));
  const processes = new Processes({ home, env: {}, attributes: undefined });
  for (const id of ['kept6', 'kept8', 'dead0', 'dead2']) {
    const layer = makeLayer(home, id, []);
    if (id.startsWith('kept')) keepLayer(layer, { session: 's', command: 'c' });
  }
  mkdirSync(join(home, 'outputs'));
  for (const name of ['new', 'new.json', 'old', 'old.json']) writeFileSync(join(home, 'outputs', name), '');
  for (const id of ['kept6', 'kept8', 'dead0', 'dead2']) place(`layers/${id}`, Number(id.slice(4)));
  for (const name of ['old', 'old.json']) place(`outputs/${name}`, 8);
  const nowMs = Date.now();
  expect(processes.expire({ nowMs, dryRun: true })).toEqual({ layers: 2, outputs: 1 });
  expect(readdirSync(join(home, 'layers'))).toHaveLength(4);
  expect(processes.expire({ nowMs, dryRun: false })).toEqual({ layers: 2, outputs: 1 });
  expect(readdirSync(join(home, 'layers')).sort()).toEqual(['dead0', 'kept6']);
  expect(readdirSync(join(home, 'outputs')).sort()).toEqual(['new', 'new.json']);
});
