import { expect, it } from 'vitest';
import { changeEntry, delta, file } from '../../test/store/samples.ts';
import { openMemoryStore } from '../store/sqlite/sqlite-store.ts';
import type { Records } from './records.ts';
import { undoJobs } from './undo-jobs.ts';

it('makes one undo for each workspace of a session with many changes', async () => {
  const store = await openMemoryStore();
  const entries = Array.from({ length: 2000 }, (_, i) =>
    changeEntry(`c${i}`, [delta(`f${i}`, file('x'), file('y'))], {
      session: 'one',
      root: i % 2 === 0 ? '/b' : '/a',
    }),
  );
  await store.record({ entries });
  // The cast is safe: `undoJobs` uses only the store.
  const records = { store } as unknown as Records;
  const jobs = await undoJobs(records, { cwd: '/', all: true, session: 'one' });
  expect(jobs.map(({ roots }) => roots[0])).toEqual(['/a', '/b']);
});
