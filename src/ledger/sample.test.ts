import { expect, it } from 'vitest';
import { isSampled, SAMPLE } from './sample.ts';

it.each([
  ['numbered files', (i: number) => `/repo/src/file-${i}.ts`],
  ['one name in many folders', (i: number) => `/repo/packages/p${i}/index.ts`],
])('about one key in %s is sampled, always the same', (_what, name) => {
  const keys = Array.from({ length: 64_000 }, (_, i) => name(i));
  const sampled = keys.filter(isSampled);
  expect(sampled.length).toBeGreaterThan((keys.length / SAMPLE) * 0.7);
  expect(sampled.length).toBeLessThan((keys.length / SAMPLE) * 1.3);
  expect(sampled.every(isSampled)).toBe(true);
});
