import { it } from 'vitest';
import { attackTable } from '../support/attack-table.ts';
import { undoAgainstReplay } from '../support/undo-replay.ts';

const RUNS = Number(process.env['RUNS'] ?? 3000);
const report = attackTable('undo in random programs, compared with a replay');

it(`${RUNS} programs agree with the replay`, async () => {
  report({ runs: RUNS, ...(await undoAgainstReplay(RUNS)) });
});
