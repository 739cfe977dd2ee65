import { describe, expect, it } from 'vitest';
import { attackCreate } from '../support/create-attack.ts';

describe('three processes that create the same names', () => {
  it('create each name once, and never see a half-written file', async () => {
    expect(await attackCreate({ code: 'ours', processes: 3, names: 150 })).toEqual({
      names: 150,
      doubles: 0,
      orphans: 0,
      halves: 0,
      litter: 0,
    });
  });

  it('create a name twice or see half-written files if they check first and write afterwards', async () => {
    let wrong = 0;
    for (let round = 0; round < 20 && wrong === 0; round += 1) {
      const tally = await attackCreate({ code: 'naive', processes: 3, names: 150 });
      wrong = tally.doubles + tally.halves;
    }
    expect(wrong).toBeGreaterThan(0);
  });
});
