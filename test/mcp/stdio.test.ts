import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { RawClient } from '../support/raw-client.ts';

const CHILD = fileURLToPath(new URL('../children/tool-server.mjs', import.meta.url));
const open = () => new RawClient([CHILD, 'stdio']);

describe('the stdio loop in its own process', () => {
  it('answers a whole conversation and exits at the end of the input', async () => {
    const client = open();
    await client.request('initialize', { protocolVersion: '2025-06-18', capabilities: {} });
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect(await client.text('echo', { value: 'é\n"x"' })).toBe('é\n"x"');
    expect(await client.text('bytes', { value: 'é\n"x"\u0001' })).toBe('é\n"x"\u0001');
    client.child.stdin.end();
    expect(await client.exit()).toMatchObject({ code: 0, rest: [] });
    expect(client.errors).toContain('end: end-of-input');
  });

  it('finishes running calls when the input ends, including a last line without a newline', async () => {
    const client = open();
    client.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'turns', arguments: { count: 50 } },
    });
    client.child.stdin.end('{"jsonrpc":"2.0","id":2,"method":"ping"}');
    const { code, rest } = await client.exit();
    expect(code).toBe(0);
    expect(rest.map(({ id }) => id).sort()).toEqual([1, 2]);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'cancels running calls at %s and exits',
    async (signal) => {
      const client = open();
      client.send({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'hold', arguments: { key: 'k' } },
      });
      await client.said('holding k');
      client.child.kill(signal);
      expect(await client.exit()).toMatchObject({ code: 0, signal: null, rest: [] });
      expect(client.errors).toContain(`cancelled k: ${signal}`);
      expect(client.errors).toContain(`end: ${signal}`);
    },
  );

  it('exits when the reader of its answers is gone', async () => {
    const client = open();
    client.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'hold', arguments: { key: 'k' } },
    });
    await client.said('holding k');
    client.child.stdout.destroy();
    client.send({ jsonrpc: '2.0', id: 2, method: 'ping' });
    expect(await client.exit()).toMatchObject({ code: 0 });
    expect(client.errors).toContain('end: broken-output');
  });

  it('receives and sends a message of 40 MB', async () => {
    const client = open();
    const value = 'x'.repeat(40_000_000);
    expect(await client.text('size', { value })).toBe('40000000');
    expect(await client.text('bytes', { value })).toHaveLength(40_000_000);
  });

  it('answers a message over the limit with an error and continues', async () => {
    const client = open();
    client.send(`{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(65 << 20)}"}`);
    expect(await client.next()).toMatchObject({ id: null, error: { code: -32600 } });
    expect(await client.request('ping')).toMatchObject({ result: {} });
  });

  it('answers broken JSON with id null and continues', async () => {
    const client = open();
    client.send('{"jsonrpc": "2.0", "id": 1,');
    expect(await client.next()).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32700, message: 'Parse error: not JSON' },
    });
    expect(await client.request('ping')).toMatchObject({ result: {} });
  });

  it('answers many requests in flight, each with its own text', async () => {
    const client = open();
    const values = Array.from({ length: 300 }, (_, index) => `${index} ${'y'.repeat(index * 50)}`);
    expect(await Promise.all(values.map((value) => client.text('bytes', { value })))).toEqual(values);
  });

  it('keeps every answer whole for a client that sends first and reads later', async () => {
    const client = open();
    const value = 'z'.repeat(100_000);
    client.child.stdout.pause();
    const answers = Array.from({ length: 300 }, () => client.text('echo', { value }));
    // Start reading the answers only after the requests were written.
    await client.said('').then(() => new Promise(setImmediate));
    client.child.stdout.resume();
    expect(new Set(await Promise.all(answers))).toEqual(new Set([value]));
  });
});
