import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CHAIN_START } from '../../src/store/chain.ts';
import { loadSqlite } from '../../src/store/sqlite/driver.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type Child, startChild } from '../support/child.ts';
import { scratch } from '../support/tree.ts';
import { follows } from './samples.ts';

/** A writer's report about an acknowledged record. */
interface Told {
  readonly count: number;
  readonly seq: number;
  readonly hash: string;
}

/** Kills writers in the middle of their work, round after round, on one database. */
export function killedWriters({ rounds, writers }: { rounds: number; writers: number }): void {
  it(`kill -9 in the middle, ${rounds} rounds: every acknowledged record exists, and the database is intact`, async () => {
    const file = join(scratch().home, 'state.db');
    const acknowledged: Told[] = [];
    for (let round = 0; round < rounds; round++) {
      const children = await startWriters(file, writers, { records: 0, tellEvery: 1, name: `r${round}` });
      // Kills after some work, not after a time, so that each round ends at another point, even on a slow machine.
      const first = await Promise.all(children.map((child) => child.message<Told>()));
      acknowledged.push(...first);
      for (let i = 0; i < round * 3; i++) acknowledged.push(await (children[0] as Child).message<Told>());
      for (const child of children) child.process.kill('SIGKILL');
      await Promise.all(children.map((child) => child.exit()));
      for (const child of children) while (child.waiting > 0) acknowledged.push(await child.message<Told>());
    }
    const store = await openSqliteStore(file);
    const hashes = new Map((await chainOf(store)).map((entry) => [entry.seq, entry.hash]));
    expect(acknowledged.filter((told) => hashes.get(told.seq) !== told.hash)).toEqual([]);
    expect((await store.pending()).length).toBeLessThanOrEqual(rounds * writers);
    await store.close();
    const db = (await loadSqlite())(file);
    expect(db.prepare('pragma integrity_check').get()).toMatchObject({ integrity_check: 'ok' });
    db.close();
  });
}

/**
 * Lets writers record at the same time on one database. Each writer adds 1 to a count in its own
 * earlier sighting, so that a lost record shows in the sum.
 */
export function interleavedWriters({ records, writers }: { records: number; writers: number }): void {
  it(`${writers} × ${records} records interleaved: none is lost, duplicated or outside the chain`, async () => {
    const file = join(scratch().home, 'state.db');
    const children = await startWriters(file, writers, { records, tellEvery: records });
    const ends = await Promise.all(children.map((child) => child.message<Told>()));
    await Promise.all(children.map((child) => child.exit()));

    const all = writers * records;
    const store = await openSqliteStore(file);
    const entries = await chainOf(store);
    expect(entries).toHaveLength(all);
    expect(new Set(entries.map((entry) => entry.change)).size).toBe(all);
    expect(Math.max(...ends.map((end) => end.seq))).toBe(all);
    expect(entries.slice(0, all / 2).some((entry) => entry.session !== entries[0]?.session)).toBe(true);
    for (let i = 0; i < writers; i++) {
      const counted = (await store.sightings(`w${i}`)).reduce((sum, each) => sum + (each.totalLines ?? 0), 0);
      expect(counted, 'each record builds on the sighting before it').toBe(records);
    }
    expect(await store.pending()).toEqual([]);
    await store.close();
  });
}

/** Starts writers and releases them at the same moment. */
export async function startWriters(
  file: string,
  count: number,
  how: { records: number; tellEvery: number; name?: string },
): Promise<Child[]> {
  const children = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      startChild('store-writer', {
        file,
        announce: how.records === 0,
        ...how,
        name: `${how.name ?? 'w'}${i}`,
      }),
    ),
  );
  await Promise.all(children.map((child) => child.message()));
  for (const child of children) child.send('go');
  return children;
}

/** All entries, oldest first; throws if an entry does not follow the previous one. */
export async function chainOf(store: Store): ReturnType<Store['entries']> {
  const entries = await store.entries({ order: 'oldest' });
  let previous = CHAIN_START;
  for (const entry of entries) {
    if (!follows(previous, entry)) throw new Error(`entry ${entry.seq} does not follow`);
    previous = entry;
  }
  return entries;
}
