import { expect, it } from 'vitest';
import { attackTable } from '../support/attack-table.ts';
import { SCENES } from '../support/killable.ts';
import { killEverywhere, killRecoveries } from '../support/killed-steps.ts';

const report = attackTable('killed before every single step');

it.each(Object.keys(SCENES))(
  '%s is done completely or not at all, whichever step the process is killed at',
  async (name) => {
    const tally = await killEverywhere(name, () => 1);
    report({ scene: name, ...tally });
    expect(tally.killed).toBe(tally.steps);
  },
);

it.each(Object.keys(SCENES))(
  '%s is done completely or not at all, even if each recovery is killed too',
  async (name) => {
    let killed = 0;
    for (let step = 2; step <= 20; step += 3) killed += await killRecoveries(name, { step, stride: 5 });
    report({ scene: name, recoveries: killed });
    expect(killed).toBeGreaterThan(0);
  },
);
