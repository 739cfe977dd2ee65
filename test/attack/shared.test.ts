import { expect, it } from 'vitest';
import { attackTable } from '../support/attack-table.ts';
import { countTogether } from '../support/counters.ts';

const report = attackTable('four processes edit the same three files');

it('4 × 2,000 interleaved edits lose nothing', async () => {
  const { refusals, ...counted } = await countTogether({ processes: 4, edits: 2000 });
  report({ ...counted, chain: String(counted.chain), refused: JSON.stringify(refusals) });
  expect(counted).toEqual({
    acknowledged: 8000,
    counted: 8000,
    changes: 8000,
    sessions: 4,
    pending: 0,
    chain: true,
  });
});
