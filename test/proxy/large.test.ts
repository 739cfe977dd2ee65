import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serveProxy } from '../../src/proxy/front-http.ts';
import { rounds } from '../support/rounds.ts';
import { openGate, scratch, startProxy } from './harness.ts';

const ODD = fileURLToPath(new URL('../children/odd-server.mjs', import.meta.url));
/** Size of the large message, in megabytes. `npm run attack` sends a larger one. */
const MEGABYTES = rounds(16, 50);
const BYTES = MEGABYTES * 1024 * 1024;
const VERSION = '2026-07-28';
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
};

async function bodyOf(message: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

/** Posts one message and returns the answer, whether it came as JSON or as an event. */
async function post(url: string, message: { method: string; params: object }, more: Record<string, string>) {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...more,
  };
  // Each call has its own connection: while this process builds a large message, the server may close
  // an unused one.
  const sent = request(url, { method: 'POST', headers, agent: false });
  sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const body = await bodyOf(response);
  const data = body.startsWith('{') ? body : (/^data: (.*)$/m.exec(body)?.[1] ?? 'null');
  return { session: String(response.headers['mcp-session-id']), answer: JSON.parse(data) };
}

async function front() {
  const root = scratch();
  const { session } = await openGate(root);
  const stderr = new PassThrough().resume();
  const args = [ODD, 'odd'];
  const command = process.execPath;
  const served = await serveProxy({
    session,
    root,
    stderr,
    token: undefined,
    command,
    args,
    cwd: root,
    graceMs: 300,
  });
  onTestFinished(() => served.close());
  return served.url;
}

const CALLS = [
  { name: 'size', arguments: { value: 'x'.repeat(BYTES) } },
  { name: 'fill', arguments: { bytes: BYTES } },
];

describe(`${MEGABYTES} MB in either direction pass from HTTP to a process`, () => {
  it('for a client with a session', async () => {
    const url = await front();
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    const { session } = await post(url, { method: 'initialize', params }, {});
    const texts: string[] = [];
    for (const call of CALLS) {
      const headers = { 'mcp-session-id': session };
      const { answer } = await post(url, { method: 'tools/call', params: call }, headers);
      texts.push(answer.result.content[0].text);
    }
    expect(texts[0]).toBe(String(BYTES));
    expect(texts[1]?.length).toBe(BYTES);
  });

  it('for a client of the revision without sessions', async () => {
    const url = await front();
    const texts: string[] = [];
    for (const call of CALLS) {
      const headers = { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': call.name };
      const params = { ...call, _meta: ENVELOPE };
      const { answer } = await post(url, { method: 'tools/call', params }, headers);
      texts.push(answer.result.content[0].text);
    }
    expect(texts[0]).toBe(String(BYTES));
    expect(texts[1]?.length).toBe(BYTES);
  });
});

it.each(['application/json', 'text/event-stream'])(
  `${MEGABYTES} MB pass in both directions to a server behind an address that answers with %s`,
  async (type) => {
    const server = createServer((req, res) => {
      void bodyOf(req).then((body) => {
        const { id, params } = JSON.parse(body);
        const { value, bytes } = params?.arguments ?? {};
        const text = value === undefined ? 'x'.repeat(bytes ?? 0) : String(value.length);
        const answer = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } });
        res.writeHead(200, { 'content-type': type });
        res.end(type === 'application/json' ? answer : `event: message\ndata: ${answer}\n\n`);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const { client } = await startProxy(scratch(), { url: `http://127.0.0.1:${port}/mcp` });
    expect((await client.call('size', { value: 'x'.repeat(BYTES) })).text).toBe(String(BYTES));
    expect((await client.call('fill', { bytes: BYTES })).text.length).toBe(BYTES);
  },
);
