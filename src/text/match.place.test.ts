import { describe, expect, it } from 'vitest';
import { samePlace } from './match.ts';

describe('samePlace', () => {
  it.each([
    ['beside the same line above', 'a\nU\nb\n', 'b\nx\na\nU\nz\n', 4],
    ['beside the same line below', 'a\nU\nb\n', 'x\nU\nb\n', 2],
    ['with other line endings', 'a\nU\nb\n', 'x\r\nU\r\nb\r\n', 2],
    ['at the end of the file', 'a\nU', 'x\na\nU', 3],
  ])('%s', (_what, before, after, line) => {
    expect(samePlace(before, after, 'U')?.after).toEqual({ from: line, to: line });
  });

  it.each([
    ['no longer there', 'a\nU\nb\n', 'a\nb\n'],
    ['twice now', 'a\nU\nb\n', 'a\nU\nb\nU\n'],
    ['twice then', 'a\nU\nb\nU\n', 'a\nU\nb\n'],
    ['between other lines', 'a\nU\nb\n', 'x\nU\ny\n'],
    ['alone', 'U\n', 'x\nU\n'],
    ['in a line that changed', 'a\nU = 1\nb\n', 'a\nU = 2\nb\n'],
  ])('does not find an anchor that is %s', (_what, before, after) => {
    expect(samePlace(before, after, 'U')).toBeUndefined();
  });
});
