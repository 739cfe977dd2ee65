import { afterEach, expect, it, vi } from 'vitest';
import type { HostSession } from '../session/gated-session.ts';
import { gateFor } from './gate-settings.ts';
import { Pump } from './pump.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('stops every wait for the handshake when the server answers it', () => {
  vi.useFakeTimers();
  const session = { id: 's', readOnly: false } as HostSession;
  const gate = gateFor({ session, root: '/', command: 'server' }, () => {});
  const pump = new Pump({ toUpstream: () => {}, toClient: () => true }, gate);
  const send = (message: object): void => pump.fromClient(Buffer.from(JSON.stringify(message)));
  send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });
  send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } });
  void pump.idle();
  void pump.idle();
  expect(vi.getTimerCount()).toBe(2);
  pump.fromUpstream(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}'));
  expect(vi.getTimerCount()).toBe(0);
});

/** A pump, and the lines that it has sent. */
function pumping() {
  const session = { id: 's', readOnly: false } as HostSession;
  const gate = gateFor({ session, root: '/', command: 'server' }, () => {});
  const [upstream, client]: [string[], string[]] = [[], []];
  const ends = {
    toUpstream: (line: Buffer) => void upstream.push(line.toString()),
    toClient: (line: Buffer) => client.push(line.toString()) > 0,
  };
  return { pump: new Pump(ends, gate), upstream, client };
}

it('does not wait for an answer to a tools/list without an id', () => {
  const { pump, upstream, client } = pumping();
  const line = '{"jsonrpc":"2.0","method":"tools/list"}';
  pump.fromClient(Buffer.from(line));
  expect(upstream).toEqual([line]);
  expect(client).toEqual([]);
  expect(pump.listens).toBe(false);
});

it('returns a tool list with an id that JavaScript cannot represent exactly', () => {
  const { pump, client } = pumping();
  const answer = '{"jsonrpc":"2.0","id":9007199254740993,"result":{"tools":[]}}';
  pump.fromClient(Buffer.from('{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}'));
  pump.fromUpstream(Buffer.from(answer));
  expect(client).toEqual([answer]);
});

it.each([
  ['an id', '"id":9007199254740993,"method":"tools/call","params":{"name":"x"}'],
  [
    'an argument',
    '"id":1,"method":"tools/call","params":{"name":"x","arguments":{"n":12345678901234567890}}',
  ],
])('refuses a call with %s that JavaScript cannot represent exactly', (_what, fields) => {
  const { pump, upstream, client } = pumping();
  pump.fromClient(Buffer.from(`{"jsonrpc":"2.0",${fields}}`));
  expect(upstream).toEqual([]);
  expect(client).toEqual([expect.stringContaining('JavaScript cannot represent exactly')]);
});

it.each([
  '{"method":"tools/call","method":"ping","id":1}',
  '{"method":"tools\\/call","method":"ping","id":1}',
  '{"method":"tools\\u002fcall","m\\u0065thod":"ping","id":1}',
])('forwards a message with a repeated key as it understood it: %s', (line) => {
  const { pump, upstream } = pumping();
  pump.fromClient(Buffer.from(line));
  expect(upstream).toEqual(['{"method":"ping","id":1}']);
});

it('drops and logs lines of the server that are not messages, and drops empty lines silently', () => {
  const said: string[] = [];
  const session = { id: 's', readOnly: false } as HostSession;
  const gate = gateFor({ session, root: '/', command: 'server' }, (text) => void said.push(text));
  const client: string[] = [];
  const toClient = (line: Buffer) => client.push(line.toString()) > 0;
  const pump = new Pump({ toUpstream: () => {}, toClient }, gate);
  for (const line of ['Debug: x', ' ', '{"a":1}']) pump.fromUpstream(Buffer.from(line));
  expect(client).toEqual(['{"a":1}']);
  expect(said).toEqual(['dropped a line that is not a message: Debug: x']);
});

it('forwards a message with a raw carriage return as one line in every reader', () => {
  const { pump, upstream } = pumping();
  const line = (space: string): string => `{"jsonrpc":"2.0","method":"x",${space}"params":{"a":"é"}}`;
  pump.fromClient(Buffer.from(line('\r')));
  expect(upstream).toEqual([line(' ')]);
});
