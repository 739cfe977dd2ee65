import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chainOf, interleavedWriters, killedWriters, startWriters } from '../../../test/store/writers.ts';
import { scratch } from '../../../test/support/tree.ts';
import { openSqliteStore } from './sqlite-store.ts';

describe('several processes on one database', () => {
  interleavedWriters({ records: 250, writers: 4 });

  killedWriters({ rounds: 6, writers: 2 });

  it('can all create the new database at once', async () => {
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
