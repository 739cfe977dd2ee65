import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonText } from './lines.ts';

const inside = (text: string) => JSON.stringify(text).slice(1, -1);
const escaped = (text: string, hint = 0) => new JsonText(hint).bytes(Buffer.from(text)).finish().toString();

function numbered(text: string, first: number): string {
  return text
    .split('\n')
    .map((line, index) => `${first + index}\t${line}`)
    .join('\n');
}

describe('JsonText', () => {
  it.each<[string, string]>([
    ['nothing', ''],
    ['plain', 'plain text'],
    ['quotes and backslashes', '"a\\b"'],
    ['every control character', String.fromCharCode(...Array(32).keys())],
    ['delete and C1 controls', '\u007f\u0080\u0085\u009f'],
    ['two to four bytes', 'é — 漢 \u{1f600}'],
    ['line separators', '\u2028\u2029'],
    ['neighbours of special bytes', '\u0021\u0022\u0023\u005b\u005c\u005d\u001f\u0020'],
  ])('equals JSON.stringify: %s', (_what, text) => {
    expect(escaped(text)).toBe(inside(text));
  });

  it('equals JSON.stringify for any text, whatever size was expected', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.nat(400), (text, hint) => {
        expect(escaped(text, hint)).toBe(inside(text));
      }),
    );
  });

  it.each([1023, 1024, 1025, 4096, 70_000])(
    'grows: %i bytes that all become six, and as many that stay one',
    (size) => {
      const text = '\u0001'.repeat(size) + 'a'.repeat(size);
      expect(escaped(text)).toBe(inside(text));
    },
  );

  it.each<[string, string, number]>([
    ['one line', 'a', 1],
    ['nothing is one empty line', '', 7],
    ['a final newline begins a line', 'a\n', 1],
    ['growing digits', 'x\n'.repeat(1200), 95],
    ['only newlines', '\n'.repeat(3000), 99_990],
    ['carriage returns stay', 'a\r\nb\r\n', 1],
    ['escapes inside', '"\\"\n\u0001\n\t', 9],
  ])('numbers lines: %s', (_what, text, first) => {
    const built = new JsonText(0).numberedLines(Buffer.from(text), first).finish().toString();
    expect(built).toBe(inside(numbered(text, first)));
  });

  it('joins pieces; bytes after numbered lines are not numbered', () => {
    const built = new JsonText(4)
      .numberedLines(Buffer.from('a\nb'), 1)
      .json('\\n[read]')
      .text(' é\n"')
      .bytes(Buffer.from('\nend'))
      .finish();
    expect(JSON.parse(`"${built}"`)).toBe('1\ta\n2\tb\n[read] é\n"\nend');
  });

  it('repeats its output, even if it must grow for that', () => {
    const out = new JsonText(0).json('{"a":"').text('é"'.repeat(2000));
    const to = out.length;
    out.json('","b":"').again(6, to).json('"}');
    expect(JSON.parse(out.finish().toString())).toEqual({ a: 'é"'.repeat(2000), b: 'é"'.repeat(2000) });
  });

  it('accepts JSON of any length', () => {
    const text = JSON.stringify('漢é\u{1f600}'.repeat(3000));
    expect(new JsonText(0).json(text).finish().toString()).toBe(text);
  });

  it('accepts bytes at any offset of a larger buffer', () => {
    const large = Buffer.from('xxx"abc\n"yyy');
    expect(new JsonText(0).bytes(large.subarray(3, 9)).finish().toString()).toBe(inside('"abc\n"'));
  });
});
