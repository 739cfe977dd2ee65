import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { serveProxy } from '../../src/proxy/front-http.ts';
import { listenLocally } from '../../src/wire/http.ts';
import { openGate, scratch } from './harness.ts';

const CALL = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write_file' } });

/** The proxy as an HTTP server, in front of a server in this process. Returns the proxy's URL. */
async function relay(root: string, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  const url = `http://127.0.0.1:${await listenLocally(server, 0)}/mcp`;
  const { session } = await openGate(root);
  const stderr = new PassThrough().resume();
  const served = await serveProxy({ session, root, stderr, token: undefined, cwd: root, url });
  onTestFinished(async () => {
    await served.close();
    server.close();
  });
  return served.url;
}

it('the answer to a client breaks off if the server breaks off its own', async () => {
  const url = await relay(scratch(), (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(': begun\n\n', () => res.destroy());
  });
  const response = await fetch(url);
  await expect(response.text()).rejects.toThrow();
});

it('a server that compresses on request is gated, though the client can decompress', async () => {
  const root = scratch();
  const path = join(root, 'a.txt');
  writeFileSync(path, 'old\n');
  const url = await relay(root, async (req, res) => {
    const { id, method, params } = JSON.parse(await text(req));
    if (params.arguments?.content !== undefined) writeFileSync(path, params.arguments.content);
    const result =
      method === 'initialize'
        ? { ...params, serverInfo: { name: 'secure-filesystem-server', version: '1' } }
        : { content: [{ type: 'text', text: readFileSync(path, 'utf8') }] };
    const body = JSON.stringify({ jsonrpc: '2.0', id, result });
    const packed = /gzip/.test(String(req.headers['accept-encoding']));
    res.writeHead(200, {
      'content-type': 'application/json',
      ...(packed ? { 'content-encoding': 'gzip' } : {}),
    });
    res.end(packed ? gzipSync(body) : body);
  });
  const ask = async (method: string, params: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return JSON.parse(await (await fetch(url, { method: 'POST', body })).text()).result;
  };
  await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {} });
  const call = (name: string, args: object) => ask('tools/call', { name, arguments: args });
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
  const url = await relay(scratch(), (_req, res) => {
    received += 1;
    res.end('{}');
  });
  const response = await fetch(url, { method: 'POST', body, headers });
  expect([response.status, received]).toEqual([status, 0]);
});
