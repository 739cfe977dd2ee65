import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chainOf, killedWriters, startWriters, type Told } from '../../../test/store/writers.ts';
import { scratch } from '../../../test/support/tree.ts';
import { openSqliteStore } from './sqlite-store.ts';

describe('several processes on one database', () => {
  it('4 × 500 records interleaved: none is lost, doubled or out of the chain', async () => {
    const file = join(scratch().home, 'state.db');
    const children = await startWriters(file, 4, { records: 500, tellEvery: 500 });
    const ends = await Promise.all(children.map((child) => child.message<Told>()));
    await Promise.all(children.map((child) => child.exit()));

    const store = await openSqliteStore(file);
    const entries = await chainOf(store);
    expect(entries).toHaveLength(2000);
    expect(new Set(entries.map((entry) => entry.change)).size).toBe(2000);
    expect(Math.max(...ends.map((end) => end.seq))).toBe(2000);
    expect(entries.slice(0, 1000).some((entry) => entry.session !== entries[0]?.session)).toBe(true);
    for (let i = 0; i < 4; i++) {
      const counted = (await store.sightings(`w${i}`)).reduce((sum, each) => sum + (each.totalLines ?? 0), 0);
      expect(counted, 'each record builds on the sighting before it').toBe(500);
    }
    expect(await store.pending()).toEqual([]);
    await store.close();
  });

  killedWriters({ rounds: 6, writers: 2 });

  it('all may make the new database at once', async () => {
    const { home } = scratch();
    for (let round = 0; round < 2; round++) {
      const file = join(home, 'state.db');
      const children = await startWriters(file, 4, { records: 5, tellEvery: 5 });
      for (const child of children) expect(await child.exit()).toEqual({ code: 0, signal: null });
      const store = await openSqliteStore(file);
      expect(await chainOf(store)).toHaveLength(20);
      await store.close();
      for (const end of ['', '-wal', '-shm']) if (existsSync(file + end)) rmSync(file + end);
    }
  });
});
