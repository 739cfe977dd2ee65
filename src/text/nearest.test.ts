import { describe, expect, it } from 'vitest';
import { nearest, visibleLine } from './nearest.ts';
import { anchorPlaces } from './splice.ts';

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
