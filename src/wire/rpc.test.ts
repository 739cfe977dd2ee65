import { describe, expect, it } from 'vitest';
import { idBetween, idIn, isPlainlyResponse, methodsIn } from './rpc.ts';

const line = (text: string): Buffer => Buffer.from(text);

describe('methodsIn', () => {
  it.each([
    ['{"jsonrpc":"2.0","method":"tools/call"}', ['tools/call']],
    ['{"method" :\t"ping"}', ['ping']],
    ['{"params":{"method":"inner"},"method":"outer"}', ['inner', 'outer']],
    ['{"method":"tools\\/call"}', [undefined]],
    ['{"method":"\\u0074ools/call"}', [undefined, undefined]],
    ['{"m\\u0065thod":"tools/call","params":{"method":"x"}}', ['x', undefined]],
    ['{"params":{"text":"\\"method\\":\\"tools/call\\""},"method":"x"}', ['x']],
    ['{"params":{"text":"method"},"id":1}', []],
    ['{"method":5}', []],
    ['{"method":"unfinished', [undefined]],
    ['{"result":{}}', []],
  ])('finds the values of the key, or says that the line must be parsed: %s', (text, methods) => {
    expect(methodsIn(line(text))).toEqual(methods);
  });
});

describe('idIn', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":5,"result":{}}', '5'],
    ['{"jsonrpc":"2.0","id":"a b","result":{}}', '"a b"'],
    ['{"result":{"id":9},"jsonrpc":"2.0","id":-7}', '-7'],
    ['{ "jsonrpc" : "2.0" , "id" : 12345678901234567890 , "result" : 1 }', '12345678901234567890'],
    ['{"result":{},"id":3}\r', '3'],
    ['{"jsonrpc":"2.0","method":"x","params":{"id":5}}', undefined],
    ['{"jsonrpc":"2.0","result":{"text":"\\"id\\":5}"}}', undefined],
    ['{"jsonrpc":"2.0","id":"ü","result":{}}', undefined],
    ['{"jsonrpc":"2.0","id":"a\\"b","result":{}}', undefined],
    ['{"jsonrpc":"2.0","id":null,"error":{}}', undefined],
  ])('returns an id that is the first or last top-level key, and no other: %s', (text, id) => {
    expect(idIn(line(text))).toBe(id);
  });

  it('finds the id of a long answer at either end', () => {
    const text = `{"result":{"content":"${'x'.repeat(10_000)}"},"jsonrpc":"2.0","id":42}`;
    expect(idBetween(text.slice(0, 256), text.slice(-256))).toBe('42');
  });
});

describe('isPlainlyResponse', () => {
  it.each([
    ['{"result":{},"jsonrpc":"2.0","id":1}', true],
    ['{"jsonrpc":"2.0","id":1,"error":{}}', true],
    ['{"jsonrpc":"2.0","result":{}}', true],
    ['{"method":"sampling/createMessage","id":1}', false],
    ['{"jsonrpc":"2.0","id":1,"method":"x"}', false],
    ['{"id":1,"jsonrpc":"2.0","result":{}}', false],
  ])('is true only if the first keys show it: %s', (text, plain) => {
    expect(isPlainlyResponse(text)).toBe(plain);
  });
});
