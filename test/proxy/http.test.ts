import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ProxyFrontOptions, serveProxy } from '../../src/proxy/front-http.ts';
import { WatchedChild } from '../support/watched-child.ts';
import { EVERYTHING, OFFICIAL, openGate, scratch, startProxy } from './harness.ts';

const MODERN = fileURLToPath(new URL('../children/modern-server.mjs', import.meta.url));
const PIN = { pin: '2026-07-28' } as const;
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
};

/** A server process and its output. The process ends with the test. */
function serverProcess(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
  const watched = new WatchedChild(child);
  let said = '';
  let heard: () => void = () => {};
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
      heard();
    });
  onTestFinished(() => void child.kill('SIGKILL'));
  const hears = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const found = pattern.exec(said);
      if (found !== null) return found[1] ?? found[0];
      const more = new Promise<void>((resolve) => {
        heard = resolve;
      });
      await watched.whileRunning(more);
    }
  };
  return { hears };
}

/**
 * Starts the official server `everything` on a port that was free a moment ago, because that server
 * cannot choose a free port itself. Tries again if the port is taken by then.
 */
async function everythingServer(
  tries = 5,
): Promise<Awaited<ReturnType<typeof serverProcess>> & { url: string }> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const port = (probe.address() as { port: number }).port;
  await new Promise((resolve) => probe.close(resolve));
  const server = serverProcess([EVERYTHING, 'streamableHttp'], { PORT: String(port) });
  const said = await server.hears(/listening on port|in use/i);
  if (/in use/i.test(said) && tries > 1) return everythingServer(tries - 1);
  return { ...server, url: `http://127.0.0.1:${port}/mcp` };
}

async function modernServer() {
  const server = serverProcess([MODERN, 'http']);
  return { ...server, url: await server.hears(/(http:\S+)\n/) };
}

describe('a server behind an address', () => {
  it('of the old era: passes on its tools, its questions, its progress, and the end of its session', async () => {
    const server = await everythingServer();
    const { client, code } = await startProxy(scratch(), { url: server.url });
    client.replies.set('sampling/createMessage', () => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: 'sampled' },
    }));
    client.replies.set('roots/list', () => ({ roots: [] }));
    await client.initialize({ roots: {}, sampling: {}, elicitation: {} });
    await client.next((message) => message.method === 'roots/list');
    expect((await client.request('tools/list')).result.tools).toHaveLength(16);
    expect((await client.call('trigger-sampling-request', { prompt: 'x' })).text).toContain('sampled');
    const long = { name: 'trigger-long-running-operation', arguments: { duration: 0.1, steps: 2 } };
    await client.request('tools/call', { ...long, _meta: { progressToken: 't' } });
    const progress = client.lines.filter((line) => line.includes('notifications/progress'));
    expect(progress).toHaveLength(2);
    expect((await client.request('no/such')).error?.code).toBe(-32601);
    client.end();
    expect(await code).toBe(0);
    await server.hears(/session termination/i);
  });

  it('of the new era: gets headers made from the body, is cancelled by closing the connection, and is gated', async () => {
    const server = await modernServer();
    const root = scratch();
    const path = join(root, 'a.txt');
    writeFileSync(path, 'old\n');
    const { client } = await startProxy(root, { url: server.url });
    const ask = (method: string, params: object = {}) =>
      client.request(method, { ...params, _meta: ENVELOPE });
    await ask('server/discover');
    expect((await ask('tools/list')).result.tools.length).toBeGreaterThan(5);
    const region = { name: 'region', arguments: { where: 'Überall ' } };
    expect((await ask('tools/call', region)).result.content[0].text).toMatch(/^Überall {2}=\?base64\?.*\?=$/);
    const write = { name: 'write_file', arguments: { path, content: 'new\n' } };
    expect((await ask('tools/call', write)).result).toMatchObject({ isError: true, resultType: 'complete' });
    await ask('tools/call', { name: 'read_text_file', arguments: { path } });
    expect((await ask('tools/call', write)).result).toMatchObject({ resultType: 'complete' });
    expect(readFileSync(path, 'utf8')).toBe('new\n');
    client.send({
      jsonrpc: '2.0',
      id: 'h',
      method: 'tools/call',
      params: { name: 'hold', arguments: {}, _meta: ENVELOPE },
    });
    await server.hears(/holding/);
    client.notify('notifications/cancelled', { requestId: 'h' });
    await server.hears(/aborted/);
    expect(client.lines.some((line) => line.includes('"h"'))).toBe(false);
  });

  it('that cannot be reached: every request gets an error, and nothing hangs', async () => {
    const { client } = await startProxy(scratch(), { url: 'http://127.0.0.1:9/mcp' });
    const { error } = await client.request('initialize', {});
    expect(error?.message).toMatch(/ECONNREFUSED.*: start the server, or correct --url$/);
  });
});

/** The proxy as an HTTP server, and a function that creates official clients for it. */
async function front(root: string, options: Partial<ProxyFrontOptions>) {
  const { session } = await openGate(root);
  const stderr = new PassThrough().resume();
  const served = await serveProxy({
    session,
    root,
    stderr,
    token: 'sesame',
    cwd: root,
    graceMs: 300,
    ...options,
  });
  onTestFinished(() => served.close());
  const connect = async (mode: 'legacy' | typeof PIN, token = 'sesame') => {
    const client = new Client(
      { name: 'test', version: '1' },
      { capabilities: { sampling: {}, elicitation: { form: {} } }, versionNegotiation: { mode } },
    );
    const headers = { Authorization: `Bearer ${token}` };
    const transport = new StreamableHTTPClientTransport(new URL(served.url), { requestInit: { headers } });
    onTestFinished(() => client.close());
    await client.connect(transport);
    return { client, transport };
  };
  return { ...served, session, connect };
}

const gated = async (client: Client, path: string): Promise<void> => {
  const write = { name: 'write_file', arguments: { path, content: 'new\n' } };
  expect(await client.callTool(write)).toMatchObject({
    isError: true,
    _meta: { 'dev.lookfirst/outcome': { code: 'NOT_READ' } },
  });
  await client.callTool({ name: 'read_text_file', arguments: { path } });
  expect((await client.callTool(write)).isError).not.toBe(true);
  expect(readFileSync(path, 'utf8')).toBe('new\n');
};

function workspace() {
  const root = scratch();
  const path = join(root, 'a.txt');
  writeFileSync(path, 'old\n');
  return { root, path };
}

/** A server that answers a read only when it is pinged. */
const SLOW_READER = `
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const held = [];
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
const text = (value) => ({ content: [{ type: 'text', text: value }] });
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize')
    answer(id, {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'secure-filesystem-server', version: '1' },
    });
  if (method === 'ping') {
    for (const call of held.splice(0)) answer(call.id, text(readFileSync(call.path, 'utf8')));
    answer(id, {});
  }
  if (method !== 'tools/call') return;
  const { path, content } = params.arguments;
  if (content === undefined) held.push({ id, path });
  else answer(id, text(writeFileSync(path, content) ?? 'written'));
});
`;

describe('a process offered over HTTP', () => {
  it('gates a client with a session, whose process ends with the session', async () => {
    const { root, path } = workspace();
    const { connect } = await front(root, { command: process.execPath, args: [OFFICIAL, root] });
    const { client, transport } = await connect('legacy');
    expect((await client.listTools()).tools).toHaveLength(14);
    await gated(client, path);
    await transport.terminateSession();
    await expect(client.listTools()).rejects.toThrow();
  });

  it('does not count a read whose client disconnected before the answer', async () => {
    const { root, path } = workspace();
    const server = join(scratch(), 'server.mjs');
    writeFileSync(server, SLOW_READER);
    const { url, connect } = await front(root, { command: process.execPath, args: [server] });
    const { client, transport } = await connect('legacy');
    const read = { method: 'tools/call', params: { name: 'read_text_file', arguments: { path } } };
    const headers = {
      authorization: 'Bearer sesame',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': transport.sessionId ?? '',
    };
    const sent = request(url, { method: 'POST', headers }).on('error', () => {});
    const open = new Promise((resolve) => sent.on('response', resolve));
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 'lost', ...read }));
    await open;
    sent.destroy();
    await client.ping();
    const write = { name: 'write_file', arguments: { path, content: 'new\n' } };
    expect(await client.callTool(write)).toMatchObject({
      _meta: { 'dev.lookfirst/outcome': { code: 'NOT_READ' } },
    });
  });

  it('passes questions and progress to the client that asked', async () => {
    const { connect } = await front(scratch(), { command: process.execPath, args: [EVERYTHING, 'stdio'] });
    const { client } = await connect('legacy');
    client.setRequestHandler('sampling/createMessage', async () => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: 'sampled' },
    }));
    const sampled = await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'x' } });
    expect(JSON.stringify(sampled)).toContain('sampled');
    const steps: number[] = [];
    const long = { name: 'trigger-long-running-operation', arguments: { duration: 0.1, steps: 3 } };
    await client.callTool(long, { onprogress: ({ progress }) => steps.push(progress) });
    expect(steps).toEqual([1, 2, 3]);
  });

  it('gates clients without sessions, keeps their ids and progress apart, and cancels calls of a client that disconnects', async () => {
    const { root, path } = workspace();
    const { connect } = await front(root, { command: process.execPath, args: [MODERN, 'stdio'] });
    const [one, two] = [(await connect(PIN)).client, (await connect(PIN)).client];
    await gated(one, path);
    const count = async (client: Client, to: number) => {
      const seen: number[] = [];
      const options = { onprogress: ({ progress }: { progress: number }) => void seen.push(progress) };
      const { content } = await client.callTool({ name: 'count', arguments: { to } }, options);
      return { seen: seen.length, text: (content as { text: string }[])[0]?.text };
    };
    expect(await Promise.all([count(one, 2), count(two, 5)])).toEqual([
      { seen: 2, text: 'counted to 2' },
      { seen: 5, text: 'counted to 5' },
    ]);
    const hangUp = new AbortController();
    const held = one.callTool({ name: 'hold', arguments: {} }, { signal: hangUp.signal });
    hangUp.abort();
    await expect(held).rejects.toThrow();
    expect(await count(two, 1)).toEqual({ seen: 1, text: 'counted to 1' });
  });

  it.each([
    ['a host Host', { host: 'evil.example' }, 403],
    ['a host Origin', { origin: 'http://evil.example' }, 403],
    ['no token', { authorization: '' }, 401],
    ['a wrong token', { authorization: 'Bearer sesam' }, 401],
    ['an unknown session', { 'mcp-session-id': 'nope' }, 404],
    ['no session', {}, 400],
  ])('answers %s with its status', async (_what, headers, status) => {
    const { url } = await front(scratch(), { command: process.execPath, args: [OFFICIAL, '/'] });
    const all = { authorization: 'Bearer sesame', 'content-type': 'application/json', ...headers };
    expect(await post(url, all, { jsonrpc: '2.0', id: 1, method: 'tools/list' })).toBe(status);
  });

  it('answers 404 at an unknown path, and continues', async () => {
    const { url } = await front(scratch(), { command: process.execPath, args: [OFFICIAL, '/'] });
    const headers = { authorization: 'Bearer sesame', 'content-type': 'application/json' };
    const status = await post(url, headers, {}, '//');
    expect([status, await post(url, headers, {}, '/mcp?a')]).toEqual([404, 400]);
  });

  it('checks the headers of the new era against the body', async () => {
    const { url } = await front(scratch(), { command: process.execPath, args: [MODERN, 'stdio'] });
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: ENVELOPE } };
    const good = {
      authorization: 'Bearer sesame',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
    };
    expect(await post(url, good, body)).toBe(200);
    expect(await post(url, { ...good, 'mcp-method': 'tools/call' }, body)).toBe(400);
    const { 'mcp-method': _left, ...missing } = good;
    expect(await post(url, missing, body)).toBe(400);
    expect(await post(url, { ...good, 'mcp-method': 'no/such' }, { ...body, method: 'no/such' })).toBe(404);
  });
});

describe('an address offered over HTTP', () => {
  it('passes on the old era, and gates it', async () => {
    const server = await everythingServer();
    const { connect } = await front(scratch(), { url: server.url });
    const { client, transport } = await connect('legacy');
    client.setRequestHandler('sampling/createMessage', async () => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: 'sampled' },
    }));
    const sampled = await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'x' } });
    expect(JSON.stringify(sampled)).toContain('sampled');
    await transport.terminateSession();
    await server.hears(/session termination/i);
  });

  it('passes on the new era, and gates it', async () => {
    const { root, path } = workspace();
    const server = await modernServer();
    const { connect } = await front(root, { url: server.url });
    const { client } = await connect(PIN);
    await client.listTools();
    await gated(client, path);
    const hangUp = new AbortController();
    const held = client.callTool({ name: 'hold', arguments: {} }, { signal: hangUp.signal });
    await server.hears(/holding/);
    hangUp.abort();
    await expect(held).rejects.toThrow();
    await server.hears(/aborted/);
  });
});

it('a cancellation by one client of the new era does not end the call of another', async () => {
  const stderr = new PassThrough();
  let said = '';
  const hears = new Promise<void>((resolve) => {
    stderr.on('data', (chunk) => {
      said += String(chunk);
      if (said.includes('holding')) resolve();
    });
  });
  const server = { command: process.execPath, args: [MODERN, 'stdio'], stderr };
  const { connect, url } = await front(scratch(), server);
  const { client } = await connect(PIN);
  const hangUp = new AbortController();
  const held = client.callTool({ name: 'hold', arguments: {} }, { signal: hangUp.signal });
  await hears;
  const method = 'notifications/cancelled';
  const headers = {
    Authorization: 'Bearer sesame',
    Accept: 'application/json, text/event-stream',
    'Content-Type': 'application/json',
    'MCP-Protocol-Version': '2026-07-28',
    'MCP-Method': method,
  };
  for (const requestId of [1, 2, 3, 4]) {
    const params = { requestId, _meta: ENVELOPE };
    expect(await post(url, headers, { jsonrpc: '2.0', method, params })).toBe(202);
  }
  const counted = await client.callTool({ name: 'count', arguments: { to: 1 } });
  expect(counted).toMatchObject({ content: [{ text: 'counted to 1' }] });
  expect(said).not.toContain('aborted');
  hangUp.abort();
  await expect(held).rejects.toThrow();
});

describe('a server behind an address gets relative paths resolved as they were judged', () => {
  it.each([
    ['over stdio', PIN],
    ['over HTTP, in the old era', 'legacy'],
    ['over HTTP, in the new era, with the header that repeats the path', PIN],
  ] as const)('%s', async (what, mode) => {
    const { root, path } = workspace();
    const server = await modernServer();
    const write = { name: 'write_file', arguments: { path: 'a.txt', content: 'new\n' } };
    const show = { name: 'read_text_file', arguments: { path: 'a.txt' } };
    if (what === 'over stdio') {
      const { client } = await startProxy(root, { url: server.url });
      const ask = (method: string, params: object = {}) =>
        client.request(method, { ...params, _meta: ENVELOPE });
      await ask('server/discover');
      await ask('tools/list');
      expect((await ask('tools/call', show)).result.content[0].text).toBe('old\n');
      expect((await ask('tools/call', write)).result.isError).not.toBe(true);
    } else {
      const { client } = await (await front(root, { url: server.url })).connect(mode);
      await client.listTools();
      expect(await client.callTool(show)).toMatchObject({ content: [{ text: 'old\n' }] });
      expect((await client.callTool(write)).isError).not.toBe(true);
    }
    expect(readFileSync(path, 'utf8')).toBe('new\n');
  });
});

function post(
  url: string,
  headers: Record<string, string>,
  body: object,
  path: string = new URL(url).pathname,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const usual = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const sent = request(url, { method: 'POST', headers: { ...usual, ...headers }, path }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}
