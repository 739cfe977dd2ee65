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
    output.send(['{"a":"', Buffer.from('é\\n'), '"}']);
    await output.flush();
    expect(stream.read().toString()).toBe('{"a":"é\\n"}\n');
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
