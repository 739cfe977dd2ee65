import { describe, expect, it } from 'vitest';
import { type Call, newCall } from './call.ts';
import { RepeatedCalls } from './repeated-calls.ts';

const PARAMS = '"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"a.txt"}}';
const first = (id: string) => `{"jsonrpc":"2.0","id":${id},${PARAMS}}`;
const last = (id: string) => `{${PARAMS},"jsonrpc":"2.0","id":${id}}`;

function callOf(line: string, key: string): Call {
  return newCall({
    id: key,
    key,
    tool: 'read_text_file',
    args: {},
    line: Buffer.from(line),
    message: JSON.parse(line),
    understanding: { touches: [], guessed: false, unexplained: false, place: (path) => path },
    revision: undefined,
    trusts: undefined,
  });
}

function kept(line: string, key = '1'): RepeatedCalls {
  const calls = new RepeatedCalls();
  calls.keep(callOf(line, key), 1);
  return calls;
}

describe('a call is repeated by', () => {
  it.each([
    ['the same text with another id', first('1'), first('2'), '2'],
    ['the same id', first('1'), first('1'), '1'],
    ['a text for an id', first('1'), first('"x y"'), '"x y"'],
    ['an id at the end', last('1'), last('77'), '77'],
    ['a carriage return more at the end', last('1'), `${last('3')}\r`, '3'],
  ])('%s', (_what, before, now, id) => {
    expect(kept(before).find(Buffer.from(now), 1)).toMatchObject({ id, key: id });
  });
});

describe('a call is not repeated by', () => {
  it.each([
    ['other arguments', first('1'), first('2').replace('a.txt', 'b.txt')],
    ['one member more', first('1'), first('2').replace('{"path"', '{"x":1,"path"')],
    ['the id at another place', first('1'), last('2')],
    ['a number that JavaScript cannot hold', first('1'), first('12345678901234567')],
    ['an id with an escape in it', first('1'), first('"\\u0061"')],
  ])('%s', (_what, before, now) => {
    expect(kept(before).find(Buffer.from(now), 1)).toBeUndefined();
  });

  it('one that came before the tools were listed anew', () => {
    expect(kept(first('1')).find(Buffer.from(first('2')), 2)).toBeUndefined();
  });

  it.each([
    ['writes its id twice', '{"jsonrpc":"2.0","id":1,"id":1,"method":"tools/call"}', '1'],
    ['has another id than it seems', '{"jsonrpc":"2.0","id":1,"method":"tools/call","id":2}', '2'],
  ])('one that %s', (_what, line, key) => {
    expect(kept(line, key).find(Buffer.from(line), 1)).toBeUndefined();
  });

  it('a long one', () => {
    const long = first('1').replace('a.txt', 'a'.repeat(2000));
    expect(kept(long).find(Buffer.from(long), 1)).toBeUndefined();
  });
});

it('keeps so many and no more', () => {
  const calls = new RepeatedCalls();
  const line = (name: number) => first('1').replace('a.txt', `${name}.txt`);
  for (let name = 0; name < 1000; name++) calls.keep(callOf(line(name), '1'), 1);
  expect(calls.find(Buffer.from(line(0)), 1)).toBeUndefined();
  expect(calls.find(Buffer.from(line(999)), 1)).toBeDefined();
});
