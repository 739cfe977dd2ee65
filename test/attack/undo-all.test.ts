import { it } from 'vitest';
import { workAndUndoAll } from '../shared/undo-all.ts';
import { attackTable } from '../support/attack-table.ts';

const RUNS = 300;
const report = attackTable('random work of three sessions, taken back at once');

it(`${RUNS} trees come back to the last bit`, async () => {
  const first = Number(process.env['SEED'] ?? 1000);
  let changes = 0;
  for (let seed = first; seed < first + RUNS; seed += 1)
    changes += await workAndUndoAll(seed, 40 + (seed % 80));
  report({ runs: RUNS, changes });
});
