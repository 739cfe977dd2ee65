import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EVERYTHING, OFFICIAL, scratch, startProxy } from './harness.ts';
import { gone, isAlive, ProxyProcess } from './proxy-process.ts';

const ODD = fileURLToPath(new URL('../children/odd-server.mjs', import.meta.url));
const odd = (...flags: string[]) =>
  ProxyProcess.start(scratch(), process.execPath, [ODD, 'odd', ...flags], { graceMs: 200 });

describe('the proxy and its server end together', () => {
  it.each([
    ['the official server', OFFICIAL, (root: string) => [root]],
    ['the everything server', EVERYTHING, () => ['stdio']],
  ])('at the end of the input, with %s', async (_what, server, args) => {
    const root = scratch();
    const proxy = await ProxyProcess.start(root, process.execPath, [server, ...args(root)]);
    await proxy.client.initialize();
    proxy.client.end();
    expect(await proxy.exited).toEqual({ code: 0, signal: null });
  });

  it('a server that stays after the end of its input is ended with the processes it started', async () => {
    const proxy = await odd('--stay', '--deaf');
    await proxy.client.initialize();
    const grandchild = Number((await proxy.client.call('grandchild')).text);
    expect(isAlive(grandchild)).toBe(true);
    proxy.client.end();
    expect(await proxy.exited).toEqual({ code: 137, signal: null });
    await gone(grandchild);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s reaches the whole group', async (signal) => {
    const proxy = await odd('--stay');
    await proxy.client.initialize();
    const grandchild = Number((await proxy.client.call('grandchild')).text);
    proxy.child.kill(signal);
    const codes = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 };
    expect(await proxy.exited).toEqual({ code: codes[signal], signal: null });
    await gone(grandchild);
  });

  it('a server that ignores signals is killed', async () => {
    const proxy = await odd('--stay', '--deaf');
    await proxy.client.initialize();
    const grandchild = Number((await proxy.client.call('grandchild')).text);
    proxy.child.kill('SIGTERM');
    expect(await proxy.exited).toEqual({ code: 137, signal: null });
    await gone(grandchild);
  });

  it('when the proxy is killed outright, the server sees the end of its input', async () => {
    const proxy = await ProxyProcess.start(scratch(), process.execPath, [ODD]);
    await proxy.client.initialize();
    const env = JSON.parse((await proxy.client.call('env')).text);
    const pid = await serverPid(proxy);
    expect(isAlive(pid)).toBe(true);
    proxy.child.kill('SIGKILL');
    await gone(pid);
    expect(env.LOOKFIRST_TEST).toBe('passed on');
  });

  it('the exit code is the server’s own, and an unanswered call does not delay the end', async () => {
    const proxy = await odd();
    await proxy.client.initialize();
    const args = { path: 'new.txt', content: 'DIE' };
    proxy.client.send({
      jsonrpc: '2.0',
      id: 9,
      method: 'tools/call',
      params: { name: 'write_file', arguments: args },
    });
    expect(await proxy.exited).toEqual({ code: 3, signal: null });
    expect(proxy.errors).toContain(
      'lookfirst: the server ended with exit code 3; run its command alone to see why [IO_FAILED]\n',
    );
  });

  it('calls that were sent before the end of the input are still made and answered', async () => {
    const proxy = await odd();
    const answers = [
      proxy.client.initialize(),
      proxy.client.call('cwd'),
      proxy.client.call('size', { value: 'abc' }),
    ];
    proxy.client.end();
    await Promise.all(answers);
    expect(await proxy.exited).toEqual({ code: 0, signal: null });
  });

  it('a command that cannot be started is an error, not a hang', async () => {
    const { code } = await startProxy(scratch(), { command: '/nowhere/to/be/found', args: [] });
    await expect(code).rejects.toThrow('there is no program');
    await expect(code).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('the server’s environment', () => {
  it('is ours: variables, working directory, standard error', async () => {
    const root = scratch();
    const proxy = await ProxyProcess.start(root, process.execPath, [ODD]);
    await proxy.client.initialize();
    expect(JSON.parse((await proxy.client.call('env')).text)).toMatchObject({
      LOOKFIRST_TEST: 'passed on',
      PATH: process.env['PATH'],
    });
    expect((await proxy.client.call('cwd')).text).toBe(root);
    await proxy.said('called cwd');
  });

  it('lines on standard output that are not messages are dropped and reported', async () => {
    const proxy = await odd();
    await proxy.client.initialize();
    expect((await proxy.client.call('noise')).text).toBe('ok');
    await proxy.said('dropped a line that is not a message: Debug: not a message');
  });
});

async function serverPid(proxy: ProxyProcess): Promise<number> {
  const listing = spawn('ps', ['-o', 'pid=', '--ppid', String(proxy.child.pid)]);
  let text = '';
  for await (const chunk of listing.stdout) text += String(chunk);
  return Number(text.trim());
}
