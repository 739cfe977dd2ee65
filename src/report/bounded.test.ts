import { describe, expect, it } from 'vitest';
import { harmless, shellPath } from './bounded.ts';

describe('harmless', () => {
  it.each([
    ['plain text', 'a\tb\nc', 'a\tb\nc'],
    ['the ends of lines', 'a\r\nb\r\n', 'a\r\nb\r\n'],
    ['a last line’s end', 'a\r', 'a\r'],
    ['letters of any script, and joined emoji', 'äж語 👩‍💻', 'äж語 👩‍💻'],
  ])('leaves %s', (_what, text, expected) => {
    expect(harmless(text)).toBe(expected);
  });

  it.each([
    ['an escape sequence', '\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
    ['a carriage return that writes over a line', 'real\rfake', 'real\\u000dfake'],
    ['a control character of eight bits', '\u009b31m', '\\u009b31m'],
    ['what turns the direction of text', 'a\u202eb\u2066c', 'a\\u202eb\\u2066c'],
  ])('spells out %s', (_what, text, expected) => {
    expect(harmless(text)).toBe(expected);
  });
});

it.each([
  ['src/a.ts', 'src/a.ts'],
  ['-n', './-n'],
  ['a b', "'a b'"],
  ["it's $(id)", "'it'\\''s $(id)'"],
  ["it's\nb", "$'it\\'s\\nb'"],
  ['', "''"],
])('writes the path %j as one word of a shell command', (path, word) => {
  expect(shellPath(path)).toBe(word);
});
