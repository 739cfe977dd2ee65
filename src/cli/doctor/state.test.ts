import { describe, expect, it } from 'vitest';
import { checkRoom } from './state.ts';

describe('room for the state', () => {
  it.each([
    ['plenty', 1 << 30, []],
    ['not enough for a large file', 50 << 20, ['warn']],
    ['not enough for the database itself', 100_000, ['fail']],
    ['none', 0, ['fail']],
  ])('%s', (_what, freeBytes, expected) => {
    expect(checkRoom(freeBytes).map(({ status }) => status)).toEqual(expected);
  });
});
