import { expect, it } from 'vitest';
import { storeConformance } from '../../../test/store/conformance.ts';
import { MemoryStore } from './memory-store.ts';

storeConformance('memory', async () => new MemoryStore());

it('keeps the entries of very many reads that nothing has queried yet', async () => {
  const store = new MemoryStore();
  const read = { kind: 'read', atMs: 1, session: 's', root: '/r', path: 'f' } as const;
  const count = 150_000;
  for (let done = 0; done < count; done += 1) store.note({ sightings: [], entries: [read] });
  expect(await store.entries({ limit: 1 })).toMatchObject([{ seq: count, path: 'f' }]);
  expect((await store.state()).head.seq).toBe(count);
});
