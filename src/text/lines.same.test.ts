import { expect, it } from 'vitest';
import { sameLines } from './lines.ts';

it.each<[string, string, boolean]>([
  ['a\nb\n', 'a\nb\n', true],
  ['a\nb', 'a\nb\n', true],
  ['a\nb\n', 'a\r\nb\r\n', true],
  ['a\nb', 'a\rb\r', true],
  ['', '\n', true],
  ['a\nb\n\n', 'a\nb\n', false],
  ['a\n b', 'a\nb', false],
  ['a', 'b', false],
])('sameLines of %j and %j is %s', (shown, there, same) => {
  expect(sameLines(Buffer.from(shown), Buffer.from(there))).toBe(same);
});
