import { expect, it } from 'vitest';
import { attackTable } from '../support/attack-table.ts';
import { killRounds } from '../support/kill-rounds.ts';

const report = attackTable('three writers in one tree, killed at any moment');

const ROUNDS = Number(process.env['ROUNDS'] ?? 200);

it(`kill -9 at any moment, ${ROUNDS} rounds with 3 writers: no acknowledged change is lost, and every change can be undone`, async () => {
  const seed = Number(process.env['SEED'] ?? 1);
  const { tally, broken } = await killRounds({ rounds: ROUNDS, writers: 3, seed });
  report({ seed, ...tally, broken: broken.length });
  expect(broken).toEqual([]);
});
