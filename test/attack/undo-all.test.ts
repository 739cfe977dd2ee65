import { expect, it } from 'vitest';
import { attackTable } from '../support/attack-table.ts';
import { workAndUndoAll } from '../support/undo-all.ts';

const FIRST = Number(process.env['SEED'] ?? 1000);
const RUNS = Number(process.env['RUNS'] ?? 300);
const report = attackTable('random work of three sessions, taken back at once');

it(`${RUNS} trees are restored exactly`, async () => {
  const failed: { readonly seed: number; readonly why: string }[] = [];
  let changes = 0;
  for (let seed = FIRST; seed < FIRST + RUNS; seed += 1) {
    try {
      changes += await workAndUndoAll(seed, 40 + (seed % 80));
    } catch (error) {
      // Collect failures, to report their rate and all failing seeds. A single failure says little.
      failed.push({ seed, why: String(error) });
    }
  }
  report({ first: FIRST, runs: RUNS, changes, failed: failed.length });
  const seeds = failed.map(({ seed }) => seed).join(' ');
  expect(failed.length, `seeds ${seeds}, the first of them: ${failed[0]?.why}`).toBe(0);
});
