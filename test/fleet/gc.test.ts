import { hash } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { storedUsage } from '../../src/journal/gc.ts';
import { verifyChain } from '../../src/journal/verify.ts';
import { cleanUp } from '../../src/records/clean-up.ts';
import { FileBlobs } from '../../src/store/blobs/file-blobs.ts';
import { PostgresConnection } from '../../src/store/postgres/connection.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { PostgresImages } from '../../src/store/postgres/postgres-images.ts';
import { makeSchema } from '../../src/store/postgres/schema.ts';
import type { Store } from '../../src/store/store.ts';
import { changeEntry, delta, file, pendingChange } from '../store/samples.ts';
import { ok } from '../support/desk.ts';
import { describePostgres } from '../support/postgres.ts';
import { scratch } from '../support/tree.ts';
import { opened } from './killed.ts';

const DAY_MS = 86_400_000;

async function connected(url: string): Promise<PostgresConnection> {
  const db = await PostgresConnection.open(url);
  onTestFinished(() => db.close());
  return db;
}

async function storeAt(url: string): Promise<Store> {
  const store = await openPostgresStore(url);
  onTestFinished(() => store.close());
  return store;
}

async function fill(url: string, count: number): Promise<void> {
  const store = await storeAt(url);
  const deltas = [delta('a.ts', file('x'), file('y'))];
  await store.record({ entries: Array.from({ length: count }, (_, n) => changeEntry(`c${n}`, deltas)) });
}

await describePostgres('a clean-up of a fleet', (server) => {
  it('by two machines at the same time, while others write, removes each entry once', async () => {
    const url = server.url();
    await fill(url, 600);
    const cleaners = [await storeAt(url), await storeAt(url)];
    const writers = [await storeAt(url), await storeAt(url), await storeAt(url)];
    let stopped = false;
    const written = writers.map(async (store, writer) => {
      let n = 0;
      for (; !stopped; n++) await store.record({ entries: [changeEntry(`w${writer}-${n}`, [])] });
      return n;
    });
    const pruned = await Promise.all(cleaners.map((store) => store.prune(400)));
    stopped = true;
    const added = (await Promise.all(written)).reduce((sum, n) => sum + n, 0);
    expect(pruned.reduce((sum, n) => sum + n, 0)).toBe(400);
    expect(added).toBeGreaterThan(0);
    expect(await verifyChain(cleaners[0] as Store)).toMatchObject({ ok: true, entries: 200 + added });
  });

  it('waits for no reader, and does not block writers', async () => {
    const url = server.url();
    await fill(url, 20);
    const [cleaner, writer] = [await storeAt(url), await storeAt(url)];
    const [reader, watcher] = [await connected(url), await connected(url)];
    // This block keeps its transaction open for 50 seconds. So a reader holds a lock on `entries`
    // while the clean-up runs.
    const reading = reader
      .maintain(`do $$ begin perform 1 from ${reader.schema}.entries; perform pg_sleep(50); end $$`)
      .catch((error: Error) => error.message);
    await expect
      .poll(
        async () =>
          (await watcher.query(`select 1 from pg_stat_activity where wait_event = 'PgSleep'`)).length,
      )
      .toBe(1);
    const pruning = cleaner.prune(10);
    await writer.record({ entries: [changeEntry('meanwhile', [])] });
    expect(await pruning).toBe(10);
    await watcher.query(`select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'`);
    expect(await reading).toContain('canceling statement');
    expect(await verifyChain(writer)).toMatchObject({ ok: true, entries: 11 });
  });

  it('removes heartbeats and leases of processes that ended long ago', async () => {
    const url = server.url();
    const store = await storeAt(url);
    const db = await connected(url);
    for (const [name, age] of [
      ['ended', '2 days'],
      ['running', '-20 seconds'],
    ]) {
      const until = `clock_timestamp() - interval '${age}'`;
      await db.query(`insert into ${db.schema}.owners values ('${name}', 'm', ${until})`);
      await db.query(
        `insert into ${db.schema}.leases values (1, '${name}', 'alone', nextval('${db.schema}.fences'), ${until})`,
      );
    }
    await store.prune(0);
    expect(await db.query(`select id from ${db.schema}.owners`)).toEqual([{ id: 'running' }]);
    expect(await db.query(`select holder from ${db.schema}.leases`)).toEqual([{ holder: 'running' }]);
  });

  it('by a role that may only write cleans up its own machine and keeps the entries and their images', async () => {
    const url = server.url();
    const places = scratch();
    const owner = await opened(url, scratch());
    await owner.close();
    const db = await connected(url);
    const role = `cleaner_${process.pid}`;
    for (const statement of [
      `create role ${role} login`,
      `grant usage on schema S to ${role}`,
      `grant select on all tables in schema S to ${role}`,
      `grant execute on all functions in schema S to ${role}`,
    ])
      await db.query(statement.replace('S', db.schema));
    const before = 'large\n'.repeat(300_000);
    writeFileSync(join(places.root, 'large.txt'), before);
    const sessions = await opened(url.replace('lookfirst@', `${role}@`), places);
    const session = await sessions.session('agent');
    await ok(session.read('large.txt', { limit: 5 }));
    await ok(session.append('large.txt', 'more\n'));
    const nowMs = Date.now() + 400 * DAY_MS;
    const report = await cleanUp(sessions, { dryRun: false, nowMs });
    expect(report).toMatchObject({ entriesKept: true, removed: { entries: 0 } });
    expect(await sessions.world.store.entries({ kinds: ['change'] })).toHaveLength(1);
    await ok(session.undo());
    expect(existsSync(join(places.root, 'large.txt'))).toBe(true);
    expect(readdirSync(places.root)).toEqual(['large.txt']);
  });

  it('reports how many entries there were, were removed and remain, reads included', async () => {
    const url = server.url();
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const db = await connected(url);
    const rows = async (): Promise<number> => (await db.query(`select 1 from ${db.schema}.entries`)).length;
    const sessions = await opened(url, places);
    for (const id of ['a', 'b']) {
      const session = await sessions.session(id);
      await ok(session.read('a.txt'));
      // Take an entry number and write no entry with it, as a failed record does.
      await db.query(`select nextval('${db.schema}.entry_numbers')`);
      await ok(session.append('a.txt', `${id}\n`));
    }
    await sessions.world.store.pending();
    const before = await rows();
    const all = { nowMs: Date.now() + 400 * DAY_MS };
    expect((await cleanUp(sessions, { ...all, dryRun: true })).removed.entries).toBe(before);
    const report = await cleanUp(sessions, { ...all, dryRun: false });
    expect(report.before.entries).toBe(before);
    expect(report.removed.entries).toBe(before);
    expect(report.after?.entries).toBe(0);
    expect(await rows()).toBe(0);
  });

  it.each([1, 2, 1001])('finds the images of a change with %i of them', async (count) => {
    const url = server.url();
    const store = await storeAt(url);
    const bodies = Array.from({ length: count }, (_, n) => Buffer.from([0, 255, 92, n & 255, n >> 8]));
    const shared = bodies.map((bytes) => ({
      bytes,
      fingerprint: { sha256: hash('sha256', bytes), size: bytes.length },
    }));
    await store.record({ announce: pendingChange('c1'), images: { shared, here: [] } });
    const db = await connected(url);
    const rows = await db.query(`select sha256, body from ${db.schema}.images`);
    expect(rows).toHaveLength(count);
    for (const { sha256, body } of rows) expect(hash('sha256', body as Buffer)).toBe(sha256);
  });

  it('removes images even if that takes longer than other calls may', async () => {
    const db = await PostgresConnection.open(server.url(), { deadlineMs: 1000 });
    onTestFinished(() => db.close());
    await makeSchema(db);
    const local = new FileBlobs(scratch().home, { durability: 'none' });
    const images = new PostgresImages({ local, db, machine: 'm', secrets: 'here' });
    const bytes = Buffer.from('old');
    const sha256 = hash('sha256', bytes);
    await images.keepBytes(bytes, { sha256, size: bytes.length });
    await db.query(`create function ${db.schema}.slow() returns trigger language plpgsql as
      $f$ begin perform pg_sleep(1.5); return old; end $f$`);
    await db.query(`create trigger slow before delete on ${db.schema}.images
      for each row execute function ${db.schema}.slow()`);
    expect(await images.remove([sha256], async () => new Set())).toMatchObject({ count: 1 });
    expect(await images.has(sha256)).toBe(false);
  });

  it('counts each image once, also beyond the first page of the list', async () => {
    const url = server.url();
    const sessions = await opened(url, scratch());
    const db = await PostgresConnection.open(url);
    onTestFinished(() => db.close());
    await db.query(
      `insert into ${db.schema}.images select md5(n::text), 1, 'x', 'm', 0 from generate_series(1, 10001) n`,
    );
    expect(await storedUsage(sessions.world.images)).toEqual({ count: 10_001, bytes: 10_001 });
  });
});
