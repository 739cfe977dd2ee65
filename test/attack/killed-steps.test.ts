import { expect, it } from 'vitest';
import { SCENES } from '../shared/killable.ts';
import { killEverywhere } from '../shared/killed-steps.ts';
import { attackTable } from '../support/attack-table.ts';

const report = attackTable('killed before every single step');

it.each(Object.keys(SCENES))(
  '%s is done completely or not at all, whichever step the process is killed at',
  async (name) => {
    const tally = await killEverywhere(name, () => 1);
    report({ scene: name, ...tally });
    expect(tally.killed).toBe(tally.steps);
  },
);
