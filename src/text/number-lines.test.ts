import { describe, expect, it } from 'vitest';
import { CLAMP_MARK, clampLine, clampLines, numberLines } from './lines.ts';

describe('numberLines', () => {
  it.each([
    ['a\nb', 1, '1\ta\n2\tb'],
    ['a\n\nb', 9, '9\ta\n10\t\n11\tb'],
    ['a\n', 5, '5\ta\n6\t'],
    ['a\rb', 1, '1\ta\rb'],
  ])('numbers %j from %i', (text, first, numbered) => {
    expect(numberLines(text, first)).toBe(numbered);
  });

  it('right-aligns the numbers', () => {
    expect(numberLines('a\nb', 9, 2)).toBe(' 9\ta\n10\tb');
  });
});

describe('clampLines', () => {
  it('cuts long lines, marks them and names them', () => {
    expect(clampLines('abc\nabcdefgh\nabcd\r\n', 7, 4)).toEqual({
      text: 'abc\nabcd… [+4 characters]\nabcd',
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
