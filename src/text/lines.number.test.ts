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

  it('equals splitting, numbering and joining, for text of any length', () => {
    const lines = ['', 'a', 'ä', '日本', '🙂\t', 'const x = 1;\r', 'y'.repeat(30), '\u0000'];
    const random = (bound: number): number => Math.floor(Math.random() * bound);
    const texts = Array.from({ length: 300 }, (_, most) =>
      Array.from({ length: random(most) }, () => lines[random(lines.length)]).join('\n'),
    );
    for (const text of [...texts, 'some text\n'.repeat(20_000)]) {
      const first = 1 + random(20_000);
      const expected = text
        .split('\n')
        .map((line, index) => `${first + index}\t${line}`)
        .join('\n');
      expect(numberLines(text, first)).toBe(expected);
      for (const foot of ['', '\n[end]', '\n[é🙂]'])
        expect(numberLines(text, first, foot)).toBe(`${expected}${foot}`);
    }
  });

  it('writes every digit correctly', () => {
    const lines = '\n'.repeat(1_200);
    for (const first of [1, 9_500, 99_500, 999_500, 123_456_789]) {
      const expected = Array.from({ length: 1_201 }, (_, index) => `${first + index}\t`).join('\n');
      expect(numberLines(lines, first)).toBe(expected);
    }
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
  it('never splits a surrogate pair', () => {
    expect(clampLine('ab🙂cd', 3).text).toBe('ab… [+4 characters]');
    expect(clampLine('ab🙂cd', 4).text).toBe('ab🙂… [+2 characters]');
  });

  it('adds a mark that CLAMP_MARK matches', () => {
    expect(clampLine('abcdef', 3).text).toMatch(CLAMP_MARK);
    expect(clampLine('abc', 3)).toEqual({ text: 'abc', clamped: false });
  });
});
