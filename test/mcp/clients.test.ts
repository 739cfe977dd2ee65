import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IS_LONG } from '../support/rounds.ts';
import { WatchedChild } from '../support/watched-child.ts';

const CHILD = fileURLToPath(new URL('../children/tool-server.mjs', import.meta.url));
const TOKEN = 'a-token-for-tests';
let url: string;
let server: ReturnType<typeof spawn>;

beforeAll(async () => {
  server = spawn(process.execPath, [CHILD, 'http', TOKEN], { stdio: ['ignore', 'pipe', 'pipe'] });
  if (server.stdout === null) throw new Error('no output');
  const lines = once(createInterface(server.stdout), 'line');
  [url] = await new WatchedChild(server).whileRunning(lines);
});

afterAll(async () => {
  const exited = once(server, 'exit');
  server.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});

type Era = 'legacy' | 'modern';
const CASES: [transport: 'stdio' | 'http', era: Era][] = [
  ['stdio', 'legacy'],
  ['stdio', 'modern'],
  ['http', 'legacy'],
  ['http', 'modern'],
];

async function connect(transport: 'stdio' | 'http', era: Era): Promise<Client> {
  const client = new Client(
    { name: 'sdk-client', version: '2.4.0' },
    { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } } },
  );
  const headers = { Authorization: `Bearer ${TOKEN}` };
  await client.connect(
    transport === 'stdio'
      ? new StdioClientTransport({ command: process.execPath, args: [CHILD, 'stdio'], stderr: 'ignore' })
      : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  );
  return client;
}

async function text(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args });
  const [block] = content;
  return block?.type === 'text' ? block.text : '';
}

describe.each(CASES)('the official client over %s, %s', (transport, era) => {
  let client: Client;
  beforeAll(async () => {
    client = await connect(transport, era);
  });
  afterAll(() => client.close());

  it('connects, lists and calls', async () => {
    expect(client.getProtocolEra()).toBe(era);
    expect(client.getInstructions()).toBe('Read, then change.');
    expect(client.getServerVersion()).toMatchObject({ name: 'fixture', version: '1.2.3' });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('echo');
    expect(await text(client, 'echo', { value: 'é"\n' })).toBe('é"\n');
    expect(await text(client, 'bytes', { value: 'é"\n\u0001' })).toBe('é"\n\u0001');
    const result = await client.callTool({ name: 'bytes', arguments: { value: 'x' } });
    expect(result._meta).toMatchObject({ 'dev.lookfirst/outcome': { ok: true, complete: true } });
  });

  it("passes the client's name to the host", async () => {
    const who = JSON.parse(await text(client, 'who'));
    expect(who).toMatchObject({
      clientInfo: { name: 'sdk-client', version: '2.4.0' },
      session: transport === 'http' && era === 'legacy' ? 'string' : 'undefined',
    });
  });

  it('sees refusals as results and protocol errors as errors', async () => {
    expect(await client.callTool({ name: 'refuse', arguments: {} })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: 'fail', arguments: {} })).toMatchObject({ isError: true });
    await expect(client.callTool({ name: 'nope', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });

  it('receives progress', async () => {
    const steps: number[] = [];
    const key = `count-${transport}-${era}`;
    const counted = client.callTool(
      { name: 'count', arguments: { to: 5, key } },
      { onprogress: ({ progress }) => steps.push(progress) },
    );
    await expect.poll(() => steps.length).toBe(5);
    await text(client, 'release', { key });
    await counted;
    expect(steps).toEqual([1, 2, 3, 4, 5]);
  });

  it('cancels a call', async () => {
    const before = Number(await text(client, 'cancelled'));
    const stop = new AbortController();
    const key = `cancel-${transport}-${era}`;
    const running = client.callTool({ name: 'hold', arguments: { key } }, { signal: stop.signal });
    await expect.poll(() => text(client, 'holding')).toContain(key);
    stop.abort('enough');
    await expect(running).rejects.toThrow();
    await expect.poll(() => text(client, 'cancelled')).toBe(String(before + 1));
  });

  it('can have several calls in flight, answered in the order in which they finish', async () => {
    const order: string[] = [];
    const key = `later-${transport}-${era}`;
    const held = text(client, 'hold', { key }).then(() => order.push('held'));
    await expect.poll(() => text(client, 'holding')).toContain(key);
    await Promise.all(Array.from({ length: 20 }, (_, value) => text(client, 'echo', { value })));
    order.push('echoes');
    await text(client, 'release', { key });
    await held;
    expect(order).toEqual(['echoes', 'held']);
  });

  it.runIf(IS_LONG || era === 'modern')('sends and receives 6 MB', async () => {
    const value = 'a\n'.repeat(3_000_000);
    expect(await text(client, 'size', { value })).toBe('6000000');
    expect(await text(client, 'bytes', { value })).toBe(value);
  });
});
