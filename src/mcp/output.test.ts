import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Output } from './output.ts';

/** Takes one write at a time and holds it until told to go on. */
function slowStream(): { stream: Writable; written: string[]; next: () => void } {
  const written: string[] = [];
  const callbacks: (() => void)[] = [];
  const stream = new Writable({
    highWaterMark: 4,
    write(chunk: Buffer, _encoding, callback) {
      written.push(chunk.toString());
      callbacks.push(callback);
    },
  });
  return { stream, written, next: () => callbacks.shift()?.() };
}

describe('Output', () => {
  it('sends the messages of one turn in one write, each with a newline', async () => {
    const { stream, written, next } = slowStream();
    const output = new Output(stream);
    output.send(['{"a":1}']);
    output.send(['{"b":', '2}']);
    expect(written).toEqual([]);
    await Promise.resolve();
    await new Promise(setImmediate);
    expect(written).toEqual(['{"a":1}\n{"b":2}\n']);
    next();
  });

  it('sends bytes between strings unchanged', async () => {
    const stream = new PassThrough();
    const output = new Output(stream);
    output.send(['{"a":"', { expectedBytes: 0, writeTo: (out) => void out.text('é\n') }, '"}']);
    await output.flush();
    expect(stream.read().toString()).toBe('{"a":"é\\n"}\n');
  });

  it('leaves out a message that could not be written whole', async () => {
    const stream = new PassThrough();
    const output = new Output(stream);
    const writeTo = (): void => {
      throw new RangeError('too large');
    };
    output.send(['{"a":1}']);
    expect(() => output.send(['{"b":"', { expectedBytes: 0, writeTo }, '"}'])).toThrow('too large');
    output.send(['{"c":3}']);
    await output.flush();
    expect(stream.read().toString()).toBe('{"a":1}\n{"c":3}\n');
  });

  it('does not write into room that the stream still holds', async () => {
    const { stream, written, next } = slowStream();
    const output = new Output(stream);
    for (const text of ['first', 'second', 'third']) {
      output.send([text]);
      await new Promise(setImmediate);
    }
    for (let n = 0; n < 3; n += 1) {
      next();
      await new Promise(setImmediate);
    }
    expect(written).toEqual(['first\n', 'second\n', 'third\n']);
    output.send(['fourth']);
    await new Promise(setImmediate);
    expect(written.at(-1)).toBe('fourth\n');
  });

  it('flush waits for the reader', async () => {
    const { stream, next } = slowStream();
    const output = new Output(stream);
    output.send(['abc']);
    let flushed = false;
    const flush = output.flush().then(() => {
      flushed = true;
    });
    await new Promise(setImmediate);
    expect(flushed).toBe(false);
    expect(output.waitingBytes).toBe(4);
    next();
    await flush;
    expect(output.waitingBytes).toBe(0);
  });

  it('flush returns when nothing waits, and when nothing can leave any more', async () => {
    const stream = new PassThrough();
    const output = new Output(stream);
    await output.flush();
    stream.destroy();
    await once(stream, 'close');
    output.send(['late']);
    await output.flush();
  });
});
