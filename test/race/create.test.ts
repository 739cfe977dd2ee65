import { describe, expect, it } from 'vitest';
import { attackCreate } from '../support/create-attack.ts';

describe('three processes that create the same names', () => {
  it('have one winner each, and losers never see a part of a file', async () => {
    expect(await attackCreate({ code: 'ours', processes: 3, names: 150 })).toEqual({
      names: 150,
      doubles: 0,
      orphans: 0,
      halves: 0,
      litter: 0,
    });
  });

  it('have several winners, or see parts, when they look first and write then', async () => {
    let wrong = 0;
    for (let round = 0; round < 20 && wrong === 0; round += 1) {
      const tally = await attackCreate({ code: 'naive', processes: 3, names: 150 });
      wrong = tally.doubles + tally.halves;
    }
    expect(wrong).toBeGreaterThan(0);
  });
});
