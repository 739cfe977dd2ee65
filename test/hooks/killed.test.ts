import { expect, it } from 'vitest';
import { killHooks } from '../support/killed-hook.ts';
import { scratch } from '../support/tree.ts';

/** `npm run attack` tries more moments. */
const ROUNDS = process.env['LOOKFIRST_ATTACK'] === 'long' ? 80 : 8;

it('a hook that is killed leaves the old or the new file, and a journal that says which', {
  timeout: ROUNDS * 20_000,
}, async () => {
  const { killed, ...seen } = await killHooks(scratch(), ROUNDS);
  // Otherwise no round was killed near the critical moments.
  expect(killed).toBeGreaterThan(0);
  expect(seen.new).toBeGreaterThan(0);
});
