import { expect, it } from 'vitest';
import { attackTable } from '../support/attack-table.ts';
import { attackCreate } from '../support/create-attack.ts';

const report = attackTable('four processes create the same names');

it('of several processes that create the same 3,000 files, one creates each, and none sees a half-written file', async () => {
  const naive = await attackCreate({ code: 'naive', processes: 4, names: 1000 });
  const ours = await attackCreate({ code: 'ours', processes: 4, names: 3000 });
  report({ code: 'naive', ...naive });
  report({ code: 'ours', ...ours });
  expect(ours).toEqual({ names: 3000, doubles: 0, orphans: 0, halves: 0, litter: 0 });
  expect(naive.doubles + naive.halves).toBeGreaterThan(0);
});
