import { describe, expect, it } from 'vitest';
import { written } from '../../test/support/written.ts';
import type { ToolContext } from '../tools/tool-answer.ts';
import type { ToolHost } from '../tools/tool-host.ts';
import { ClientConnection } from './connection.ts';

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'client', version: '9' },
};
const info = { name: 'fixture', version: '1' };

/** A connection whose `hold` calls wait until `release` is called with their key. */
function open() {
  const sent: { id?: unknown; [key: string]: unknown }[] = [];
  const held = new Map<unknown, { finish: () => void; context: ToolContext }>();
  const logged: string[] = [];
  const contexts: unknown[] = [];
  const host: ToolHost = {
    info,
    instructions: 'Look first.',
    tools: () => [
      { name: 'echo', description: 'e', inputSchema: { type: 'object' } },
      { name: 'hold', description: 'h', inputSchema: { type: 'object' } },
      { name: 'fail', description: 'f', inputSchema: { type: 'object' } },
    ],
    call: async (name, args, context) => {
      if (name === 'fail') throw new Error('/secret/path');
      if (name === 'hold')
        await new Promise<void>((finish) => held.set(Object(args).key, { finish, context }));
      const { clientInfo, meta } = context;
      contexts.push({ clientInfo, token: meta['progressToken'] });
      return { ok: true, shown: JSON.stringify(args), outcome: { ok: true } };
    },
  };
  const connection = new ClientConnection({
    host,
    send: (parts) => sent.push(JSON.parse(written(parts))) > 0,
    log: (line) => logged.push(line),
  });
  const receive = async (message: unknown) => {
    connection.receive(Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)));
    await new Promise(setImmediate);
  };
  const request = (id: unknown, method: string, params: object = {}) =>
    receive({ jsonrpc: '2.0', id, method, params });
  const modern = (id: unknown, method: string, params: object = {}) =>
    request(id, method, { ...params, _meta: ENVELOPE });
  const answers = () => sent.splice(0);
  const answer = () => {
    const all = answers();
    expect(all).toHaveLength(1);
    return all[0];
  };
  const initialize = async (protocolVersion: string) => {
    await request(0, 'initialize', {
      protocolVersion,
      capabilities: {},
      clientInfo: { name: 'c', version: '1' },
    });
    return answer();
  };
  return { connection, receive, request, modern, answers, answer, initialize, held, logged, contexts };
}

describe('initialize', () => {
  it.each([
    ['2024-11-05', '2024-11-05'],
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
    ['2099-01-01', '2025-11-25'],
  ])('a client of %s gets %s', async (asked, given) => {
    const { initialize } = open();
    expect(await initialize(asked)).toEqual({
      jsonrpc: '2.0',
      id: 0,
      result: {
        protocolVersion: given,
        capabilities: { tools: {}, logging: {} },
        serverInfo: info,
        instructions: 'Look first.',
      },
    });
  });

  it('without a version is an error', async () => {
    const { request, answer } = open();
    await request(1, 'initialize', {});
    expect(answer()).toMatchObject({ id: 1, error: { code: -32602 } });
  });
});

describe('the legacy era', () => {
  it.each<[string, string, object, object]>([
    ['ping', 'ping', {}, { result: {} }],
    ['logging/setLevel', 'logging/setLevel', { level: 'debug' }, { result: {} }],
    ['an unknown level', 'logging/setLevel', { level: 'loud' }, { error: { code: -32602 } }],
    ['no level', 'logging/setLevel', {}, { error: { code: -32602 } }],
    [
      'tools/list',
      'tools/list',
      {},
      { result: { tools: [{ name: 'echo' }, { name: 'hold' }, { name: 'fail' }] } },
    ],
    ['resources/list', 'resources/list', {}, { error: { code: -32601 } }],
    ['prompts/list', 'prompts/list', {}, { error: { code: -32601 } }],
    ['server/discover', 'server/discover', {}, { error: { code: -32601 } }],
    ['an unknown method', 'no/such', {}, { error: { code: -32601, message: 'Method not found' } }],
    [
      'a tool',
      'tools/call',
      { name: 'echo', arguments: { a: 1 } },
      { result: { content: [{ text: '{"a":1}' }] } },
    ],
    ['a tool without arguments', 'tools/call', { name: 'echo' }, { result: { content: [{ text: '{}' }] } }],
    [
      'an unknown tool',
      'tools/call',
      { name: 'nope' },
      { error: { code: -32602, message: 'Tool nope not found' } },
    ],
    ['a tool name that is no string', 'tools/call', { name: 7 }, { error: { code: -32602 } }],
    [
      'arguments that are no object',
      'tools/call',
      { name: 'echo', arguments: [] },
      { error: { code: -32602 } },
    ],
  ])('answers %s', async (_what, method, params, expected) => {
    const { initialize, request, answer } = open();
    await initialize('2025-11-25');
    await request('x', method, params);
    expect(answer()).toMatchObject({ id: 'x', ...expected });
  });

  it('serves a client that does not initialize', async () => {
    const { request, answer } = open();
    await request(1, 'tools/list');
    expect(answer()).not.toHaveProperty('result.resultType');
  });

  it('stays legacy when a later request carries an envelope', async () => {
    const { initialize, modern, answer } = open();
    await initialize('2025-11-25');
    await modern(1, 'tools/list');
    expect(answer()).not.toHaveProperty('result.resultType');
  });

  it.each(['notifications/initialized', 'notifications/roots/list_changed', 'notifications/unknown'])(
    'does not answer %s',
    async (method) => {
      const { receive, answers } = open();
      await receive({ jsonrpc: '2.0', method });
      expect(answers()).toEqual([]);
    },
  );

  it('answers a line that is not a message with an error, and continues', async () => {
    const { receive, request, answers } = open();
    await receive('{');
    await receive('{"jsonrpc":"2.0","id":null,"method":"ping"}');
    await receive('{"jsonrpc":"2.0","id":5,"result":{}}');
    await request(1, 'ping');
    expect(answers()).toMatchObject([
      { id: null, error: { code: -32700 } },
      { id: null, error: { code: -32600 } },
      { id: 1, result: {} },
    ]);
  });

  it('answers with a fixed sentence if a tool throws, and logs the cause', async () => {
    const { request, answer, logged } = open();
    await request(1, 'tools/call', { name: 'fail' });
    const told = answer();
    expect(told).toMatchObject({
      result: { isError: true, _meta: { 'dev.lookfirst/outcome': { ok: false, code: 'IO_FAILED' } } },
    });
    expect(JSON.stringify(told)).not.toContain('secret');
    expect(logged.join()).toContain('/secret/path');
  });
});

describe('the modern era', () => {
  const stamp = { resultType: 'complete', _meta: { 'io.modelcontextprotocol/serverInfo': info } };

  it('discovers, and still lets a client fall back to initialize', async () => {
    const { modern, answer, initialize } = open();
    await modern(1, 'server/discover');
    expect(answer()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        instructions: 'Look first.',
        ttlMs: 0,
        cacheScope: 'private',
        ...stamp,
      },
    });
    expect(await initialize('2025-11-25')).toHaveProperty('result.protocolVersion', '2025-11-25');
  });

  it('adds the required members to lists and calls', async () => {
    const { modern, answer, contexts } = open();
    await modern(1, 'tools/list');
    expect(answer()).toMatchObject({ result: { ttlMs: 0, cacheScope: 'private', ...stamp } });
    await modern(2, 'tools/call', { name: 'echo', arguments: {} });
    expect(answer()).toMatchObject({ result: stamp });
    expect(contexts).toMatchObject([{ clientInfo: { name: 'client', version: '9' } }]);
  });

  it.each<[string, string, object, number]>([
    ['ping, which it removed', 'ping', ENVELOPE, -32601],
    ['resources/list', 'resources/list', ENVELOPE, -32601],
    ['a request without an envelope', 'tools/list', {}, -32602],
    ['an unknown method without an envelope', 'ping', {}, -32601],
    ['initialize', 'initialize', {}, -32022],
    [
      'another revision',
      'tools/list',
      { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' },
      -32022,
    ],
    ['a listen request without a filter', 'subscriptions/listen', ENVELOPE, -32602],
  ])('refuses %s after it has become modern', async (_what, method, meta, code) => {
    const { modern, request, answer } = open();
    await modern(1, 'tools/list');
    answer();
    await request(2, method, { _meta: meta });
    expect(answer()).toMatchObject({ id: 2, error: { code } });
  });

  it('refuses an unknown revision in the first request, and stays open', async () => {
    const { request, answer, initialize } = open();
    await request(1, 'server/discover', {
      _meta: { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' },
    });
    expect(answer()).toMatchObject({
      error: { code: -32022, data: { supported: ['2026-07-28'], requested: '2027-01-01' } },
    });
    expect(await initialize('2025-06-18')).toHaveProperty('result');
  });

  it('acknowledges a subscription and answers it at the end, unless it was cancelled', async () => {
    const { modern, receive, answer, answers, connection } = open();
    for (const id of ['a', 'b']) {
      await modern(id, 'subscriptions/listen', { notifications: { toolsListChanged: true } });
      expect(answer()).toEqual({
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: {}, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
      });
    }
    await receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'a' } });
    connection.endSubscriptions();
    connection.endSubscriptions();
    expect(answers()).toMatchObject([{ id: 'b', result: { resultType: 'complete' } }]);
  });
});

describe('calls in flight', () => {
  it('are answered as they finish', async () => {
    const { request, answers, held } = open();
    await request(1, 'tools/call', { name: 'hold', arguments: { key: 'a' } });
    await request(2, 'tools/call', { name: 'hold', arguments: { key: 'b' } });
    await request(3, 'ping');
    held.get('b')?.finish();
    await new Promise(setImmediate);
    held.get('a')?.finish();
    await new Promise(setImmediate);
    expect(answers().map(({ id }) => id)).toEqual([3, 2, 1]);
  });

  it('are not answered after they were cancelled; their signal has the reason', async () => {
    const { request, receive, answers, held } = open();
    await request(1, 'tools/call', { name: 'hold', arguments: { key: 'a' } });
    const call = held.get('a');
    expect(call?.context.signal.aborted).toBe(false);
    await receive({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: '1', reason: 'wrong type of id' },
    });
    expect(call?.context.signal.aborted).toBe(false);
    await receive({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1, reason: 'enough' },
    });
    expect(call?.context.signal.reason).toMatchObject({ message: 'enough' });
    call?.finish();
    await new Promise(setImmediate);
    expect(answers()).toEqual([]);
  });

  it('can be awaited, and cancelled all at once', async () => {
    const { request, connection, held } = open();
    await connection.idle();
    await request(1, 'tools/call', { name: 'hold', arguments: { key: 'a' } });
    let idle = false;
    const waiting = connection.idle().then(() => {
      idle = true;
    });
    connection.cancelAll('SIGTERM');
    expect(held.get('a')?.context.signal.reason).toMatchObject({ message: 'SIGTERM' });
    await new Promise(setImmediate);
    expect(idle).toBe(false);
    held.get('a')?.finish();
    await waiting;
  });

  it('report progress only on request, only increasing, and not after the answer', async () => {
    const { request, answers, held } = open();
    await request(1, 'tools/call', { name: 'hold', arguments: { key: 'a' }, _meta: { progressToken: 'p' } });
    await request(2, 'tools/call', { name: 'hold', arguments: { key: 'b' } });
    const [a, b] = [held.get('a'), held.get('b')];
    a?.context.progress(1, 3, 'one');
    a?.context.progress(1);
    a?.context.progress(2);
    b?.context.progress(1);
    a?.finish();
    await new Promise(setImmediate);
    a?.context.progress(3);
    expect(answers()).toMatchObject([
      {
        method: 'notifications/progress',
        params: { progressToken: 'p', progress: 1, total: 3, message: 'one' },
      },
      { method: 'notifications/progress', params: { progressToken: 'p', progress: 2 } },
      { id: 1 },
    ]);
  });
});

describe('batches', () => {
  const ping = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'ping' });

  it('are answered in one array, without the notifications, when all requests are done', async () => {
    const { initialize, receive, answers, held } = open();
    await initialize('2025-03-26');
    await receive([
      ping(1),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'hold', arguments: { key: 'a' } } },
      'nonsense',
      { jsonrpc: '2.0', id: 3, method: 'initialize', params: { protocolVersion: '2025-03-26' } },
    ]);
    expect(answers()).toEqual([]);
    held.get('a')?.finish();
    await new Promise(setImmediate);
    const [batch, ...rest] = answers();
    expect(rest).toEqual([]);
    expect(batch).toHaveLength(4);
    expect(batch).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: 1, result: {} }),
        expect.objectContaining({ id: 2, result: expect.anything() }),
        expect.objectContaining({ id: 3, error: expect.objectContaining({ code: -32600 }) }),
        expect.objectContaining({ id: null, error: expect.objectContaining({ code: -32600 }) }),
      ]),
    );
  });

  it('of notifications only are not answered', async () => {
    const { initialize, receive, answers } = open();
    await initialize('2025-03-26');
    await receive([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
    expect(answers()).toEqual([]);
  });

  it.each([
    ['2025-03-26', []],
    ['2025-06-18', [ping(1)]],
    ['2025-11-25', [ping(1)]],
    ['2024-11-05', [ping(1)]],
  ])('are refused as a whole: %s %j', async (version, batch) => {
    const { initialize, receive, answer } = open();
    await initialize(version);
    await receive(batch);
    expect(answer()).toMatchObject({ id: null, error: { code: -32600 } });
  });
});
