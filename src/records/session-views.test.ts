import { expect, it, onTestFinished } from 'vitest';
import { ROOT, readEntry, sessionRecord } from '../../test/store/samples.ts';
import { scratch } from '../../test/support/tree.ts';
import { Records } from './records.ts';
import { Scope } from './scope.ts';
import { sessionViews } from './session-views.ts';
import { surroundings } from './status-views.ts';

it.each([30, 4])('lists a session first that was opened long ago and is in use, among %i', async (count) => {
  const { home } = scratch();
  const records = await Records.openOrCreate({ home, store: `sqlite:${home}/lookfirst.db` });
  onTestFinished(() => records.close());
  const { store } = records;
  for (let i = 0; i < count; i += 1)
    await store.record({ session: sessionRecord(`s${i}`, { lastMs: 100 + i, closedMs: 100 + i }) });
  await store.record({ session: sessionRecord('idle', { lastMs: 2 }) });
  await store.record({ session: sessionRecord('busy', { lastMs: 1 }) });
  await store.record({ entries: [readEntry({ session: 'busy', atMs: 1000 })] });
  const scope = new Scope({ cwd: ROOT });
  const listed: string[] = [];
  for await (const { id } of sessionViews(records, { scope, limit: 3 })) listed.push(id);
  expect(listed).toEqual(['busy', `s${count - 1}`, `s${count - 2}`]);
  const { sessions } = await surroundings(records, scope);
  expect(sessions).toHaveLength(count + 2);
  if (count > 20) expect([sessions[0]?.id, sessions.at(-1)?.id]).toEqual(['busy', 'idle']);
});
