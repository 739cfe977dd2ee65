import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { LineWriter } from './lines.ts';
import { Relay } from './open-proxy.ts';
import type { Received } from './received.ts';

function relay(state: { holds: boolean; listens: boolean }) {
  const stream = new PassThrough();
  const client = new LineWriter(stream);
  const received: Received[] = [];
  const said: string[] = [];
  const judge = {
    get holds() {
      return state.holds;
    },
    get listens() {
      return state.listens;
    },
    received: (message: Received) => received.push(message),
    log: (text: string) => said.push(text),
  };
  let tooLong = 0;
  const made = new Relay(judge, client, {
    maxBytes: 50,
    onTooLong: () => {
      tooLong++;
    },
  });
  const out = (): string => {
    stream.uncork();
    return String(stream.read() ?? '');
  };
  return {
    push: (text: string) => made.push(Buffer.from(text)),
    received,
    said,
    out,
    tooLong: () => tooLong,
  };
}

describe('Relay', () => {
  it('forwards pieces before the line is complete', () => {
    const { push, out, received } = relay({ holds: false, listens: false });
    push('{"a":');
    expect(out()).toBe('{"a":');
    push('1}\n{"b":2}\n');
    expect(out()).toBe('1}\n{"b":2}\n');
    expect(received).toEqual([]);
  });

  it('forwards and reports a message if an answer is awaited', () => {
    const { push, out, received } = relay({ holds: false, listens: true });
    push('{"a":');
    push('1}\n');
    expect(out()).toBe('{"a":1}\n');
    expect(received.map(({ line, forwarded }) => [line.toString(), forwarded])).toEqual([['{"a":1}', true]]);
  });

  it('assembles a line and forwards nothing, if an answer must be held back', () => {
    const { push, out, received } = relay({ holds: true, listens: true });
    push('{"a":');
    push('1}\n');
    expect(out()).toBe('');
    expect(received.map(({ line, forwarded }) => [line.toString(), forwarded])).toEqual([['{"a":1}', false]]);
  });

  it('decides at the beginning of a line: one that is being forwarded stays so', () => {
    const state = { holds: false, listens: false };
    const { push, out, received } = relay(state);
    push('{"a":');
    Object.assign(state, { holds: true, listens: true });
    push('1}\n{"b":2}\n');
    expect(out()).toBe('{"a":1}\n');
    expect(received.map(({ line }) => line.toString())).toEqual(['{"b":2}']);
  });

  it('drops and logs lines that are not messages, and drops empty lines silently', () => {
    const { push, out, said } = relay({ holds: false, listens: false });
    push('Debug: x\n\n\r\n{"a":1}\n');
    expect(out()).toBe('{"a":1}\n');
    expect(said).toEqual(['dropped a line that is not a message: Debug: x']);
  });

  it.each([
    '[info] started',
    '{debug} started',
    '[1, 2]',
    '["a"]',
    '{',
    '[',
    '{}',
    '[[{"a":1}]]',
    "{'a': 1}",
  ])('drops a line that only begins like a message, however it is cut: %s', (line) => {
    for (const holds of [false, true])
      for (const at of [line.length, 1, 2]) {
        const { push, out, said, received } = relay({ holds, listens: false });
        push(line.slice(0, at));
        push(`${line.slice(at)}\n{"b":2}\n`);
        expect([out(), ...received.map((message) => `${message.line}\n`)].join('')).toBe('{"b":2}\n');
        expect(said).toEqual([`dropped a line that is not a message: ${line}`]);
      }
  });

  it.each(['{"a":1}', '{ \t"a":1}', '[{"a":1}]', '[ {"a":1},{"b":2}]'])(
    'forwards a message, however it is cut: %s',
    (line) => {
      for (const at of [1, 2, 3, line.length]) {
        const { push, out, received } = relay({ holds: false, listens: false });
        push(line.slice(0, at));
        push(`${line.slice(at)}\n`);
        expect([out(), ...received.map((message) => `${message.line}\n`)].join('')).toBe(`${line}\n`);
      }
    },
  );

  it.each([false, true])(
    'a message may begin with white space, even in a piece of its own (holds: %s)',
    (holds) => {
      const { push, received, said } = relay({ holds, listens: false });
      push(' \t');
      push('{"a":1}\r\n \n  Debug: x\n');
      expect(received.map(({ line, forwarded }) => [line.toString(), forwarded])).toEqual([
        [' \t{"a":1}\r', false],
      ]);
      expect(said).toEqual(['dropped a line that is not a message: Debug: x']);
    },
  );

  it('reports a message over the limit', () => {
    const { push, tooLong } = relay({ holds: false, listens: false });
    push(`{"a":"${'x'.repeat(100)}`);
    expect(tooLong()).toBe(1);
  });
});
