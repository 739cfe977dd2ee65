import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { serveProxy } from '../../src/proxy/front-http.ts';
import { listenLocally } from '../../src/wire/http.ts';
import { openGate, scratch, startProxy } from './harness.ts';

const HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
const CALL = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write_file' } });

interface Asked {
  readonly id?: number;
  readonly method: string;
  readonly params: { readonly arguments?: { readonly content?: string } };
}
type Answer = (message: Asked, res: ServerResponse, req: IncomingMessage) => void;

/**
 * The proxy as an HTTP server, in front of a server in this process that has sessions. The returned
 * function posts a message to the proxy, after the first one in the proxy's session.
 */
async function front(root: string, answer: Answer) {
  const server = createServer(async (req, res) => {
    if (req.method !== 'POST') return res.writeHead(405).end();
    const message = JSON.parse(await text(req));
    res.setHeader('mcp-session-id', 'one');
    if (message.id === undefined) return res.writeHead(202).end();
    return answer(message, res, req);
  });
  const url = `http://127.0.0.1:${await listenLocally(server, 0)}/mcp`;
  const { session } = await openGate(root);
  const stderr = new PassThrough().resume();
  const served = await serveProxy({ session, root, stderr, token: undefined, cwd: root, url });
  onTestFinished(async () => {
    await served.close();
    server.closeAllConnections();
    server.close();
  });
  let id: string | null = null;
  const post = async (body: string | Uint8Array, headers: Record<string, string> = {}) => {
    const own = id === null ? HEADERS : { ...HEADERS, 'mcp-session-id': id };
    const response = await fetch(served.url, { method: 'POST', body, headers: { ...own, ...headers } });
    id ??= response.headers.get('mcp-session-id');
    return response;
  };
  const ask = async (method: string, params: object) => {
    const response = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const data = /^data: (.*)$/m.exec(await response.text())?.[1];
    return { status: response.status, answer: data === undefined ? undefined : JSON.parse(data) };
  };
  return { post, ask };
}

const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {} };
const SERVER = { ...INITIALIZE, serverInfo: { name: 'secure-filesystem-server', version: '1' } };

function json(res: ServerResponse, body: object): void {
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

it('a stream that the server breaks off before the answer is an error for the client', async () => {
  const { ask } = await front(scratch(), ({ id, method }, res) => {
    if (method === 'initialize') return json(res, { jsonrpc: '2.0', id, result: SERVER });
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(': begun\n\n', () => res.destroy());
  });
  await ask('initialize', INITIALIZE);
  const { answer } = await ask('tools/list', {});
  expect(answer).toMatchObject({ id: 1, error: { message: expect.stringContaining('without an answer') } });
});

it('a client whose session the server has lost is told to begin a new one', async () => {
  const { ask } = await front(scratch(), ({ id, method }, res) => {
    if (method === 'initialize') return json(res, { jsonrpc: '2.0', id, result: SERVER });
    const error = { code: -32001, message: 'Session not found' };
    res.writeHead(404, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
  });
  await ask('initialize', INITIALIZE);
  const first = await ask('tools/list', {});
  expect(first.answer).toMatchObject({ id: 1, error: { message: 'Session not found' } });
  expect((await ask('tools/list', {})).status).toBe(404);
});

it('a proxy over stdio begins a new session if the server has lost its own', async () => {
  const asked: string[] = [];
  let [session, sessions] = ['', 0];
  const server = createServer(async (req, res) => {
    if (req.method !== 'POST') return res.writeHead(405).end();
    const { id, method } = JSON.parse(await text(req)) as Asked;
    asked.push(method);
    if (method === 'initialize') {
      session = `s${++sessions}`;
      res.setHeader('mcp-session-id', session);
      return json(res, { jsonrpc: '2.0', id, result: SERVER });
    }
    if (req.headers['mcp-session-id'] !== session) return res.writeHead(404).end();
    if (id === undefined) return res.writeHead(202).end();
    return json(res, { jsonrpc: '2.0', id, result: { tools: [] } });
  });
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${await listenLocally(server, 0)}/mcp`;
  const { client, errors } = await startProxy(scratch(), { url });
  await client.initialize();
  expect(await client.request('tools/list')).toMatchObject({ result: { tools: [] } });
  session = 'restarted';
  const answers = await Promise.all([client.request('tools/list'), client.request('tools/list')]);
  expect(answers).toMatchObject([{ result: { tools: [] } }, { result: { tools: [] } }]);
  expect(sessions).toBe(2);
  expect(asked.filter((method) => method === 'notifications/initialized')).toHaveLength(2);
  expect(errors()).toContain('the server had lost its session; a new one was begun');
});

it('a server that compresses on request is gated', async () => {
  const root = scratch();
  const path = join(root, 'a.txt');
  writeFileSync(path, 'old\n');
  const { ask } = await front(root, ({ id, method, params }, res, req) => {
    if (params.arguments?.content !== undefined) writeFileSync(path, params.arguments.content);
    const shown = { content: [{ type: 'text', text: readFileSync(path, 'utf8') }] };
    const body = JSON.stringify({ jsonrpc: '2.0', id, result: method === 'initialize' ? SERVER : shown });
    const packed = /gzip/.test(String(req.headers['accept-encoding']));
    res.writeHead(200, {
      'content-type': 'application/json',
      ...(packed ? { 'content-encoding': 'gzip' } : {}),
    });
    res.end(packed ? gzipSync(body) : body);
  });
  await ask('initialize', INITIALIZE);
  const call = async (name: string, args: object) =>
    (await ask('tools/call', { name, arguments: args })).answer.result;
  expect(await call('write_file', { path, content: 'new\n' })).toMatchObject({ isError: true });
  expect((await call('read_text_file', { path })).content[0].text).toBe('old\n');
  expect((await call('write_file', { path, content: 'new\n' })).isError).toBeUndefined();
  expect(readFileSync(path, 'utf8')).toBe('new\n');
});

it.each<[string, Uint8Array | string, Record<string, string>, number]>([
  ['a byte order mark', `\ufeff${CALL}`, {}, 400],
  ['compression', gzipSync(CALL), { 'content-encoding': 'gzip' }, 415],
  ['UTF-16', Buffer.from(CALL, 'utf16le'), { 'content-type': 'application/json; charset=utf-16le' }, 415],
  ['no JSON', 'call', {}, 400],
])('a body that the gate cannot read is not forwarded: %s', async (_what, body, headers, status) => {
  let received = 0;
  const { post, ask } = await front(scratch(), ({ id }, res) => {
    received += 1;
    json(res, { jsonrpc: '2.0', id, result: SERVER });
  });
  await ask('initialize', INITIALIZE);
  expect([(await post(body, headers)).status, received]).toEqual([status, 1]);
});
