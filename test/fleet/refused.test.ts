import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { verifyChain } from '../../src/journal/verify.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { PostgresConnection } from '../../src/store/postgres/connection.ts';
import { openPostgresRecords } from '../../src/store/postgres/open.ts';
import { SCHEMA_LOCK } from '../../src/store/postgres/schema.ts';
import { lastChange } from '../../src/store/store.ts';
import { ok } from '../support/desk.ts';
import { describePostgres } from '../support/postgres.ts';
import { scratch } from '../support/tree.ts';
import { opened } from './killed.ts';

const run = promisify(execFile);
const COMMAND = join(import.meta.dirname, '../../dist/bin/lookfirst.js');
const EDIT = [{ oldString: 'two', newString: 'zwei' }];

async function connected(url: string): Promise<PostgresConnection> {
  const db = await PostgresConnection.open(url);
  onTestFinished(() => db.close());
  return db;
}

await describePostgres('a fleet store that refuses', (server) => {
  it.each([
    ['a role that may only read', [], { reason: 'read-only', says: 'rights of a writer' }],
    [
      'a standby server',
      [
        'grant execute on all functions in schema S to R',
        'alter role R set default_transaction_read_only = on',
      ],
      { reason: 'read-only', says: 'primary server' },
    ],
    [
      'a short statement_timeout',
      ['grant execute on all functions in schema S to R', `alter role R set statement_timeout = '1ms'`],
      { reason: 'timeout', says: 'raise its statement_timeout' },
    ],
    ['no free connection', ['alter role R connection limit 0'], { reason: 'busy', says: 'PgBouncer' }],
    ['a user that may not log in', ['alter role R nologin'], { reason: 'refused', says: 'check its URL' }],
  ])('%s: the start fails with the reason and what to do', async (_, statements, { reason, says }) => {
    const url = server.url();
    const places = scratch();
    await (await opened(url, places)).close();
    const db = await connected(url);
    const role = `role_${randomBytes(4).toString('hex')}`;
    const grants = ['create role R login', 'grant usage on schema S to R'];
    const select = 'grant select on all tables in schema S to R';
    for (const statement of [...grants, select, ...statements])
      await db.query(statement.replace('S', db.schema).replace('R', role));
    const store = url.replace('lookfirst@', `${role}@`);
    const fault = await Sessions.open({ roots: [places.root], home: scratch().home, store })
      .then((sessions) => sessions.session('agent'))
      .catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: 'STORE_FAILED', reason });
    expect(String(fault)).toContain(says);
  });

  it.each(['pending', 'entries', 'views'])('full disk (%s): nothing is changed or lost', async (table) => {
    const url = server.url();
    const places = scratch();
    const file = join(places.root, 'a.txt');
    writeFileSync(file, 'one\ntwo\n');
    const sessions = await opened(url, places);
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    const db = await connected(url);
    await db.query(`create function ${db.schema}.no_space() returns trigger language plpgsql as
      $f$ begin raise exception 'No space left on device' using errcode = '53100'; end $f$`);
    await db.query(`create trigger no_space before insert on ${db.schema}.${table}
      for each row execute function ${db.schema}.no_space()`);
    await expect(session.edit('a.txt', EDIT)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      reason: 'full',
      unchanged: true,
    });
    expect(readFileSync(file, 'utf8')).toBe('one\ntwo\n');
    await ok(session.read('a.txt'));
    await db.query(`drop trigger no_space on ${db.schema}.${table}`);
    await ok(session.edit('a.txt', EDIT));
    expect(await sessions.world.store.pending()).toEqual([]);
    expect(await verifyChain(sessions.world.store)).toMatchObject({ ok: true });
  });

  it('sighting that the server always rejects: other files are changed, and its file counts as unread', async () => {
    const url = server.url();
    const places = scratch();
    for (const name of ['odd.txt', 'b.txt']) writeFileSync(join(places.root, name), 'one\ntwo\n');
    const sessions = await opened(url, places);
    const session = await sessions.session('agent');
    const db = await connected(url);
    await db.query(`create function ${db.schema}.reject() returns trigger language plpgsql as
      $f$ begin if new.key like '%odd.txt' then raise exception 'odd' using errcode = '22023'; end if; return new; end $f$`);
    await db.query(`create trigger reject before insert on ${db.schema}.views
      for each row execute function ${db.schema}.reject()`);
    for (const name of ['odd.txt', 'b.txt']) await ok(session.read(name));
    await ok(session.edit('b.txt', EDIT));
    expect(await session.edit('odd.txt', EDIT)).toMatchObject({ refusal: { code: 'NOT_READ' } });
    await ok(session.edit('b.txt', [{ oldString: 'one', newString: 'eins' }]));
    const entries = await sessions.world.store.entries({ kinds: ['notice', 'read'] });
    expect(entries.map(({ kind, path, text }) => path ?? `${kind} ${text}`)).toEqual(
      expect.arrayContaining(['b.txt', 'odd.txt', expect.stringContaining('odd.txt could not be recorded')]),
    );
  });

  it('path longer than a row of an index: it is read, edited and undone, and other files too', async () => {
    const url = server.url();
    const places = scratch();
    const folders = Array.from({ length: 14 }, () => randomBytes(120).toString('hex'));
    const long = join(...folders, 'a.txt');
    mkdirSync(join(places.root, ...folders), { recursive: true });
    for (const name of [long, 'b.txt']) writeFileSync(join(places.root, name), 'one\ntwo\n');
    const sessions = await opened(url, places);
    const session = await sessions.session('agent');
    for (const name of [long, 'b.txt']) await ok(session.read(name));
    for (const name of ['b.txt', long]) await ok(session.edit(name, EDIT));
    const { store } = sessions.world;
    const key = join(places.root, long);
    expect((await store.sightings('agent')).map((sighting) => sighting.key)).toContain(key);
    expect((await lastChange(store, key))?.path).toBe(long);
    expect(await store.entries({ key, kinds: ['read'] })).toHaveLength(1);
    await sessions.close();
    const later = await opened(url, places);
    const same = await later.session('agent');
    await ok(same.edit(long, [{ oldString: 'zwei', newString: 'deux' }]));
    await ok(same.undo());
    await ok(same.undo());
    expect(readFileSync(key, 'utf8')).toBe('one\ntwo\n');
  });

  it('session id longer than a row of an index: refused with the reason', async () => {
    const sessions = await opened(server.url(), scratch());
    const id = randomBytes(2000).toString('hex');
    await expect(sessions.session(id)).rejects.toMatchObject({ code: 'STORE_FAILED', reason: 'too-long' });
    await sessions.session('agent');
  });

  it('workspace with a new name: its earlier changes wait under the old name', async () => {
    const store = server.url();
    const { root, home } = scratch();
    writeFileSync(join(root, 'a.txt'), 'one\ntwo\n');
    const named = async (workspace: string): Promise<Sessions> => {
      const sessions = await Sessions.open({ roots: [root], home, store, workspace });
      onTestFinished(() => sessions.close());
      return sessions;
    };
    const before = await (await named('old')).session('agent');
    await ok(before.read('a.txt'));
    const { change = '' } = await ok(before.edit('a.txt', EDIT));
    const renamed = await (await named('new')).session('agent');
    expect(await renamed.write('a.txt', 'new\n')).toMatchObject({ refusal: { code: 'NOT_READ' } });
    expect(await renamed.undo({ change })).toMatchObject({ refusal: { code: 'NOT_FOUND' } });
    await ok((await (await named('old')).session('agent')).undo({ change }));
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
  });

  it('ten programs that start at once make the tables once', async () => {
    const store = server.url();
    const { root, home } = scratch();
    const env = { ...process.env, LOOKFIRST_HOME: home, LOOKFIRST_STORE: store };
    const starts = Array.from({ length: 10 }, () =>
      run(process.execPath, [COMMAND, 'log', '--json'], { cwd: root, env }),
    );
    for (const { stdout } of await Promise.all(starts)) expect(stdout).toBe('');
    const { store: opening } = await openPostgresRecords(store, home);
    onTestFinished(() => opening.close());
    expect(await verifyChain(opening)).toMatchObject({ ok: true, entries: 0 });
  });

  it('schema that another process updates: a start that needs no new table does not wait', async () => {
    const url = server.url();
    await (await opened(url, scratch())).close();
    const other = await connected(url);
    await other.query('begin');
    await other.query(`select pg_advisory_xact_lock(${SCHEMA_LOCK})`);
    // `other` now holds the lock for making the schema. If `opened` waited for this lock, it
    // would fail after its deadline.
    await opened(url, scratch());
    await other.query('commit');
  });

  it('a server that asks for a password, and a URL without one: says where to put it', async () => {
    const { root, home } = scratch();
    const url = server.url();
    const db = await connected(url);
    await db.query(`create role guarded login password 'x'`);
    const rules = join(server.folder, 'data/pg_hba.conf');
    const before = readFileSync(rules, 'utf8');
    writeFileSync(rules, `local all guarded scram-sha-256\n${before}`);
    await db.query('select pg_reload_conf()');
    onTestFinished(() => writeFileSync(rules, before));
    const opening = Sessions.open({ roots: [root], home, store: url.replace('lookfirst@', 'guarded@') });
    await expect(opening).rejects.toMatchObject({ reason: 'refused' });
    await expect(opening).rejects.toThrow(/asks for a password.*PGPASSWORD/);
  });

  it('a URL with a user and without a host, as other programs accept for a socket', async () => {
    const { root, home } = scratch();
    const store = server.url().replace('@localhost/', '@/');
    const sessions = await Sessions.open({ roots: [root], home, store });
    await sessions.close();
  });

  it('newer schema: the command line says what to update', async () => {
    const store = server.url();
    const { root, home } = scratch();
    await (await opened(store, scratch())).close();
    const db = await connected(store);
    await db.query(`update ${db.schema}.meta set version = 99`);
    const env = { ...process.env, LOOKFIRST_HOME: home, LOOKFIRST_STORE: store };
    const ended = await run(process.execPath, [COMMAND, 'log'], { cwd: root, env }).catch((error) => error);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('update Lookfirst') });
  });
});
