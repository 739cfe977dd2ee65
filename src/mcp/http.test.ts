import { EventEmitter, once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ClientCall } from '../model/call.ts';
import { Fault } from '../model/fault.ts';
import type { JsonRecord } from '../model/record.ts';
import type { ToolContext } from '../tools/tool-answer.ts';
import type { ToolHost } from '../tools/tool-host.ts';
import { newToken } from '../wire/http.ts';
import { type HttpOptions, listenHttp } from './http.ts';

const TOKEN = 'token-for-tests';
const ACCEPT = 'application/json, text/event-stream';
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};
const LIST = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
const MODERN_LIST = {
  ...LIST,
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};

interface Answer {
  readonly status: number;
  readonly session: string | undefined;
  readonly text: string;
}

async function open({ report, ...options }: Partial<HttpOptions & Pick<ToolHost, 'report'>> = {}) {
  const ended: string[] = [];
  const reported: { meta: JsonRecord }[] = [];
  const host: ToolHost = {
    info: { name: 'fixture', version: '1' },
    instructions: '',
    tools: () => [{ name: 'echo', description: '', inputSchema: { type: 'object' } }],
    call: async () => ({ ok: true, shown: [], outcome: { ok: true } }),
    report: report ?? (async (context) => void reported.push(context)),
    sessionEnded: (id) => ended.push(id),
  };
  const server = await listenHttp({ host, token: TOKEN, log: () => {}, ...options });
  onTestFinished(() => server.close().catch(() => {}));
  /** Uses `node:http` because `fetch` does not let a client send a false Host header. */
  const send = (
    sent: { method?: string; path?: string; headers?: Record<string, string>; body?: unknown } = {},
  ): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const { method = 'POST', path = '/mcp', headers = {}, body } = sent;
      const req = request(
        {
          port: server.port,
          host: '127.0.0.1',
          method,
          path,
          headers: {
            authorization: `Bearer ${TOKEN}`,
            'content-type': 'application/json',
            accept: ACCEPT,
            ...headers,
          },
        },
        (res) => {
          const session = res.headers['mcp-session-id'];
          let text = '';
          res.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          res.on('end', () =>
            resolve({
              status: res.statusCode ?? 0,
              session: typeof session === 'string' ? session : undefined,
              text,
            }),
          );
          res.on('error', reject);
        },
      );
      req.on('error', reject);
      req.end(
        body === undefined
          ? undefined
          : typeof body === 'string' || Buffer.isBuffer(body)
            ? body
            : JSON.stringify(body),
      );
    });
  const begin = async () => (await send({ body: INITIALIZE })).session ?? '';
  const list = (session: string) => send({ body: LIST, headers: { 'mcp-session-id': session } });
  return { server, send, begin, list, ended, reported };
}

const modernHeaders = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };

describe('a port in use', () => {
  it('is a fault with that reason', async () => {
    const { port } = (await open()).server;
    await expect(open({ port })).rejects.toMatchObject({
      name: 'Fault',
      code: 'IO_FAILED',
      message: `could not serve on 127.0.0.1:${port}: another program uses that port; choose another one`,
    });
  });
});

describe('serveHttp', () => {
  it('listens on 127.0.0.1 only, at a free port', async () => {
    const { server } = await open();
    expect(server.url).toBe(`http://127.0.0.1:${server.port}/mcp`);
    expect(server.port).toBeGreaterThan(0);
  });

  it.each<
    [string, { headers?: Record<string, string>; path?: string; method?: string; body?: unknown }, number]
  >([
    ['a host Host', { headers: { host: 'evil.example' }, body: INITIALIZE }, 403],
    [
      'a Host that only begins like ours',
      { headers: { host: '127.0.0.1.evil.example' }, body: INITIALIZE },
      403,
    ],
    ['a host Origin', { headers: { origin: 'https://evil.example' }, body: INITIALIZE }, 403],
    ['the null Origin', { headers: { origin: 'null' }, body: INITIALIZE }, 403],
    [
      'a host Origin with a wrong token',
      { headers: { origin: 'https://evil.example', authorization: '' }, body: INITIALIZE },
      403,
    ],
    ['no token', { headers: { authorization: '' }, body: INITIALIZE }, 401],
    ['a wrong token', { headers: { authorization: `Bearer ${TOKEN}x` }, body: INITIALIZE }, 401],
    ['no token on GET', { method: 'GET', headers: { authorization: '' } }, 401],
    ['another path', { path: '/', body: INITIALIZE }, 404],
    ['a session name', { path: '/mcp/agent%207', body: INITIALIZE }, 200],
    ['a session name that is none', { path: '/mcp/a%0Ab', body: INITIALIZE }, 404],
    ['an empty session name', { path: '/mcp/', body: INITIALIZE }, 404],
    ['a broken escape', { path: '/mcp/%zz', body: INITIALIZE }, 404],
    ['TRACE', { method: 'TRACE' }, 405],
    ['PUT', { method: 'PUT', body: INITIALIZE }, 405],
    ['JSON without end of nesting', { body: '['.repeat(100_000) + ']'.repeat(100_000) }, 400],
    ['a path that is no address', { path: '//', body: INITIALIZE }, 404],
    ['an address instead of a path', { path: 'http://evil.example/mcp', body: INITIALIZE }, 404],
    ['another content type', { headers: { 'content-type': 'text/plain' }, body: INITIALIZE }, 415],
    ['broken JSON', { body: '{' }, 400],
    ['an empty body', { body: '' }, 400],
    ['bytes that are not UTF-8', { body: Buffer.from('{"a":"\xe9"}', 'latin1') }, 400],
    ['a legacy request without a session', { body: LIST }, 400],
    ['an unknown session', { body: LIST, headers: { 'mcp-session-id': 'x' } }, 404],
    [
      'a local Host and Origin',
      { headers: { host: 'localhost:1', origin: 'http://localhost:3000' }, body: INITIALIZE },
      200,
    ],
    ...(
      [
        ['*/*', 200],
        ['text/html, */*;q=0.1', 200],
        ['application/*, text/*', 200],
        ['application/json, text/*', 200],
        ['Application/JSON, Text/Event-Stream;q=0.5', 200],
        ['application/*', 406],
        ['application/json', 406],
        ['text/event-stream', 406],
        ['*/*, text/event-stream;q=0', 406],
        ['*/*, application/*;q=0.0', 406],
        ['application/json, text/event-stream;q=0', 406],
        ['', 406],
      ] as const
    ).map(([accept, status]): [string, { headers: Record<string, string>; body: unknown }, number] => [
      `Accept: ${accept}`,
      { headers: { accept }, body: INITIALIZE },
      status,
    ]),
    ['a query', { path: '/mcp?x=1', body: INITIALIZE }, 200],
    ['a modern request', { body: MODERN_LIST, headers: modernHeaders }, 200],
    ['a modern request without its headers', { body: MODERN_LIST }, 400],
    ['GET without a session', { method: 'GET' }, 405],
  ])('answers %s', async (_what, sent, status) => {
    const { send } = await open();
    expect((await send(sent)).status).toBe(status);
  });

  it('reports a body over the limit to the client, however large it is', async () => {
    const { send } = await open({ maxBodyBytes: 1000 });
    for (const size of [1000, 20 << 20]) {
      const answer = await send({ body: { ...INITIALIZE, padding: 'x'.repeat(size) } });
      expect(answer.status).toBe(413);
    }
    expect((await send({ body: INITIALIZE })).status).toBe(200);
  });

  it('passes on arguments that are JSON text', async () => {
    const given: unknown[] = [];
    const host = {
      info: { name: 'fixture', version: '1' },
      instructions: '',
      tools: () => [{ name: 'echo', description: '', inputSchema: { type: 'object' } }],
      call: async (_name: string, args: unknown) => {
        given.push(args);
        return { ok: true, shown: [], outcome: { ok: true } } as const;
      },
    } satisfies ToolHost;
    const { send } = await open({ host });
    const { session } = await send({ body: INITIALIZE });
    const params = { name: 'echo', arguments: '{"a":1,}' };
    const call = { jsonrpc: '2.0', id: 3, method: 'tools/call', params };
    await send({ headers: { 'mcp-session-id': session ?? '' }, body: call });
    expect(given).toEqual(['{"a":1,}']);
  });

  it('gives each call the times of its arrival and of its answer', async () => {
    const times: Pick<ClientCall, 'arrivedAt' | 'answeredAt'>[] = [];
    const called: (() => void)[] = [];
    const host = {
      info: { name: 'fixture', version: '1' },
      instructions: '',
      tools: () => [{ name: 'echo', description: '', inputSchema: { type: 'object' } }],
      call: async (_name: string, _args: JsonRecord, context: ToolContext) => {
        const { arrivedAt = 0, answeredAt = 0 } = context.times ?? {};
        times.push({ arrivedAt, answeredAt });
        const live = context.times;
        called.push(() => live !== undefined && times.push(live));
        return { ok: true, shown: [], outcome: { ok: true } } as const;
      },
    } satisfies ToolHost;
    const { send } = await open({ host });
    const before = performance.now();
    const { session } = await send({ body: INITIALIZE });
    const call = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'echo', arguments: {} } };
    await send({ headers: { 'mcp-session-id': session ?? '' }, body: call });
    for (const add of called) add();
    const [atCall, atEnd] = times;
    expect(atCall?.arrivedAt).toBeGreaterThan(before);
    expect(atCall?.answeredAt).toBe(Number.POSITIVE_INFINITY);
    expect(atEnd?.answeredAt).toBeGreaterThan(atEnd?.arrivedAt ?? Number.POSITIVE_INFINITY);
    expect(atEnd?.answeredAt).toBeLessThan(performance.now());
  });

  it('does not count a call as answered if its client has disconnected', async () => {
    let times: ClientCall | undefined;
    const stage = new EventEmitter();
    const host: ToolHost = {
      info: { name: 'fixture', version: '1' },
      instructions: '',
      tools: () => [{ name: 'echo', description: '', inputSchema: { type: 'object' } }],
      call: async (_name, _args, context) => {
        times = context.times;
        const gone = once(stage, 'gone');
        stage.emit('called');
        await gone;
        return { ok: true, shown: [], outcome: { ok: true } };
      },
    };
    const { server, begin, list } = await open({ host });
    const session = await begin();
    const socket = connect(server.port, '127.0.0.1');
    const call = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'echo', arguments: {} } };
    const body = JSON.stringify(call);
    const called = once(stage, 'called');
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nMcp-Session-Id: ${session}\r\n` +
        `Content-Type: application/json\r\nAccept: ${ACCEPT}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await called;
    socket.destroy();
    // When the server answers this later request, it has noticed the disconnection.
    await list(session);
    stage.emit('gone');
    await list(session);
    expect(times?.answeredAt).toBe(Number.POSITIVE_INFINITY);
  });

  it('closes a connection that does not finish its request', async () => {
    const { server } = await open({ requestMs: 200 });
    const socket = connect(server.port, '127.0.0.1');
    socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{');
    socket.resume();
    await once(socket, 'close');
  });

  it('uses the session of the URL for every message that names none', async () => {
    const { send, reported } = await open();
    const compacted = { jsonrpc: '2.0', method: 'notifications/dev.lookfirst/compacted' };
    const path = '/mcp/agent-7';
    await send({ path, body: compacted, headers: modernHeaders });
    const own = { ...compacted, params: { _meta: { 'dev.lookfirst/session': 'other' } } };
    await send({ path, body: own, headers: modernHeaders });
    await send({ body: compacted, headers: modernHeaders });
    expect(reported.map(({ meta }) => meta['dev.lookfirst/session'])).toEqual([
      'agent-7',
      'other',
      undefined,
    ]);
  });

  it('rejects a malformed session event with its reason', async () => {
    const report = (): never => {
      throw new Fault('MISUSE', 'not an event');
    };
    const logged: string[] = [];
    const { send, begin } = await open({ report, log: (line) => logged.push(line) });
    const body = { ...LIST, params: { _meta: { 'dev.lookfirst/context': 'shrunk' } } };
    const answer = await send({ body, headers: { 'mcp-session-id': await begin() } });
    expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('not an event') });
    expect(answer.text).toContain('-32602');
    expect(logged).toEqual([]);
  });

  it('names the form of a session name for one that is none, even if there is a viewer', async () => {
    const { send } = await open({ other: (_req, res) => res.end('viewer') });
    const answer = await send({ path: `/mcp/${'n'.repeat(201)}`, body: INITIALIZE });
    expect(answer).toMatchObject({ status: 404, text: expect.stringContaining('1 to 200 printable') });
  });

  it('passes other paths to the viewer, after the Host check', async () => {
    const { send } = await open({ other: (_req, res) => res.end('viewer') });
    expect((await send({ method: 'GET', path: '/', headers: { authorization: '' } })).text).toBe('viewer');
    expect((await send({ method: 'GET', path: '/', headers: { host: 'evil.example' } })).status).toBe(403);
  });

  it('separates legacy sessions and notifies the host when one is deleted', async () => {
    const { begin, list, send, ended } = await open();
    const [a, b] = [await begin(), await begin()];
    expect(a).not.toBe(b);
    expect((await list(a)).status).toBe(200);
    expect((await send({ method: 'DELETE', headers: { 'mcp-session-id': a } })).status).toBe(200);
    expect(ended).toEqual([a]);
    expect((await list(a)).status).toBe(404);
    expect((await list(b)).status).toBe(200);
  });

  it('ends a session that was idle too long, and no other', async () => {
    let nowMs = 0;
    const { begin, list, ended } = await open({ sessions: { idleMs: 20, now: () => nowMs } });
    const [idle, used] = [await begin(), await begin()];
    nowMs = 15;
    expect((await list(used)).status).toBe(200);
    nowMs = 25;
    await expect.poll(() => ended).toEqual([idle]);
    expect((await list(idle)).status).toBe(404);
    expect((await list(used)).status).toBe(200);
  });

  it('does not count a session as idle while its event stream is open', async () => {
    let nowMs = 0;
    const { server, begin, ended } = await open({ sessions: { idleMs: 20, now: () => nowMs } });
    const [watched, idle] = [await begin(), await begin()];
    const stop = new AbortController();
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      accept: 'text/event-stream',
      'mcp-session-id': watched,
    };
    const stream = await fetch(server.url, { headers, signal: stop.signal });
    expect(stream.status).toBe(200);
    nowMs = 1000;
    await expect.poll(() => ended).toEqual([idle]);
    stop.abort();
    await expect
      .poll(() => {
        nowMs += 1000;
        return ended;
      })
      .toEqual([idle, watched]);
  });

  it('replaces the session that was idle the longest if there are too many', async () => {
    let nowMs = 0;
    const { begin, list, ended } = await open({ sessions: { maxSessions: 2, now: () => nowMs } });
    const first = await begin();
    nowMs = 1;
    const second = await begin();
    nowMs = 2;
    await list(first);
    nowMs = 3;
    await begin();
    expect(ended).toEqual([second]);
    expect((await list(first)).status).toBe(200);
  });

  it('ends every session when it closes', async () => {
    const { server, begin, ended } = await open();
    const session = await begin();
    await server.close();
    expect(ended).toEqual([session]);
    await expect(fetch(server.url)).rejects.toThrow();
  });
});

describe('newToken', () => {
  it('is long and never the same', () => {
    expect(newToken()).toMatch(/^[\w-]{43}$/);
    expect(newToken()).not.toBe(newToken());
  });
});
