import { expect, it } from 'vitest';
import { killRounds } from './kill-rounds.ts';

it('kill -9 at any moment, 5 rounds with 3 writers: nothing acknowledged is lost, and all can be taken back', async () => {
  const { tally, broken } = await killRounds({
    rounds: Number(process.env['ROUNDS'] ?? 5),
    writers: 3,
    seed: Number(process.env['SEED'] ?? 1),
  });
  console.log(tally);
  expect(broken).toEqual([]);
}, 600_000);
