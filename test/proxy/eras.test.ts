import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OFFICIAL, scratch, startProxy } from './harness.ts';
import { LineClient } from './line-client.ts';
import { proxyCommand } from './proxy-process.ts';

const SERVER = fileURLToPath(new URL('../children/modern-server.mjs', import.meta.url));
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
};

function modern(client: LineClient, method: string, params: object = {}, meta: object = {}) {
  return client.request(method, { ...params, _meta: { ...ENVELOPE, ...meta } });
}

/**
 * Uses the features of the MCP revision without sessions: discovery, lists, calls, progress,
 * questions, subscriptions.
 */
async function conversation(client: LineClient): Promise<void> {
  await modern(client, 'server/discover');
  await modern(client, 'tools/list');
  await modern(client, 'tools/call', { name: 'count', arguments: { to: 3 } }, { progressToken: 'p' });
  const asked = await modern(client, 'tools/call', { name: 'confirm', arguments: {} });
  expect(asked.result.resultType).toBe('input_required');
  const inputResponses = { confirm: { action: 'accept', content: { sure: true } } };
  await modern(client, 'tools/call', { name: 'confirm', arguments: {}, inputResponses });
  client.send({
    jsonrpc: '2.0',
    id: 'listening',
    method: 'subscriptions/listen',
    params: { notifications: { toolsListChanged: true }, _meta: ENVELOPE },
  });
  await client.next((message) => message.method === 'notifications/subscriptions/acknowledged');
  client.send({
    jsonrpc: '2.0',
    id: 'held',
    method: 'tools/call',
    params: { name: 'hold', _meta: ENVELOPE },
  });
  client.notify('notifications/cancelled', { requestId: 'held', reason: 'enough', _meta: ENVELOPE });
  await modern(client, 'resources/read', { uri: 'note://one' });
  await modern(client, 'no/such/method');
  await client.request('ping');
}

it('a conversation of the revision without sessions is the same with and without the proxy', async () => {
  const child = spawn(process.execPath, [SERVER, 'stdio'], { stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const direct = new LineClient(child.stdin, child.stdout);
  await conversation(direct);
  direct.end();
  await once(child, 'exit');
  const proxied = await startProxy(scratch(), { command: process.execPath, args: [SERVER, 'stdio'] });
  await conversation(proxied.client);
  expect(proxied.client.lines).toEqual(direct.lines);
});

/** The official client, with the proxy as a separate process. */
async function sdkClient(root: string, mode: 'legacy' | 'auto' | { pin: string }, args: readonly string[]) {
  const [command = '', ...rest] = await proxyCommand({ root, command: process.execPath, args });
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  await client.connect(new StdioClientTransport({ command, args: rest, cwd: root, stderr: 'ignore' }));
  return client;
}

describe.each([
  ['legacy', 'legacy' as const],
  ['modern', { pin: '2026-07-28' }],
])('the official client in the %s era', (era, mode) => {
  it('accepts a refusal as the result of a tool with an output schema, and continues', async () => {
    const root = scratch();
    const path = join(root, 'a.txt');
    writeFileSync(path, 'old\n');
    const client = await sdkClient(root, mode, [SERVER, 'stdio']);
    expect(client.getProtocolEra()).toBe(era);
    await client.listTools();
    const write = { name: 'write_file', arguments: { path, content: 'new\n' } };
    const refused = await client.callTool(write);
    expect(refused).toMatchObject({
      isError: true,
      _meta: { 'dev.lookfirst/outcome': { code: 'NOT_READ' } },
    });
    expect(readFileSync(path, 'utf8')).toBe('old\n');
    const read = await client.callTool({ name: 'read_text_file', arguments: { path } });
    expect(read).toMatchObject({ structuredContent: { content: 'old\n' } });
    expect(await client.callTool(write)).toMatchObject({ structuredContent: { content: 'written' } });
    expect(readFileSync(path, 'utf8')).toBe('new\n');
  });
});

it('a client of both eras uses the old era with an old server, as it would without the proxy', async () => {
  const root = scratch();
  const client = await sdkClient(root, 'auto', [OFFICIAL, root]);
  expect(client.getProtocolEra()).toBe('legacy');
  expect((await client.listTools()).tools).toHaveLength(14);
});

it('a file resource outside the root is refused; other resources are left to the server', async () => {
  const { client } = await startProxy(scratch(), { command: process.execPath, args: [SERVER, 'stdio'] });
  const outside = await modern(client, 'resources/read', { uri: 'file:///etc/hostname' });
  expect(outside.error).toMatchObject({
    code: -32602,
    message: expect.stringContaining('OUTSIDE_WORKSPACE'),
  });
  // A path with ".." is refused: its meaning depends on which program follows a link first.
  for (const uri of ['file:///a/../b', 'file:///a/%2e%2E', 'file:///a%2f..%5cb', 'file:../b'])
    expect((await modern(client, 'resources/read', { uri })).error?.message, uri).toContain('".."');
  const dots = await modern(client, 'resources/read', { uri: 'file:///etc/..a/b..' });
  expect(dots.error?.message).toContain('OUTSIDE_WORKSPACE');
  const note = await modern(client, 'resources/read', { uri: 'note://one' });
  expect(note.result.contents[0].text).toBe('a note');
});
