import { describe, expect, it } from 'vitest';
import { CLAMP_MARK, clampLine, clampLines, numberLines } from './lines.ts';

describe('numberLines', () => {
  it.each([
    ['a\nb\n', 1, '1\ta\n2\tb'],
    ['a\r\nb', 9, '9\ta\n10\tb'],
    ['', 1, ''],
    ['\n', 5, '5\t'],
    ['a\rb\n', 1, '1\ta\rb'],
  ])('numbers %j from %i', (text, first, numbered) => {
    expect(numberLines(text, first, 100)).toEqual({ text: numbered, clamped: [] });
  });

  it('cuts long lines, marks them and names them', () => {
    expect(numberLines('abc\nabcdefgh\nabcd\r\n', 7, 4)).toEqual({
      text: '7\tabc\n8\tabcd… [+4 characters]\n9\tabcd',
      clamped: [8],
    });
  });

  it('shows the same without numbers', () => {
    expect(clampLines('abc\r\nabcdefgh\n', 7, 4)).toEqual({
      text: 'abc\nabcd… [+4 characters]',
      clamped: [8],
    });
  });
});

describe('clampLine', () => {
  it('never cuts a pair in half', () => {
    expect(clampLine('ab🙂cd', 3).text).toBe('ab… [+4 characters]');
    expect(clampLine('ab🙂cd', 4).text).toBe('ab🙂… [+2 characters]');
  });

  it('leaves a mark that can be recognised', () => {
    expect(clampLine('abcdef', 3).text).toMatch(CLAMP_MARK);
    expect(clampLine('abc', 3)).toEqual({ text: 'abc', clamped: false });
  });
});
