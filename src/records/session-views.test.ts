import { expect, it, onTestFinished } from 'vitest';
import { ROOT, readEntry, sessionRecord } from '../../test/store/samples.ts';
import { scratch } from '../../test/support/tree.ts';
import { Records } from './records.ts';
import { Scope } from './scope.ts';
import { surroundings } from './status-views.ts';

it.each([30, 4])('lists a session first that was opened long ago and is in use, among %i', async (count) => {
  const { home } = scratch();
  const records = await Records.open({ home, store: `sqlite:${home}/lookfirst.db` }, 'make');
  onTestFinished(() => records.close());
  const { store } = records;
  for (let i = 0; i < count; i += 1)
    await store.record({ session: sessionRecord(`s${i}`, { lastMs: 100 + i, closedMs: 100 + i }) });
  await store.record({ session: sessionRecord('idle', { lastMs: 2 }) });
  await store.record({ session: sessionRecord('busy', { lastMs: 1 }) });
  await store.record({ entries: [readEntry({ session: 'busy', atMs: 1000 })] });
  const scope = new Scope({ cwd: ROOT });
  const { sessions } = await surroundings(records, scope, 3);
  expect(sessions).toHaveLength(count + 2);
  expect(sessions.slice(0, 3).map(({ id }) => id)).toEqual(['busy', `s${count - 1}`, `s${count - 2}`]);
  expect(sessions.at(-1)?.id).toBe('idle');
});
