import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratch } from '../support/tree.ts';
import { runModel } from './model-run.ts';

const EVERYTHING = [
  'write',
  'edit',
  'read',
  'undo',
  'undo to what was seen',
  'write NOT_READ',
  'write STALE',
  'edit NOT_READ',
];

it('random operations of two sessions and other programs break no promise', async () => {
  const { root, home } = scratch();
  mkdirSync(join(root, 'dir'));
  const report = await runModel({ root, home, seed: 1, operations: 400 });
  expect(report.broken).toEqual([]);
  // Every kind of event must have occurred; otherwise the run proves little.
  for (const what of EVERYTHING) {
    expect(report.counts[what] ?? 0, what).toBeGreaterThan(0);
  }
});
