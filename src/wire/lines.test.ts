import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineReader } from './line-streams.ts';

type Sink = ConstructorParameters<typeof LineReader>[1];

/** A reader of lines whose stream gets its chunks at once. */
function splitterInto(sink: Omit<Sink, 'onEnd'>): { push(chunk: Buffer): void; end(): void } {
  const stream = new EventEmitter();
  new LineReader(stream as Readable, { ...sink, onEnd: () => {} });
  return {
    push: (chunk) => void stream.emit('data', chunk),
    end: () => void stream.emit('end'),
  };
}

/** Passes chunks through a splitter and lists its output. */
function frames(chunks: readonly (string | Buffer)[], maxBytes = 1 << 20): string[] {
  const out: string[] = [];
  const splitter = splitterInto({
    maxBytes,
    onLine: (line) => out.push(line.toString('latin1')),
    onTooLong: () => out.push('<too long>'),
  });
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  splitter.end();
  return out;
}

describe('the lines of a stream', () => {
  it.each<[string, string[], string[]]>([
    ['one line', ['a\n'], ['a']],
    ['two lines in one chunk', ['a\nb\n'], ['a', 'b']],
    ['a line over three chunks', ['a', 'b', 'c\nd\n'], ['abc', 'd']],
    ['empty lines are left out', ['\n\na\n\n'], ['a']],
    ['a carriage return is kept', ['a\r\nb\r\n'], ['a\r', 'b\r']],
    ['a last line without newline', ['a\nb'], ['a', 'b']],
    ['newline alone in a chunk', ['a', '\n', 'b\n'], ['a', 'b']],
    ['nothing', [], []],
    ['an empty chunk', ['', 'a\n'], ['a']],
  ])('%s', (_what, chunks, lines) => {
    expect(frames(chunks)).toEqual(lines);
  });

  it.each<[string, string[], string[]]>([
    ['exactly the limit passes', ['1234\n'], ['1234']],
    ['one more is reported and skipped to its end', ['12345', '678', '9\nab\n'], ['<too long>', 'ab']],
    ['a too long line is reported once', ['12345', '12345', '12345\n'], ['<too long>']],
    ['a too long last line', ['ab\n12345'], ['ab', '<too long>']],
    ['two too long lines', ['12345\n12345\n1\n'], ['<too long>', '<too long>', '1']],
  ])('limit of 4 bytes: %s', (_what, chunks, lines) => {
    expect(frames(chunks, 4)).toEqual(lines);
  });

  it('delivers the lines of the whole text, however it is chunked', () => {
    const text = fc.array(fc.constantFrom('a', 'b', '\n', '\r', 'é'), { maxLength: 60 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(8), { maxLength: 40 }), (parts, cuts) => {
        const bytes = Buffer.from(parts.join(''));
        const expected = bytes
          .toString('latin1')
          .split('\n')
          .filter((line) => line !== '');
        expect(frames(cut(bytes, cuts))).toEqual(expected);
      }),
    );
  });

  it('copies each byte at most once: a line of many chunks is joined once', () => {
    const chunk = Buffer.alloc(1 << 16, 'x');
    let joined = 0;
    const splitter = splitterInto({
      maxBytes: 64 << 20,
      onLine: (line) => {
        joined += line.length;
      },
      onTooLong: () => expect.unreachable(),
    });
    for (let i = 0; i < 640; i += 1) splitter.push(chunk);
    expect(joined).toBe(0);
    splitter.push(Buffer.from('\n'));
    expect(joined).toBe(640 << 16);
  });

  it('delivers a view, not a copy, of a line within one chunk', () => {
    const chunk = Buffer.from('ab\ncd\n');
    const lines: Buffer[] = [];
    const splitter = splitterInto({
      maxBytes: 10,
      onLine: (line) => lines.push(line),
      onTooLong: () => expect.unreachable(),
    });
    splitter.push(chunk);
    expect(lines.map((line) => line.buffer === chunk.buffer)).toEqual([true, true]);
  });
});

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let from = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(from, from + size));
    from += size;
  }
  chunks.push(bytes.subarray(from));
  return chunks;
}
