import { describe, expect, it } from 'vitest';
import { insertAfterLine } from './change.ts';

describe('insertAfterLine', () => {
  it.each([
    ['at the top', 'a\nb\n', 0, 'x\n', 'x\na\nb\n', 1, 1],
    ['after a line', 'a\nb\n', 1, 'x\ny\n', 'a\nx\ny\nb\n', 2, 3],
    ['after the last line', 'a\nb\n', 2, 'x\n', 'a\nb\nx\n', 3, 3],
    ['at the end', 'a\nb\n', undefined, 'x\n', 'a\nb\nx\n', 3, 3],
    ['ending its last line', 'a\nb\n', 1, 'x', 'a\nx\nb\n', 2, 2],
    ['ending its last line at the end too', 'a\n', undefined, 'x', 'a\nx\n', 2, 2],
    ['after a last line without newline, which gets one', 'a\nb', undefined, 'x\n', 'a\nb\nx\n', 3, 3],
    ['into an empty file', '', undefined, 'x', 'x\n', 1, 1],
    ['into an empty file, as it came', '', 0, 'x\r\ny', 'x\r\ny\r\n', 1, 2],
    ['with the ending of the line before', 'a\r\nb\n', 1, 'x\ny', 'a\r\nx\r\ny\r\nb\n', 2, 3],
    ['with the ending of the line after, at the top', 'a\r\nb\n', 0, 'x', 'x\r\na\r\nb\n', 1, 1],
    ['with the ending of the lines before, at the end', 'a\r\nb', undefined, 'x', 'a\r\nb\r\nx\r\n', 3, 3],
    ['with its own ending where there is none', 'a', 1, 'x\r\n', 'a\r\nx\r\n', 2, 2],
    ['an empty line', 'a\nb\n', 1, '\n', 'a\n\nb\n', 2, 2],
    ['without expanding anything', 'a\n', 1, '$& $1\n', 'a\n$& $1\n', 2, 2],
  ])('inserts %s', (_what, text, after, content, expected, from, to) => {
    const result = insertAfterLine(text, after, content);
    expect(result?.text).toBe(expected);
    expect(result?.inserted).toEqual({ from, to });
    const { start, end } = result!.change.after;
    expect(expected.slice(0, start) + expected.slice(end)).toBe(text);
  });

  it('inserts nothing for empty content', () => {
    expect(insertAfterLine('a', undefined, '')).toMatchObject({ text: 'a', inserted: undefined });
  });

  it.each([[3], [-1], [1.5], [Number.NaN]])(
    'returns undefined for line %d of a file with two lines',
    (after) => {
      expect(insertAfterLine('a\nb\n', after, 'x')).toBeUndefined();
    },
  );
});
