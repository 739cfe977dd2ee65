import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { BARE_SIGHTING, sessionRecord } from '../../test/store/samples.ts';
import { scratch } from '../../test/support/tree.ts';
import { Sessions } from '../session/sessions.ts';
import { fileView } from './status-views.ts';

it('queries thousands of sessions in steps, because a fleet store must answer each query in time', async () => {
  const { root, home } = scratch();
  writeFileSync(join(root, 'a.txt'), 'one\n');
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => sessions.close());
  const { store } = sessions.world;
  const records = Array.from({ length: 1000 }, (_, n) => sessionRecord(`s${n}`, { root }));
  const sighting = { ...BARE_SIGHTING, key: join(root, 'a.txt') };
  for (const session of records)
    await store.record({ session, sightings: [{ session: session.id, sighting }] });
  let [waiting, most] = [0, 0];
  for (const name of ['recallMany', 'lastChanges'] as const) {
    const query = store[name].bind(store) as (...values: unknown[]) => unknown;
    const counted = async (...values: unknown[]): Promise<unknown> => {
      waiting += 1;
      most = Math.max(most, waiting);
      await setImmediate();
      waiting -= 1;
      return query(...values);
    };
    Object.assign(store, { [name]: counted });
  }
  const outcome = await fileView(sessions, { cwd: root, path: 'a.txt', sessions: records });
  expect(outcome.ok && outcome.view.seenBy.length).toBe(1000);
  expect(most).toBeLessThanOrEqual(200);
});
