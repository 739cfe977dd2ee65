import { expect, it } from 'vitest';
import { killRounds } from '../support/kill-rounds.ts';

it('kill -9 at any moment, 3 rounds with 3 writers: no acknowledged change is lost, and every change can be undone', async () => {
  const { tally, broken } = await killRounds({
    rounds: Number(process.env['ROUNDS'] ?? 3),
    writers: 3,
    seed: Number(process.env['SEED'] ?? 1),
  });
  console.log(tally);
  expect(broken).toEqual([]);
}, 600_000);
