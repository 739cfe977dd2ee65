import { expect, it } from 'vitest';
import { readEntry } from '../../test/store/samples.ts';
import { openMemoryStore } from './sqlite/sqlite-store.ts';
import { type EntryFilter, walkEntries } from './store.ts';

it.each<[EntryFilter, number, number, number]>([
  [{}, 2500, 2500, 1],
  [{ order: 'oldest' }, 2500, 1, 2500],
  [{ limit: 1000 }, 1000, 2500, 1501],
  [{ limit: 251, order: 'oldest' }, 251, 1, 251],
  [{ limit: 5 }, 5, 2500, 2496],
  [{ session: 'b', order: 'oldest' }, 1250, 2, 2500],
  [{ afterSeq: 2499 }, 1, 2500, 2500],
])('walking %j yields each entry once, in order, across pages', async (filter, count, first, last) => {
  const store = await openMemoryStore();
  await store.record({
    entries: Array.from({ length: 2500 }, (_, i) => readEntry({ session: i % 2 === 0 ? 'a' : 'b' })),
  });
  const seqs: number[] = [];
  for await (const entry of walkEntries(store, filter)) seqs.push(entry.seq);
  expect(new Set(seqs).size).toBe(count);
  expect([seqs.length, seqs[0], seqs.at(-1)]).toEqual([count, first, last]);
});

it('gives other work a turn between two pages', async () => {
  const store = await openMemoryStore();
  await store.record({ entries: Array.from({ length: 2500 }, () => readEntry()) });
  let [read, readThen] = [0, 0];
  setImmediate(() => {
    readThen = read;
  });
  for await (const _ of walkEntries(store, {})) read += 1;
  expect(read).toBe(2500);
  expect(readThen).toBe(250);
});
