import { describe, expect, it } from 'vitest';
import { nearest, visibleLine } from './nearest.ts';
import { anchorPlaces } from './quoted-lines.ts';

const FILE = [
  'import { readFile } from "node:fs";',
  '',
  'export function total(items) {',
  '\treturn items.length;',
  '}',
  '',
  'export function average(items) {',
  '    let sum = 0;  ',
  '    for (const item of items) sum += item;',
  '    return sum / items.length;',
  '}',
].join('\n');

describe('nearest', () => {
  it.each([
    ['a typo', 'export function totals(items) {', '3: export function total(items) {'],
    ['other indentation', '  return items.length;', '4: →return items.length;'],
    ['trailing space', 'let sum = 0;', '8: ····let sum = 0;··'],
    [
      'a block with one wrong line',
      'export function average(items) {\n    let sum = 1;\n    for (const item of items) sum += item;',
      '7: export function average(items) {\n8: ····let sum = 0;··\n9: ····for (const item of items) sum += item;',
    ],
    [
      'a block that begins before its likest line',
      'nothing here\nlet sum = 0',
      '7: export function average(items) {\n8: ····let sum = 0;··',
    ],
  ])('shows the place for %s', (_what, anchor, shown) => {
    expect(nearest(FILE, anchor)?.shown).toBe(shown);
  });

  it.each([
    ['an anchor like nothing there', 'SELECT * FROM customers WHERE zip'],
    ['an anchor of two characters', '})'],
    ['white space', ' \n '],
    ['nothing', ''],
  ])('shows nothing for %s', (_what, anchor) => {
    expect(nearest(FILE, anchor)).toBeUndefined();
    expect(nearest('', anchor)).toBeUndefined();
  });

  it('is bounded in lines and characters', () => {
    const line = `const value = compute(${'x'.repeat(300)});`;
    const shown = nearest(`${line}\n`.repeat(40), `${line.replace('value', 'valve')}\n`.repeat(40))!.shown;
    expect(shown.length).toBeLessThanOrEqual(1024);
    expect(shown.split('\n').length).toBeLessThanOrEqual(12);
    expect(shown).toContain('characters]');
  });

  it.each([
    ['one line', 'ab'.repeat(1_500_000)],
    ['only newlines', '\n'.repeat(3_000_000)],
    ['the anchor nearly everywhere', 'const value = compute(other);\n'.repeat(100_000)],
  ])('is fast on 3 MB of %s', (_what, text) => {
    const shown = nearest(text, 'const value = compute(otter);\nab ab ab ab')?.shown;
    expect((shown ?? '').length).toBeLessThanOrEqual(1024);
  });
});

describe('nearest among several similar lines', () => {
  it('prefers the line that differs in the fewest characters', () => {
    const file = 'value = load(b, a);\nvalue = load(a, b, c);\nvalue = loads(a, b);\n';
    expect(nearest(file, 'value = load(a, b);')?.anchor).toBe('value = loads(a, b);');
  });

  it('prefers the line with the same indentation', () => {
    const file = 'if (x) {\n  return total();\n}\n    return totals();\n  return totals();\n';
    expect(nearest(file, '  return totalx();')?.shown).toContain('5: ··return totals();');
  });

  it('suggests none of several lines that are equally similar', () => {
    const file = '    item(51);\n    item(52);\n    other();\n    item(53);\n    item(54);\n';
    const hint = nearest(file, '    item(57);');
    expect(hint?.anchor).toBeUndefined();
    expect(hint?.difference).toBe('several places are equally similar');
    expect(hint?.shown).toBe('1: ····item(51);\n2: ····item(52);\n…\n4: ····item(53);');
  });
});

describe('the suggested text', () => {
  it('is a whole line, even if the line is long', () => {
    const line = `const words = "${Array.from({ length: 150 }, (_, i) => `word${i}`).join(' ')}";`;
    expect(nearest(`a\n${line}\nb\n`, line.replace('word9 ', 'wrod9 '))?.anchor).toBe(line);
  });

  it('ends with a newline if the text to replace does', () => {
    const file = 'first\r\nvalue = load(a, b);\r\nlast(of, all);';
    expect(nearest(file, 'value = load(a, c);\n')?.anchor).toBe('value = load(a, b);\n');
    expect(nearest(file, 'value = load(a, c);')?.anchor).toBe('value = load(a, b);');
    expect(nearest(file, 'last(of, al);\n')?.anchor).toBe('last(of, all);');
  });
});

describe('nearest for text that only looks equal', () => {
  it('numbers the lines of a file that begins with an empty one', () => {
    expect(nearest('\ncafe\u0301\n', '\ncaf\u00e9')?.shown).toBe('1: \n2: cafe\u0301');
  });

  it.each([
    ['decomposed', 'the cafe\u0301 is open\n', 'caf\u00e9 is', 'cafe\u0301 is'],
    ['composed', 'the caf\u00e9 is open\n', 'cafe\u0301 is', 'caf\u00e9 is'],
  ])('says that the file has accented letters %s', (form, file, anchor, suggested) => {
    const hint = nearest(`first\r\n${file}`, anchor);
    expect(hint?.shown).toMatch(/^2: the caf/);
    expect(hint?.difference).toContain(form);
    expect(hint?.anchor).toBe(suggested);
  });

  it('says that a byte order mark is not part of the text', () => {
    expect(nearest('first line\nsecond\n', '\ufefffirst line')).toEqual({
      shown: '1: first line',
      difference:
        "the text to replace begins with a byte order mark (U+FEFF), which is not part of the file's text",
      anchor: 'first line',
    });
  });
});

describe('visibleLine', () => {
  it.each([
    ['\t\tx', '→→x'],
    ['  x y  ', '··x y··'],
    ['a\tb', 'a→b'],
    [' \t x', '·→·x'],
    ['a\u00a0b\u200bc', 'a<U+00A0>b<U+200B>c'],
    ['', ''],
    ['   ', '···'],
  ])('shows %j as %j', (line, shown) => {
    expect(visibleLine(line)).toBe(shown);
  });
});

describe('anchorPlaces', () => {
  it('returns line and text of the first ten places', () => {
    const text = 'x\r\n'.repeat(20);
    const spans = Array.from({ length: 20 }, (_, index) => ({ start: index * 3, end: index * 3 + 1 }));
    const places = anchorPlaces(text, spans);
    expect(places).toHaveLength(10);
    expect(places[9]).toEqual({ line: 10, text: 'x' });
  });

  it('shows the text around the place in a very long line', () => {
    const text = `${'a'.repeat(5000)}HERE${'b'.repeat(5000)}\n`;
    const [place] = anchorPlaces(text, [{ start: 5000, end: 5004 }]);
    expect(place?.text).toMatch(/^…HEREb+… \[\+\d+ characters\]$/);
    expect(place!.text.length).toBeLessThan(200);
  });
});
