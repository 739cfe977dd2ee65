import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { holdBack, LineReader, LineWriter } from './line-streams.ts';

function reader(stream: PassThrough, maxBytes = 1000) {
  const lines: string[] = [];
  let ends = 0;
  let tooLong = 0;
  const ended = new Promise<void>((resolve) => {
    const made = new LineReader(stream, {
      maxBytes,
      onLine: (line) => lines.push(line.toString()),
      onTooLong: () => {
        tooLong++;
      },
      onEnd: () => {
        ends++;
        resolve();
      },
    });
    made.resume();
  });
  return { lines, ended, ends: () => ends, tooLong: () => tooLong };
}

describe('LineReader', () => {
  it('delivers whole lines however they are chunked, the last one without newline, and ends once', async () => {
    const stream = new PassThrough();
    const { lines, ended, ends } = reader(stream);
    for (const piece of ['on', 'e\ntwo\n', '\n', 'thr', 'ee']) stream.write(piece);
    stream.end();
    await ended;
    stream.destroy();
    expect(lines).toEqual(['one', 'two', 'three']);
    expect(ends()).toBe(1);
  });

  it('drops a line that is too long and continues after it', async () => {
    const stream = new PassThrough();
    const { lines, ended, tooLong } = reader(stream, 5);
    stream.end('short\nmuch too long\nnext\n');
    await ended;
    expect(lines).toEqual(['short', 'next']);
    expect(tooLong()).toBe(1);
  });
});

describe('LineWriter', () => {
  it('pauses its source while the reader does not keep up, and resumes it afterwards', async () => {
    let accept: () => void = () => {};
    const slow = new Writable({
      highWaterMark: 10,
      write: (_chunk, _encoding, done) => {
        accept = done;
      },
    });
    const writer = new LineWriter(slow);
    const calls: string[] = [];
    const source = { pause: () => calls.push('pause'), resume: () => calls.push('resume') };
    writer.write(Buffer.from('a line that is longer than the mark'));
    expect(writer.full).toBe(true);
    holdBack(source, writer);
    expect(calls).toEqual(['pause']);
    await new Promise((resolve) => setImmediate(resolve));
    accept();
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toEqual(['pause', 'resume']);
  });

  it('drops writes after the reader has disconnected, and notifies waiting callers', async () => {
    const stream = new PassThrough();
    const writer = new LineWriter(stream);
    stream.destroy();
    await new Promise((resolve) => stream.once('close', resolve));
    writer.write(Buffer.from('x'));
    await writer.flushed();
    expect(await new Promise((resolve) => writer.whenDrained(() => resolve('told')))).toBe('told');
  });

  it('sends the lines of one turn in one write, each with a newline', async () => {
    const written: string[] = [];
    const stream = new Writable({
      write: (chunk, _encoding, done) => {
        written.push(String(chunk));
        done();
      },
    });
    const writer = new LineWriter(stream);
    for (let line = 0; line < 10; line += 1) writer.write(Buffer.from(String(line)));
    expect(written).toEqual(['0\n1\n2\n3\n4\n5\n6\n7\n']);
    await new Promise(setImmediate);
    expect(written.slice(1)).toEqual(['8\n9\n']);
  });

  it('sends long lines whole, each with a newline', async () => {
    const written: Buffer[] = [];
    const stream = new Writable({ write: (chunk, _encoding, done) => done(void written.push(chunk)) });
    const writer = new LineWriter(stream);
    for (const letter of ['a', 'b']) writer.write(Buffer.alloc(100_000, letter));
    await new Promise(setImmediate);
    expect(String(Buffer.concat(written))).toBe(`${'a'.repeat(100_000)}\n${'b'.repeat(100_000)}\n`);
  });

  it('counts as flushed when the stream has taken every line', async () => {
    const accept: (() => void)[] = [];
    const slow = new Writable({ write: (_chunk, _encoding, done) => void accept.push(done) });
    const writer = new LineWriter(slow);
    writer.write(Buffer.from('abc'));
    let flushed = false;
    const flush = writer.flushed().then(() => {
      flushed = true;
    });
    expect(writer.waitingBytes).toBe(4);
    for (let write = 0; write < 2; write += 1) {
      await new Promise(setImmediate);
      expect(flushed).toBe(false);
      accept.shift()?.();
    }
    await flush;
    expect(writer.waitingBytes).toBe(0);
  });
});
