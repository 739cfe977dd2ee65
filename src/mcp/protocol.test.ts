import { describe, expect, it } from 'vitest';
import { readLine } from './protocol.ts';

const read = (text: string) => {
  const line = readLine(Buffer.from(text));
  if (line.kind === 'invalid') return `${line.error.code} ${JSON.stringify(line.id)}`;
  return line;
};

describe('readLine', () => {
  it.each<[string, string, unknown]>([
    [
      'a request',
      '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      { kind: 'request', id: 1, method: 'ping', params: {} },
    ],
    [
      'a string id and params',
      '{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}\r',
      { kind: 'request', id: 'a', method: 'm', params: { x: 1 } },
    ],
    ['id 0', '{"jsonrpc":"2.0","id":0,"method":"m"}', { kind: 'request', id: 0, method: 'm', params: {} }],
    ['a notification', '{"jsonrpc":"2.0","method":"n"}', { kind: 'notification', method: 'n', params: {} }],
    [
      'unknown members',
      '{"jsonrpc":"2.0","id":1,"method":"m","extra":true}',
      { kind: 'request', id: 1, method: 'm', params: {} },
    ],
    ['a result', '{"jsonrpc":"2.0","id":1,"result":{}}', { kind: 'response', id: 1, result: {} }],
    [
      'an error',
      '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}',
      { kind: 'response', id: 1, result: undefined },
    ],
    ['a batch', '[1,{}]', { kind: 'batch', members: [1, {}] }],
  ])('reads %s', (_what, text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it.each<[string, string, string]>([
    ['not JSON', '{"jsonrpc":', '-32700 null'],
    ['not an object', '1', '-32600 null'],
    ['null', 'null', '-32600 null'],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"m"}', '-32600 1'],
    ['no version', '{"id":"a","method":"m"}', '-32600 "a"'],
    ['no method', '{"jsonrpc":"2.0","id":1}', '-32600 1'],
    ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":7}', '-32600 1'],
    ['id null', '{"jsonrpc":"2.0","id":null,"method":"m"}', '-32600 null'],
    ['an id beyond all numbers', '{"jsonrpc":"2.0","id":1e400,"method":"m"}', '-32600 null'],
    ['id true', '{"jsonrpc":"2.0","id":true,"method":"m"}', '-32600 null'],
    ['params in an array', '{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}', '-32602 1'],
    ['params null', '{"jsonrpc":"2.0","id":1,"method":"m","params":null}', '-32602 1'],
  ])('answers %s with an error', (_what, text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it('does not decode bytes that are not UTF-8: they would reach a file as replacement characters', () => {
    const line = Buffer.from(
      '{"jsonrpc":"2.0","id":1,"method":"m","params":{"content":"caf\xe9"}}',
      'latin1',
    );
    expect(readLine(line)).toMatchObject({ kind: 'invalid', id: null, error: { code: -32700 } });
  });
});
