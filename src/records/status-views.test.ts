import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { BARE_SIGHTING, sessionRecord } from '../../test/store/samples.ts';
import { scratch } from '../../test/support/tree.ts';
import { Sessions } from '../session/sessions.ts';
import { status } from '../session/status.ts';
import { Knowledge } from '../views/knowledge.ts';
import { filesSeenBy, fileView, freshnessOf } from './status-views.ts';

it('queries thousands of sessions in steps, because a fleet store must answer each query in time', async () => {
  const { root, home } = scratch();
  writeFileSync(join(root, 'a.txt'), 'one\n');
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => sessions.close());
  const { store } = sessions.world;
  const records = Array.from({ length: 1000 }, (_, n) => sessionRecord(`s${n}`, { root }));
  const sighting = { ...BARE_SIGHTING, key: join(root, 'a.txt') };
  for (const session of records)
    await store.record({ session, views: [{ session: session.id, view: { sighting } }] });
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

it('counts and lists every file that a session has seen, however many, but no listed folder', async () => {
  const { root, home } = scratch();
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => sessions.close());
  const { world } = sessions;
  const session = sessionRecord('s', { root });
  // The files do not exist, so all of them count as deleted since the session saw them.
  const files = Array.from({ length: 150 }, (_, n) => ({
    ...BARE_SIGHTING,
    key: join(root, `f${n}`),
    atMs: n,
  }));
  const folders = files.map(
    (each) => ({ ...each, key: `${each.key}-d`, how: 'listing', atMs: 1000 }) as const,
  );
  const views = [...files, ...folders].map((sighting) => ({ session: 's', view: { sighting } }));
  await world.store.record({ session, views });
  expect(await freshnessOf(sessions, [session])).toMatchObject([{ seen: 150, outOfDate: 150 }]);
  expect(await filesSeenBy(sessions, 's')).toHaveLength(150);
  const shown = await status(world, new Knowledge({ ...world, session: 's' }), undefined);
  expect(shown.ok && shown.files.map(({ path }) => path).slice(0, 2)).toEqual(['f149', 'f148']);
  expect(shown.ok && shown.files).toHaveLength(100);
});
