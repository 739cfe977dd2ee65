import { expect, it } from 'vitest';
import { failMany } from '../support/descriptors.ts';

it.skipIf(process.platform !== 'linux')('100,000 failing operations leave no descriptor open', async () => {
  const { before, after, failed } = await failMany(100_000);
  expect(failed).toBe(100_000);
  expect(after).toBeLessThanOrEqual(before);
});
