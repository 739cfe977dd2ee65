import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { ClientCall } from '../model/call.ts';
import type { ToolDefinition, ToolHost } from '../tools/tool-host.ts';
import { runStdioLoop } from './stdio-loop.ts';

const MEGABYTE = 'm'.repeat(1 << 20);
const host: ToolHost = {
  info: { name: 'fixture', version: '1' },
  instructions: '',
  tools: () => [
    { name: 'megabyte', description: '', inputSchema: { type: 'object' } },
    { name: 'stuck', description: '', inputSchema: { type: 'object' } },
  ],
  call: async (name) => {
    if (name === 'stuck') await new Promise(() => {});
    return { ok: true, shown: MEGABYTE, outcome: { ok: true } };
  },
};
const call = (name: string, id: number) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })}\n`;

describe('serveStdio', () => {
  it('stops reading while too much output waits, and continues afterwards', async () => {
    const input = new PassThrough();
    const writes: (() => void)[] = [];
    const output = new Writable({ write: (_chunk, _encoding, callback) => void writes.push(callback) });
    const served = runStdioLoop({ host, input, output, signals: new EventEmitter(), log: () => {} });
    for (let id = 0; id < 20; id += 1) {
      input.write(call('megabyte', id));
      await new Promise(setImmediate);
    }
    expect(input.isPaused()).toBe(true);
    const drained = once(output, 'drain');
    while (output.writableLength > 0) {
      writes.shift()?.();
      await new Promise(setImmediate);
    }
    await drained;
    expect(input.isPaused()).toBe(false);
    output._write = (_chunk, _encoding, callback) => callback();
    input.end();
    expect(await served).toBe('end-of-input');
  });

  it.each<[string, (input: PassThrough, signals: EventEmitter) => void, string]>([
    ['the end of the input', (input) => input.end(), 'end-of-input'],
    ['a signal', (_input, signals) => signals.emit('SIGHUP', 'SIGHUP'), 'SIGHUP'],
  ])('does not wait forever for a call that ignores its signal: %s', async (_what, end, reason) => {
    const input = new PassThrough();
    const signals = new EventEmitter();
    const output = new PassThrough();
    const limits = { finishMs: 1, cancelMs: 1 };
    const served = runStdioLoop({ host, input, output, signals, log: () => {}, ...limits });
    input.write(call('stuck', 1));
    await new Promise(setImmediate);
    end(input, signals);
    expect(await served).toBe(reason);
  });

  it('does not wait after a second signal, and removes its listeners', async () => {
    const input = new PassThrough();
    const signals = new EventEmitter();
    const limits = { finishMs: 2 ** 30, cancelMs: 2 ** 30 };
    const served = runStdioLoop({
      host,
      input,
      output: new PassThrough(),
      signals,
      log: () => {},
      ...limits,
    });
    input.write(call('stuck', 1));
    await new Promise(setImmediate);
    signals.emit('SIGINT', 'SIGINT');
    await new Promise(setImmediate);
    signals.emit('SIGTERM', 'SIGTERM');
    expect(await served).toBe('SIGINT');
    expect(signals.eventNames()).toEqual([]);
  });

  it("gives a call that arrived during a read an earlier time than the read's answer", async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const client = connect((listener.address() as AddressInfo).port, '127.0.0.1');
    const [input] = (await once(listener, 'connection')) as [Socket];
    const times: ClientCall[] = [];
    const reading: ToolHost = {
      ...host,
      tools: () => ['read', 'write'].map((name) => ({ ...host.tools()[0], name }) as ToolDefinition),
      call: async (name, _args, context) => {
        if (context.times !== undefined) times.push(context.times);
        if (name === 'read') {
          Object.assign(context.times ?? {}, { showsMore: true });
          // After this write, the bytes wait in the server's socket. The server has not read them
          // yet.
          client.write(call('write', 2));
        }
        return { ok: true, shown: '', outcome: { ok: true } };
      },
    };
    const output = new PassThrough();
    const served = runStdioLoop({ host: reading, input, output, signals: new EventEmitter(), log: () => {} });
    client.write(call('read', 1));
    while (times.length < 2) await new Promise(setImmediate);
    client.end();
    await served;
    listener.close();
    expect(times[1]?.arrivedAt).toBeLessThan(times[0]?.answeredAt ?? 0);
  });

  it('loads no package: neither the SDK nor zod is on the stdio path', () => {
    const seen = new Set<string>();
    const visit = (file: string): string[] => {
      if (seen.has(file)) return [];
      seen.add(file);
      const imports = readFileSync(file, 'utf8').matchAll(/^import (?!type )[^;]*?from '([^']+)';$/gms);
      return [...imports].flatMap(([, target = '']) =>
        target.startsWith('.') ? visit(join(dirname(file), target)) : [target],
      );
    };
    const packages = visit(fileURLToPath(new URL('./stdio-loop.ts', import.meta.url)));
    expect(seen.size).toBeGreaterThan(8);
    expect(packages.filter((name) => !name.startsWith('node:'))).toEqual([]);
  });
});
