import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runModel } from '../model/model-run.ts';
import { scratch } from '../support/tree.ts';

const RUNS = 50;
const OPERATIONS = 2_000;

it(`${RUNS * OPERATIONS} random operations break no promise`, async () => {
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const { root, home } = scratch();
    mkdirSync(join(root, 'dir'));
    const report = await runModel({ root, home, seed: seed * 7919, operations: OPERATIONS });
    broken.push(...report.broken);
    for (const [what, count] of Object.entries(report.counts)) counts[what] = (counts[what] ?? 0) + count;
  }
  console.table(counts);
  expect(broken).toEqual([]);
});
