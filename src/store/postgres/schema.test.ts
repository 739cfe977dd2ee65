import { expect, it, onTestFinished } from 'vitest';
import { readEntry } from '../../../test/store/samples.ts';
import { describePostgres } from '../../../test/support/postgres.ts';
import { PostgresConnection } from './connection.ts';
import { openPostgresStore } from './open.ts';
import { makeSchema, SCHEMA_LOCK, versionOf } from './schema.ts';

await describePostgres('the schema', (server) => {
  const connect = async (url: string): Promise<PostgresConnection> => {
    const db = await PostgresConnection.open(url);
    onTestFinished(() => db.close());
    await makeSchema(db);
    return db;
  };

  it('is created once, however many processes start at the same time', async () => {
    const url = server.url();
    const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgresStore(url)));
    for (const store of stores) await store.record({ entries: [readEntry()] });
    expect(await stores[0]?.entries({})).toHaveLength(6);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('needs no right to create schemas if it exists and belongs to the user', async () => {
    const url = server.url();
    const db = await PostgresConnection.open(url);
    onTestFinished(() => db.close());
    await db.query('create role tenant login');
    await db.query(`create schema ${db.schema} authorization tenant`);
    const store = await openPostgresStore(url.replace('lookfirst@', 'tenant@'));
    await store.record({ entries: [readEntry()] });
    expect(await store.entries({})).toHaveLength(1);
    await store.close();
  });

  it.each([
    ['newer', 99, /has schema version 99, .* update Lookfirst$/],
    ['older', 14, /has schema version 14, .* add \?schema=NAME to its URL/],
  ])('of a %s version is refused, and left as it is', async (reason, version, message) => {
    const url = server.url();
    const db = await connect(url);
    await db.query(`update ${db.schema}.meta set version = ${version}`);
    await expect(openPostgresStore(url)).rejects.toMatchObject({ code: 'STORE_FAILED', reason });
    await expect(openPostgresStore(url)).rejects.toThrow(message);
    expect(await versionOf(db)).toBe(version);
  });

  it('is waited for longer than other calls while another process makes it', async () => {
    const url = server.url();
    const other = await PostgresConnection.open(url);
    onTestFinished(() => other.close());
    const done: string[] = [];
    const making = other
      .maintain(`do $$ begin perform pg_advisory_xact_lock(${SCHEMA_LOCK}); perform pg_sleep(6); end $$`)
      .then(() => done.push('made'));
    const watcher = await PostgresConnection.open(url);
    onTestFinished(() => watcher.close());
    const held = `select 1 from pg_locks where locktype = 'advisory' and objid = ${SCHEMA_LOCK} and granted`;
    await expect.poll(async () => (await watcher.query(held)).length).toBe(1);
    const store = await openPostgresStore(url);
    done.push('opened');
    await store.close();
    await making;
    expect(done).toEqual(['made', 'opened']);
  });

  it('cannot be opened with an unknown user name', async () => {
    const url = server.url().replace('lookfirst@', 'nobody-knows-me@');
    await expect(openPostgresStore(url)).rejects.toMatchObject({ code: 'STORE_FAILED', reason: 'refused' });
  });
});
