import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONFINE, commandBench, UNDO } from '../../test/support/command-bench.ts';
import { PRESETS } from '../config/presets.ts';
import type { Profile } from './sandbox.ts';

const at = await commandBench();
const { here } = at;

describe.skipIf(here === undefined)('a confined command', () => {
  it('can change nothing outside the workspace', async () => {
    const outside = join(at.workspace, '..', 'outside');
    mkdirSync(outside);
    const mine = `/tmp/mine-${randomUUID()}`;
    const { output } = await at.run(`echo x > '${outside}/f' || echo no; echo y > ${mine} && ls ${mine}`, {
      profile: CONFINE,
    });
    expect(output.head).toContain(`no\n${mine}\n`);
    expect(readdirSync(outside)).toEqual([]);
    expect(existsSync(mine)).toBe(false);
  });

  it('has no network, no capabilities, and few variables', async () => {
    const processes = at.processes({ ...process.env, API_TOKEN: 't', KEEP: 'k' });
    const script = 'cat /proc/net/dev | tail -n +3 | grep -v lo: ; grep CapEff /proc/self/status; env';
    const { output } = await at.run(script, { profile: CONFINE, processes, env: ['KEEP'] });
    expect(output.head).toMatch(/^CapEff:\t0+\n/);
    expect(output.head).toContain('KEEP=k');
    expect(output.head).not.toContain('API_TOKEN');
  });

  it('does not see paths that the policy hides', async () => {
    const outside = join(at.workspace, '..', 'outside');
    mkdirSync(join(outside, '.ssh'), { recursive: true });
    writeFileSync(join(outside, '.ssh', 'id'), 'secret');
    writeFileSync(join(outside, '.netrc'), 'secret');
    const { output } = await at.run(`cat '${outside}/.netrc' '${outside}/.ssh/id'; ls -A '${outside}/.ssh'`, {
      profile: CONFINE,
      hide: [join(outside, '.ssh'), join(outside, '.netrc'), join(outside, 'missing')],
    });
    expect(output.head).not.toContain('secret');
  });

  it('does not see the password hashes of the machine, even if root runs it', async () => {
    const { hide } = PRESETS.default.commands;
    const { output } = await at.run('cat /etc/shadow /etc/gshadow | wc -c', { profile: CONFINE, hide });
    expect(output.head).toMatch(/^0$/m);
  });

  it.each([{}, { namespace: 'user' as const }])('cannot change settings of the kernel: %o', async (tools) => {
    const { output } = await at.run('find /proc/sys -writable | wc -l', {
      profile: CONFINE,
      tools,
    });
    expect(output.head).toMatch(/^0$/m);
  });

  it.skipIf(!existsSync('/usr/bin/perl'))('has none of the keys of its session in the kernel', async () => {
    const [keyctl, addKey] = process.arch === 'x64' ? [250, 248] : [219, 217];
    const unshare = join(at.home, 'unshare');
    const steps = [
      `my ($kind, $name, $value) = ('user', 'a key', 'secret')`,
      `syscall ${keyctl}, 1, 0`,
      `syscall ${addKey}, $kind, $name, $value, 6, -3`,
      `exec '${here?.tools.unshare}', @ARGV`,
    ];
    writeFileSync(unshare, `#!/usr/bin/perl\n${steps.join(';\n')};\n`, { mode: 0o755 });
    const search = `perl -e '($k, $n) = ("user", "a key"); print syscall ${keyctl}, 10, -3, $k, $n, 0'`;
    const found = async (profile: Profile): Promise<string> =>
      (await at.run(search, { profile, tools: { unshare } })).output.head;
    // Control: without `confine`, the command finds the key, so the search itself works.
    expect(Number(await found(UNDO))).not.toBe(0);
    expect(await found(CONFINE)).toBe('-1');
  });

  it('cannot write a file beyond the limit', async () => {
    const { output } = await at.run('head -c 30000000 /dev/zero > big; stat -c %s big', { profile: CONFINE });
    expect(output.head).toContain(`${1 << 24}\n`);
  });
});

describe.skipIf(here === undefined)('a confined command does not escape', () => {
  /**
   * Each script tries to write `escaped` into a file outside the workspace, or to print a file that
   * it must not read. `O` is a folder outside the workspace.
   */
  it.each<[string, string]>([
    ['by a path', 'echo escaped > "$O/f"'],
    ['by `..`', 'echo escaped > "../outside/f"'],
    ['by a link', 'ln -s "$O" l; echo escaped > l/f'],
    ['by a link in place of a folder', 'mkdir d; rmdir d; ln -s "$O" d; echo escaped > d/f'],
    ['through /proc/1/root', 'echo escaped > "/proc/1/root$O/f"'],
    ['through the working folder of its parent', 'echo escaped > "/proc/$PPID/cwd/../../outside/f"'],
    ['through any open descriptor', 'for d in /proc/self/fd/*; do echo escaped > "$d/../../outside/f"; done'],
    ['by mounting', 'mount -o remount,rw / && echo escaped > "$O/f"; umount "$PWD" && echo escaped > f'],
    ['by a new namespace', 'unshare -Urm sh -c "mount -o remount,rw,bind $O && echo escaped > $O/f"'],
    ['by a setuid program', 'cp /bin/sh s; chmod 4755 s; ./s -c "echo escaped > $O/f"'],
    ['by reading the state', 'cat "$O/../state/secret"'],
  ])('%s', async (_way, script) => {
    const outside = join(at.workspace, '..', 'outside');
    mkdirSync(outside);
    writeFileSync(join(at.home, 'secret'), 'escaped');
    const command = `O='${outside}'; ${script}`;
    const { output } = await at.run(`${command}; true`, { profile: CONFINE });
    expect(output.head.replaceAll(/[^\n]*: [^\n]*/g, '')).not.toContain('escaped');
    expect(readdirSync(outside)).toEqual([]);
    expect(readdirSync(at.workspace)).toEqual([]);
  });

  it('through a socket of the machine', async () => {
    const path = join(at.workspace, '..', 's');
    const met: string[] = [];
    const server = createServer(() => met.push('met')).listen(path);
    const script = `node -e 'require("net").connect(process.argv[1]).on("error",()=>console.log("no")).on("connect",()=>console.log("yes"))' '${path}'; true`;
    const { output } = await at.run(script, { profile: CONFINE });
    server.close();
    // The socket is in /tmp, and a confined command sees an empty private folder there.
    expect([output.head.trim(), met]).toEqual(['no', []]);
  });
});
