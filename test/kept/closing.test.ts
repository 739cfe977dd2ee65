import { expect, it, onTestFinished } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { startChild } from '../support/child.ts';
import { scratch } from '../support/tree.ts';

const ROUNDS = 60;

it('a session that two processes close at once is closed', async () => {
  const { root, home } = scratch();
  const options = { roots: [root], home };
  const children = await Promise.all([1, 2].map(() => startChild('session-closer', options)));
  for (const child of children) await child.message();
  for (let round = 0; round < ROUNDS; round += 1)
    for (const message of [`session-${round}`, 'close']) {
      for (const child of children) child.send(message);
      for (const child of children) await child.message();
    }
  const sessions = await Sessions.open(options);
  onTestFinished(() => sessions.close());
  const records = await sessions.world.store.sessions();
  expect(records).toHaveLength(ROUNDS);
  expect(records.filter(({ closedMs }) => closedMs === undefined)).toEqual([]);
});
