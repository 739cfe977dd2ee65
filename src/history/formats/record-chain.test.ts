import { expect, it } from 'vitest';
import { keyOf } from './record-chain.ts';

it('names of any length have distinct keys', () => {
  const names = Array.from({ length: 50_000 }, (_, number) => `u${number}`);
  expect(new Set(names.map(keyOf)).size).toBe(names.length);
});
