import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const TOKEN = 'a-token-for-tests';

/** A workspace in which ripgrep never finishes: it waits for ignore rules that are never written. */
function endless(): Scratch {
  const places = scratch();
  writeFileSync(join(places.root, 'a.txt'), 'one\n');
  mkdirSync(join(places.root, '.git'));
  execFileSync('mkfifo', [join(places.root, '.gitignore')]);
  // Ends processes of a failed test, which would otherwise wait for ever.
  onTestFinished(() => {
    for (const pid of searches(places)) process.kill(Number(pid), 'SIGKILL');
  });
  return places;
}

/** The running ripgrep processes that search in a workspace. */
function searches({ root }: Scratch): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /\/rg$/.test(readlinkSync(`/proc/${pid}/exe`)) && readlinkSync(`/proc/${pid}/cwd`) === root;
    } catch {
      return false;
    }
  });
}

function begin(served: Served, call: { id: number; name: string; args: object; token?: string }): void {
  const { id, name, args, token } = call;
  const meta = token === undefined ? {} : { _meta: { progressToken: token } };
  served.client.send({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: args, ...meta },
  });
}

async function notes(served: Served, token: string, count: number): Promise<number[]> {
  const values: number[] = [];
  while (values.length < count) {
    const { params } = await served.client.next(
      ({ method, params: given }) =>
        method === 'notifications/progress' && given?.['progressToken'] === token,
    );
    values.push(Number(params?.['progress']));
  }
  return values;
}

const SEARCHES: [name: string, args: object][] = [
  ['search_text', { pattern: 'one' }],
  ['find_files', { pattern: '*.none' }],
];

describe.skipIf(process.platform !== 'linux')('long work over stdio', () => {
  it.each(SEARCHES)(
    '%s reports progress to the caller that asked for it, and leaves no process when cancelled',
    async (...search) => {
      const [name, args] = search;
      const places = endless();
      const served = await Served.start(places);
      begin(served, { id: 900, name, args, token: 'p' });
      begin(served, { id: 901, name, args });
      const values = await notes(served, 'p', 4);
      expect(values.every((value, at) => at === 0 || value > Number(values[at - 1]))).toBe(true);
      await expect.poll(() => searches(places)).toHaveLength(2);
      for (const requestId of [900, 901])
        served.client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
      await expect.poll(() => searches(places)).toEqual([]);
      expect((await served.call('read_file', { path: 'a.txt' })).ok).toBe(true);
      served.client.child.stdin.end();
      const { code, rest } = await served.client.exit();
      expect(code).toBe(0);
      // No answer may arrive for the cancelled calls. Progress notifications of the first call are
      // allowed: they were sent before its cancellation arrived.
      expect(rest.filter(({ id }) => id === 900 || id === 901)).toEqual([]);
      expect(rest.every(({ params }) => params === undefined || params['progressToken'] === 'p')).toBe(true);
    },
  );

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('ends at %s', async (signal) => {
    const places = endless();
    const served = await Served.start(places);
    begin(served, { id: 900, name: 'search_text', args: { pattern: 'one' } });
    await expect.poll(() => searches(places)).toHaveLength(1);
    served.client.child.kill(signal);
    expect(await served.client.exit()).toMatchObject({ signal: null });
    expect(searches(places)).toEqual([]);
  });

  it('ends when the client disconnects', async () => {
    const places = endless();
    const served = await Served.start(places);
    begin(served, { id: 900, name: 'search_text', args: { pattern: 'one' }, token: 'p' });
    await expect.poll(() => searches(places)).toHaveLength(1);
    served.client.child.stdout.destroy();
    served.client.child.stdin.end();
    await served.client.exit();
    expect(searches(places)).toEqual([]);
  });

  it('reading a page of a huge file reports increasing progress, and none after its answer', async () => {
    const places = scratch();
    const line = 'a line of a huge file\n';
    writeFileSync(join(places.root, 'huge.txt'), line.repeat(3_000_000));
    const served = await Served.start(places);
    const args = { path: 'huge.txt', offset: 2_999_000, limit: 2 };
    begin(served, { id: 900, name: 'read_file', args, token: 'p' });
    begin(served, { id: 901, name: 'read_file', args });
    const order: unknown[] = [];
    for (let answers = 0; answers < 2; ) {
      const { id, params } = await served.client.next();
      if (id !== undefined) answers += 1;
      order.push(id ?? params);
    }
    const before = order.slice(0, order.indexOf(900)) as { progress: number; total: number }[];
    const values = before.filter((params) => typeof params === 'object').map(({ progress }) => progress);
    expect(values.length).toBeGreaterThan(0);
    expect(values).toEqual([...new Set(values)].sort((x, y) => x - y));
    expect(values.at(-1)).toBeLessThanOrEqual(3_000_000 * line.length);
    expect(order.slice(order.indexOf(900)).filter((params) => typeof params === 'object')).toEqual([]);
    expect(await served.stop()).toBe(0);
  });

  it('a change that is cancelled before it starts is not made', async () => {
    const places = scratch();
    const served = await Served.start(places);
    const params = { name: 'write_file', arguments: { path: 'unwanted', content: 'x' } };
    const call = { jsonrpc: '2.0', id: 900, method: 'tools/call', params };
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 900 } };
    // Sends the call and its cancellation together: the workspace is still being opened when the
    // call is cancelled.
    served.client.send(`${JSON.stringify(call)}\n${JSON.stringify(cancel)}`);
    await served.call('write_file', { path: 'wanted', content: 'x' });
    expect(await served.stop()).toBe(0);
    expect(readdirSync(places.root)).toEqual(['wanted']);
    expect(served.client.errors).not.toContain('failed');
  });

  it('a long listing does not block other calls, reports progress and can be cancelled', async () => {
    const places = scratch();
    for (let folder = 0; folder < 5; folder += 1) {
      mkdirSync(join(places.root, `d${folder}`));
      for (let file = 0; file < 500; file += 1) writeFileSync(join(places.root, `d${folder}`, `${file}`), '');
    }
    const served = await Served.start(places, ['--dialect', 'filesystem']);
    const args = { path: places.root };
    begin(served, { id: 900, name: 'directory_tree', args, token: 'p' });
    begin(served, { id: 901, name: 'directory_tree', args, token: 'q' });
    served.client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 900 } });
    const answer = await served.client.next(({ id }) => id === 901);
    expect(JSON.stringify(answer.result)).toContain('d4');
    expect(await notes(served, 'q', 1)).toEqual([expect.any(Number)]);
    served.client.child.stdin.end();
    const { rest } = await served.client.exit();
    expect(rest.filter(({ id }) => id === 900)).toEqual([]);
  });
});

describe.skipIf(process.platform !== 'linux').each(['legacy', 'modern'] as const)(
  'long work over HTTP, %s',
  (era) => {
    it.each(SEARCHES)('%s reports progress, and can be cancelled', async (name, args) => {
      const places = endless();
      const served = Served.launch(places, ['serve', places.root, '--http'], { LOOKFIRST_TOKEN: TOKEN });
      await served.client.said('token: ');
      const url = /serving at (\S+)/.exec(served.client.errors)?.[1] ?? '';
      const client = new Client(
        { name: 'sdk-client', version: '2.4.0' },
        { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } } },
      );
      const headers = { Authorization: `Bearer ${TOKEN}` };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
      onTestFinished(() => client.close());
      const values: number[] = [];
      const stop = new AbortController();
      const running = client.callTool(
        { name, arguments: { ...args } },
        { signal: stop.signal, onprogress: ({ progress }) => values.push(progress) },
      );
      const ended = expect(running).rejects.toThrow();
      await expect.poll(() => values.length).toBeGreaterThan(2);
      expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
      expect(searches(places)).toHaveLength(1);
      stop.abort('enough');
      await ended;
      await expect.poll(() => searches(places)).toEqual([]);
      // Another search is running when the server ends.
      const last = client.callTool({ name, arguments: { ...args } }).catch(() => 'gone');
      await expect.poll(() => searches(places)).toHaveLength(1);
      served.client.child.kill('SIGTERM');
      await served.client.exit();
      expect(searches(places)).toEqual([]);
      await client.close();
      await last;
    });
  },
);
