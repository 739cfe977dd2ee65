import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countLines,
  countNewlineBytes,
  endingOf,
  lineAt,
  lineCount,
  lineStart,
  linesOfSpan,
  sliceLineBytes,
  sliceLines,
  splitLines,
  toLf,
  withoutEnding,
} from './lines.ts';

const text = fc.array(fc.constantFrom('a', 'bc', '\n', '\r\n', '\r', 'é', '')).map((parts) => parts.join(''));

describe('lines', () => {
  it.each([
    ['', 0],
    ['a', 1],
    ['a\n', 1],
    ['\n', 1],
    ['a\nb', 2],
    ['a\r\nb\r\n', 2],
    ['a\rb', 1],
    ['\n\n', 2],
  ])('in %j are %i', (given, count) => {
    expect(lineCount(given)).toBe(count);
    expect(countLines(Buffer.from(given))).toBe(count);
    expect(splitLines(given)).toHaveLength(count);
  });

  it.each([
    ['a\r\n', '\r\n', 'a'],
    ['a\n', '\n', 'a'],
    ['a', '', 'a'],
    ['a\r', '', 'a\r'],
    ['\r\n', '\r\n', ''],
  ])('%j ends in %j', (line, ending, content) => {
    expect(endingOf(line)).toBe(ending);
    expect(withoutEnding(line)).toBe(content);
  });

  it.each([
    [1, 1, 'a\r\n'],
    [2, 3, 'b\nc'],
    [3, 9, 'c'],
    [4, 5, ''],
    [2, 1, ''],
  ])('%i to %i of three are %j', (from, to, slice) => {
    expect(sliceLines('a\r\nb\nc', { from, to })).toBe(slice);
    expect(Buffer.from(sliceLineBytes(Buffer.from('a\r\nb\nc'), { from, to })).toString()).toBe(slice);
  });

  it.each([
    [0, 0, 1, 1],
    [0, 2, 1, 1],
    [1, 2, 1, 1],
    [0, 3, 1, 2],
    [2, 4, 2, 2],
    [2, 2, 2, 2],
    [0, 5, 1, 3],
  ])('touched by %i…%i are %i to %i', (start, end, from, to) => {
    expect(linesOfSpan('a\nb\nc', { start, end })).toEqual({ from, to });
  });

  it('have the same numbers and positions in text and bytes', () => {
    fc.assert(
      fc.property(text, (given) => {
        const lines = splitLines(given);
        const bytes = Buffer.from(given);
        expect(lines.join('')).toBe(given);
        expect(countLines(bytes)).toBe(lines.length);
        let start = 0;
        for (const [index, line] of lines.entries()) {
          expect(lineStart(given, index + 1)).toBe(start);
          expect(lineAt(given, start)).toBe(index + 1);
          expect(lineAt(given, start + line.length - 1)).toBe(index + 1);
          expect(sliceLines(given, { from: index + 1, to: index + 1 })).toBe(line);
          start += line.length;
        }
        expect(lineStart(given, lines.length + 1)).toBeUndefined();
      }),
    );
  });

  it('toLf changes endings and nothing else', () => {
    expect(toLf('a\r\nb\rc\n')).toBe('a\nb\rc\n');
  });
});

describe('countNewlineBytes', () => {
  it('equals counting one by one, for any length, alignment and bytes', () => {
    const bytes = fc.uint8Array({ max: 255, maxLength: 3000 });
    const dense = fc.array(fc.constantFrom(10, 10, 0x0b, 0x8a, 0x0a ^ 0x80, 0), { maxLength: 3000 });
    fc.assert(
      fc.property(fc.oneof(bytes, dense), fc.nat(5), (given, skip) => {
        const view = Uint8Array.from(given).subarray(skip);
        expect(countNewlineBytes(view)).toBe(view.filter((byte) => byte === 10).length);
      }),
    );
  });

  it('does not overflow its 8-bit counters', () => {
    expect(countNewlineBytes(Buffer.alloc(100_003, 10))).toBe(100_003);
  });
});
