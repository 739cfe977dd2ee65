import { expect, it } from 'vitest';
import { killHooks } from '../support/killed-hook.ts';
import { REPLAYED } from '../support/replayed-client.ts';
import { IS_LONG, rounds } from '../support/rounds.ts';
import { scratch } from '../support/tree.ts';

/** `npm run attack` kills hook processes at more moments, and sends the events of every client. */
const ROUNDS = rounds(6, 24);
const CLIENTS = IS_LONG ? (['generic', ...REPLAYED] as const) : (['generic'] as const);

it.each(CLIENTS)(
  'a hook that is killed leaves the old or the new file, and a journal that says which: %s',
  {
    timeout: ROUNDS * 20_000,
  },
  async (client) => {
    const { killed, ...seen } = await killHooks(scratch(), ROUNDS, client);
    if (IS_LONG)
      console.log(`${client}: ${ROUNDS} rounds, killed ${killed}, old ${seen.old}, new ${seen.new}`);
    // Fails if every hook process had ended before it could be killed.
    expect(killed).toBeGreaterThan(0);
    expect(seen.new).toBeGreaterThan(0);
  },
);
