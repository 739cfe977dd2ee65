import { hash } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { storeConformance } from '../../../test/store/conformance.ts';
import { fingerprintOf, imagesConformance, NOTHING_NEEDED } from '../../../test/store/images-conformance.ts';
import { locksConformance } from '../../../test/store/locks-conformance.ts';
import { changeEntry, pendingChange, readEntry, sessionRecord } from '../../../test/store/samples.ts';
import { describePostgres, type PostgresServer } from '../../../test/support/postgres.ts';
import { scratch } from '../../../test/support/tree.ts';
import { verifyChain } from '../../journal/verify.ts';
import { LocalLocks, type Locks } from '../../lock/locks.ts';
import { FileBlobs } from '../blobs/file-blobs.ts';
import { localOwner } from '../owner.ts';
import type { Store } from '../store.ts';
import { PostgresConnection } from './connection.ts';
import { Heart, LeasedLocks } from './heart.ts';
import { Names } from './names.ts';
import { openPostgresStore } from './open.ts';
import { PostgresImages } from './postgres-images.ts';
import { PostgresStore } from './postgres-store.ts';
import { makeSchema } from './schema.ts';

await describePostgres('PostgreSQL', (server) => {
  const connect = async (url = server.url()): Promise<PostgresConnection> => {
    const db = await PostgresConnection.open(url);
    onTestFinished(() => db.close());
    await makeSchema(db);
    return db;
  };

  // The server takes a tenth of a second to make a schema, so these tests share one.
  const shared = server.url();
  storeConformance('PostgreSQL', async () => {
    const db = await PostgresConnection.open(shared);
    await makeSchema(db);
    await empty(db);
    await db.close();
    return openPostgresStore(shared);
  });

  imagesConformance('images in PostgreSQL', async (home) => {
    const local = new FileBlobs(home, { durability: 'none' });
    return new PostgresImages({ local, db: await connect(), machine: 'm', secrets: 'here' });
  });

  // The two lock holders of a test share one connection, so that a released lock is free for the
  // other immediately.
  const connections = new Map<string, PostgresConnection>();
  locksConformance('leases in PostgreSQL', async (home, holder) => {
    const db = connections.get(home) ?? (await connect());
    connections.set(home, db);
    return leases(db, join(home, holder));
  });

  describe('a lease', () => leaseTests(connect));
  describe('the journal', () => journalTests(server, connect));
  describe('images', () => imageTests(connect));
});

type Connect = (url?: string) => Promise<PostgresConnection>;

/** Brings a schema to the state of a new one: no rows, except its version, and sequences at their start. */
async function empty(db: PostgresConnection): Promise<void> {
  await db.query(`do $$ declare each record; begin
    for each in select oid::regclass as name, relkind from pg_class
      where relnamespace = '${db.schema}'::regnamespace and relkind in ('r', 'S') and relname <> 'meta'
    loop
      if each.relkind = 'S' then execute format('alter sequence %s restart', each.name);
      else execute format('delete from %s', each.name); end if;
    end loop;
  end $$`);
}

function leases(
  db: PostgresConnection,
  home: string,
  heart = new Heart(db, { owner: 'o', machine: 'm' }),
): Locks {
  mkdirSync(home, { recursive: true });
  const { tag, isTagAlive } = localOwner();
  const local = new LocalLocks({ home, owner: tag, isAlive: isTagAlive });
  const sharedRoots = ['/w', 'a', 'b', 'c'];
  return new LeasedLocks({ local, db, names: new Names(), heart, owner: home, sharedRoots });
}

function leaseTests(connect: Connect): void {
  it('that expired passes to another holder, and its fence is no longer valid', async () => {
    const db = await connect();
    const { home } = scratch();
    const heart = new Heart(db, { owner: 'o', machine: 'm' });
    const [one, two] = [leases(db, join(home, '1'), heart), leases(db, join(home, '2'))];
    const store = new PostgresStore(db, { names: new Names(), owner: 'o', sharedRoots: [], heart });
    await one.acquire(['/w/a'], 0);
    await store.record({ announce: { ...pendingChange('c1'), locked: ['/w/a'] } });
    await store.record({ announce: { ...pendingChange('c2'), locked: ['/w/a'] } });
    await store.record({ settle: ['c1'], entries: [changeEntry('c1', [])] });
    await db.query(`update ${db.schema}.leases set until = clock_timestamp() - interval '1 second'`);
    expect(await two.acquire(['/w/a'], 0)).toBeTypeOf('function');
    const late = store.record({ settle: ['c2'], entries: [changeEntry('c2', [])] });
    await expect(late).rejects.toMatchObject({ code: 'STORE_FAILED', reason: 'lease' });
    expect(await store.entries({})).toHaveLength(1);
    expect(await store.pending()).toHaveLength(1);
    for (const locks of [one, two]) locks.close();
    heart.stop();
  });
}

function journalTests(server: PostgresServer, connect: Connect): void {
  const two = async (url: string): Promise<readonly [Store, Store]> => {
    const both = [await openPostgresStore(url), await openPostgresStore(url)] as const;
    onTestFinished(async () => {
      for (const store of both) await store.close();
    });
    return both;
  };

  it.each([
    [
      'an entry was altered',
      `update S.entries set path = 'other' where n = 1 and chain = (select min(chain) from S.chains)`,
    ],
    [
      'an entry was removed',
      `delete from S.entries where n = 1 and chain = (select min(chain) from S.chains)`,
    ],
    [
      'a whole chain was removed',
      `with gone as (delete from S.chains where known = '[]' returning chain) delete from S.entries using gone where entries.chain = gone.chain`,
    ],
    [
      'the end of a chain was cut off',
      `with cut as (update S.chains c set n = 1, hash = e.hash from S.entries e where c.known = '[]' and e.chain = c.chain and e.n = 1 returning c.chain)
       delete from S.entries using cut where entries.chain = cut.chain and n > 1`,
    ],
  ])('is reported as broken if %s', async (_what, harm) => {
    const url = server.url();
    const db = await connect(url);
    const [one, other] = await two(url);
    await one.record({ entries: [readEntry(), readEntry()] });
    await other.record({ entries: [readEntry(), readEntry()] });
    expect(await verifyChain(one)).toMatchObject({ ok: true, entries: 4 });
    await db.query(harm.replaceAll('S.', `${db.schema}.`));
    expect(await verifyChain(one)).toMatchObject({ ok: false });
  });

  it('is reported as broken if the database was restored to an earlier state while in use', async () => {
    const url = server.url();
    const db = await connect(url);
    const [one] = await two(url);
    for (const _ of [1, 2]) await one.record({ entries: [changeEntry('c1', [])] });
    await db.query(`update ${db.schema}.chains set n = 1`);
    await expect(one.record({ entries: [readEntry()] })).rejects.toMatchObject({ reason: 'lost' });
  });

  it('has the first read of each minute', async () => {
    const db = await connect();
    const context = { names: new Names(), owner: 'o', sharedRoots: [], summarisesReads: true } as const;
    const store = new PostgresStore(db, context);
    const minutes = (n: number): number => n * 60_000;
    const paths = ['a.ts', 'a.ts', 'b.ts', 'a.ts'];
    const times = [minutes(1), minutes(1) + 5, minutes(1), minutes(2)];
    for (const [index, path] of paths.entries())
      await store.record({ entries: [readEntry({ path, atMs: times[index] ?? 0 })] });
    await store.record({
      entries: [changeEntry('c1', [], { atMs: minutes(1) }), readEntry({ path: 'c.ts', atMs: minutes(3) })],
    });
    expect((await store.entries({ kinds: ['read'] })).map(({ path }) => path)).toEqual([
      'c.ts',
      'a.ts',
      'b.ts',
      'a.ts',
    ]);
    expect(await verifyChain(store)).toMatchObject({ ok: true, entries: 5 });
  });

  it('drops the chain of an ended writer together with its last entry, and can still be verified', async () => {
    const url = server.url();
    const db = await connect(url);
    for (const n of [1, 2, 3]) {
      const writer = await openPostgresStore(url);
      await writer.record({ entries: [changeEntry(`c${n}`, [])] });
      await writer.close();
    }
    const last = await openPostgresStore(url);
    onTestFinished(() => last.close());
    await last.record({ entries: [changeEntry('c4', [])] });
    const chains = async (): Promise<unknown> =>
      (await db.query(`select n - checkpoint_n as kept from ${db.schema}.chains order by seq`)).map(
        (row) => row['kept'],
      );
    // The first two chains lose their entries, but stay, because the third and the fourth chain
    // refer to them.
    expect(await last.prune(2)).toBe(2);
    expect(await chains()).toEqual([0, 0, 1, 1]);
    expect(await verifyChain(last)).toMatchObject({ ok: true, entries: 2 });
    // The two remaining entries are removed, and with them the first three chains. The fourth chain
    // stays, because its writer still runs.
    expect(await last.prune(4)).toBe(2);
    expect(await chains()).toEqual([0]);
    expect(await verifyChain(last)).toMatchObject({ ok: true, entries: 0 });
    await last.record({ entries: [changeEntry('c5', [])] });
    expect(await verifyChain(last)).toMatchObject({ ok: true, entries: 1 });
  });

  it('is reported as broken if a chain was removed, even after gc', async () => {
    const url = server.url();
    const db = await connect(url);
    const [one, other] = await two(url);
    await one.record({ entries: [changeEntry('c1', [])] });
    const [removed] = (await one.state()).chains ?? [];
    for (const n of [2, 3, 4]) await other.record({ entries: [changeEntry(`c${n}`, [])] });
    // The second chain refers to the first one and keeps an entry, so the loss of the first chain
    // can be noticed.
    await other.prune(3);
    await db.query(`delete from ${db.schema}.chains where chain = $1`, [removed?.chain ?? '']);
    expect(await verifyChain(other)).toMatchObject({ ok: false, problem: 'removed', seq: 1 });
  });

  it('counts a damaged session as unknown, and names a damaged record of an unfinished change', async () => {
    const db = await connect();
    const store = new PostgresStore(db, { names: new Names(), owner: 'o', sharedRoots: [] });
    for (const id of ['s', 't']) await store.record({ session: sessionRecord(id) });
    await store.record({ announce: pendingChange('c1') });
    await db.query(`update ${db.schema}.sessions set record = '{"id"' where id = 's'`);
    await db.query(`update ${db.schema}.pending set announced = '{"change"'`);
    expect(await store.session('s')).toBeUndefined();
    expect((await store.sessions()).map(({ id }) => id)).toEqual(['t']);
    await expect(store.pending()).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('unfinished change c1 is damaged; delete its row'),
    });
  });

  it('can be followed without missing entries whose transactions ended out of order', async () => {
    const url = server.url();
    const [db, slow] = [await connect(url), await connect(url)];
    const [one, other] = await two(url);
    await one.record({ entries: [readEntry()] });
    const from = (await other.snapshot?.()) ?? '';
    await slow.query('begin');
    const body = {
      chain: 'slow',
      machine: 'm',
      record: 1,
      acknowledged: 0,
      now: 1,
      entries: [row('slow.ts')],
    };
    await slow.query(`select ${slow.schema}.lf_record($1::text::jsonb, null, null)`, [JSON.stringify(body)]);
    await one.record({ entries: [readEntry({ path: 'fast.ts' })] });
    const middle = (await other.snapshot?.()) ?? '';
    const paths = async (committed: { from: string; to: string }): Promise<unknown[]> =>
      (await other.entries({ committed, order: 'oldest' })).map(({ path }) => path);
    expect(await paths({ from, to: middle })).toEqual([]);
    await slow.query('commit');
    const to = (await other.snapshot?.()) ?? '';
    expect((await paths({ from: middle, to })).sort()).toEqual(['fast.ts', 'slow.ts']);
    expect((await db.query(`select 1 from ${db.schema}.entries`)).length).toBe(3);
  });
}

function row(path: string): object {
  return { a: 1, k: 'read', s: 's', r: '/w', p: path, c: null, t: '{}' };
}

function imageTests(connect: Connect): void {
  const at = async (db: PostgresConnection, machine: string): Promise<PostgresImages> => {
    const local = new FileBlobs(scratch().home, { durability: 'none' });
    return new PostgresImages({ local, db, machine, secrets: 'here' });
  };

  it('can be read on other machines, unless they are large or secret', async () => {
    const db = await connect();
    const [one, two] = [await at(db, 'one'), await at(db, 'two')];
    const [small, large, secret] = [Buffer.from('small'), Buffer.alloc(2 << 20, 'l'), Buffer.from('secret')];
    expect(one.placeOf(fingerprintOf(secret), 'secret')).toBe('here');
    for (const bytes of [small, large, secret]) await one.keepBytes(bytes, fingerprintOf(bytes));
    expect(Buffer.from(await two.read(fingerprintOf(small))).toString()).toBe('small');
    for (const bytes of [large, secret]) {
      expect(await two.has(hash('sha256', bytes))).toBe(false);
      await expect(two.read(fingerprintOf(bytes))).rejects.toThrow('on the machine one only');
      expect(Buffer.from(await one.read(fingerprintOf(bytes))).equals(bytes)).toBe(true);
    }
  });

  it('are read from the database if the local copy is damaged', async () => {
    const db = await connect();
    const { home } = scratch();
    const local = new FileBlobs(home, { durability: 'none' });
    const images = new PostgresImages({ local, db, machine: 'one', secrets: 'here' });
    const bytes = Buffer.from('old bytes');
    const fingerprint = fingerprintOf(bytes);
    await images.keepHere(bytes, fingerprint);
    await images.keepBytes(bytes, fingerprint);
    const file = join(home, 'blobs', fingerprint.sha256);
    chmodSync(file, 0o600);
    writeFileSync(file, 'NEW BYTES');
    expect(Buffer.from(await images.read(fingerprint)).toString()).toBe('old bytes');
  });

  it('that a change announces during their removal are kept', async () => {
    const db = await connect();
    const [images, store] = [
      await at(db, 'one'),
      new PostgresStore(db, { names: new Names(), owner: 'o', sharedRoots: [] }),
    ];
    const bytes = Buffer.from('needed');
    const fingerprint = fingerprintOf(bytes);
    await images.keepBytes(bytes, fingerprint);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await images.remove([fingerprint.sha256], async () => {
      await store.record({
        announce: pendingChange('c1'),
        images: { shared: [{ fingerprint, bytes }], here: [] },
      });
      return new Set();
    });
    expect(await images.has(fingerprint.sha256)).toBe(true);
    await images.remove([fingerprint.sha256], NOTHING_NEEDED);
    expect(await images.has(fingerprint.sha256)).toBe(false);
  });
}
