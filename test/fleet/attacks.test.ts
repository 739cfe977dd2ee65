import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { verifyChain } from '../../src/journal/verify.ts';
import { knownOf } from '../../src/judge/known.ts';
import { Fault } from '../../src/model/fault.ts';
import { NEVER_SEEN } from '../../src/model/view.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { PostgresConnection } from '../../src/store/postgres/connection.ts';
import { openPostgresState, openPostgresStore } from '../../src/store/postgres/open.ts';
import type { Writes } from '../../src/store/store.ts';
import { startRelay } from '../postgres/relay.mjs';
import { BARE_SIGHTING, pendingChange, sessionRecord } from '../store/samples.ts';
import { ok } from '../support/desk.ts';
import { describePostgres, type PostgresServer } from '../support/postgres.ts';
import { type Scratch, scratch } from '../support/tree.ts';
import { agrees, opened } from './killed.ts';
import { printedOn } from './machine.ts';

const EDIT = [{ oldString: 'two', newString: 'zwei' }];

async function machine(store: string, { root, home }: Scratch, shared = {}): Promise<Sessions> {
  const sessions = await Sessions.open({ roots: [root], home, store, workspace: 'project', ...shared });
  onTestFinished(() => sessions.close().catch(() => undefined));
  return sessions;
}

/**
 * Calls `then` once, as soon as the store has recorded that a change is about to happen. At that
 * moment, no file has been touched yet.
 */
function afterAnnouncing({ world: { store } }: Sessions, then: () => Promise<void> | void): void {
  const record = store.record.bind(store);
  store.record = async (writes: Writes) => {
    await record(writes);
    if (writes.announce === undefined) return;
    store.record = record;
    await then();
  };
}

async function relayed(server: PostgresServer, url: string) {
  const relay = await startRelay(server.socket);
  onTestFinished(() => relay.close());
  const schema = new URL(url).searchParams.get('schema');
  return { relay, url: `postgres://lookfirst@127.0.0.1:${relay.port}/postgres?schema=${schema}` };
}

const changesIn = (db: PostgresConnection): string =>
  `select 1 from ${db.schema}.entries where kind = 'change'`;

/** Creates the tables and a role that may write. The connection belongs to the owner of the tables. */
async function writerOf(url: string): Promise<{ readonly db: PostgresConnection; readonly role: string }> {
  await (await opened(url, scratch())).close();
  const db = await PostgresConnection.open(url);
  onTestFinished(() => db.close());
  const role = `writer_${randomBytes(4).toString('hex')}`;
  for (const statement of [
    `create role ${role} login`,
    `grant usage on schema ${db.schema} to ${role}`,
    `grant select on all tables in schema ${db.schema} to ${role}`,
    `grant execute on all functions in schema ${db.schema} to ${role}`,
  ])
    await db.query(statement);
  return { db, role };
}

await describePostgres('attacks on a fleet', (server) => {
  it('server killed while a batch of 200 files is written: all files are old or all are new', async () => {
    const places = scratch();
    const names = Array.from({ length: 200 }, (_, n) => `f${n}.txt`);
    for (const name of names) writeFileSync(join(places.root, name), `${name} two\n`);
    const url = server.url();
    const sessions = await opened(url, places);
    const session = await sessions.session('agent');
    for (const name of names) await ok(session.read(name));
    afterAnnouncing(sessions, () => server.kill());
    const batch = session.apply(names.map((path) => ({ kind: 'edit', path, edits: EDIT })));
    await expect(batch).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await server.start();
    await sessions.close().catch(() => undefined);
    const later = await opened(url, places);
    for (const name of names.slice(0, 5)) await agrees(later, places, name);
    const kinds = new Set(
      names.map((name) => readFileSync(join(places.root, name), 'utf8').includes('zwei')),
    );
    expect(kinds.size).toBe(1);
    expect(await verifyChain(later.world.store)).toMatchObject({ ok: true });
    expect(await later.world.store.pending()).toEqual([]);
  });

  it('network frozen between announcement and settlement: the next process settles the change', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\ntwo\n');
    const direct = server.url();
    const { relay, url } = await relayed(server, direct);
    const sessions = await opened(url, places);
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    afterAnnouncing(sessions, () => {
      relay.frozen = true;
    });
    await expect(session.edit('a.txt', EDIT)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await sessions.close().catch(() => undefined);
    const later = await opened(direct, places);
    await agrees(later, places, 'a.txt');
    expect(await later.world.store.pending()).toEqual([]);
  });

  it.each([
    ['has no free connection', 'connection limit 0'],
    ['is read-only', 'set default_transaction_read_only = on'],
  ])(
    'recorded change whose answer is lost, and a server that then %s: the file stays changed',
    async (_, setting) => {
      const places = scratch();
      writeFileSync(join(places.root, 'a.txt'), 'one\ntwo\n');
      const direct = server.url();
      const { db, role } = await writerOf(direct);
      const { relay, url } = await relayed(server, direct);
      const sessions = await opened(url.replace('lookfirst@', `${role}@`), places);
      const session = await sessions.session('agent');
      await ok(session.read('a.txt'));
      afterAnnouncing(sessions, () => {
        relay.deaf = true;
      });
      const editing = session.edit('a.txt', EDIT).catch((error: unknown) => error);
      await expect.poll(() => db.query(changesIn(db))).toHaveLength(1);
      await db.query(`alter role ${role} ${setting}`);
      relay.deaf = false;
      relay.cut();
      expect(await editing).toMatchObject({ code: 'STORE_FAILED', reason: 'unanswered' });
      expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\nzwei\n');
    },
  );

  it('recorded change whose answer a pooler loses in a crash of the server: it is recorded once', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\ntwo\n');
    const direct = server.url();
    const { relay, url } = await relayed(server, direct);
    const sessions = await opened(url, places);
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    const db = await PostgresConnection.open(direct);
    onTestFinished(() => db.close());
    afterAnnouncing(sessions, () => {
      relay.deaf = true;
    });
    const editing = session.edit('a.txt', EDIT);
    await expect.poll(() => db.query(changesIn(db))).toHaveLength(1);
    relay.deaf = false;
    relay.crash();
    await ok(editing);
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\nzwei\n');
    expect(await db.query(changesIn(db))).toHaveLength(1);
  });

  it('image that cannot be fetched in the middle of an undo on another machine: no file is changed', async () => {
    const store = server.url();
    const [one, two] = [scratch(), scratch()];
    const names = ['a.txt', 'b.txt'];
    for (const name of names) writeFileSync(join(one.root, name), `${name} two\n`);
    for (const name of names) writeFileSync(join(two.root, name), `${name} zwei\n`);
    const session = await (await machine(store, one)).session('agent');
    for (const name of names) await ok(session.read(name));
    const both = names.map((path) => ({ kind: 'edit' as const, path, edits: EDIT }));
    const { change = '' } = await ok(session.apply(both));
    const there = await machine(store, two);
    const other = await there.session('agent');
    const { images } = there.world;
    const read = images.read.bind(images);
    afterAnnouncing(there, () => {
      let reads = 0;
      images.read = async (fingerprint) => {
        if (++reads === 2) throw new Fault('STORE_FAILED', 'no answer', { reason: 'unanswered' });
        return read(fingerprint);
      };
    });
    await expect(other.undo({ change })).rejects.toMatchObject({ code: 'STORE_FAILED', unchanged: true });
    for (const name of names) expect(readFileSync(join(two.root, name), 'utf8'), name).toBe(`${name} zwei\n`);
    expect(await there.world.store.pending()).toEqual([]);
    await ok(other.undo({ change }));
  });

  it('announcement that the server gets after the change was refused: later changes stay and are recorded once', async () => {
    const places = scratch();
    for (const name of ['a.txt', 'b.txt']) writeFileSync(join(places.root, name), 'one\ntwo\n');
    const url = server.url();
    const sessions = await opened(url, places);
    const session = await sessions.session('agent');
    for (const name of ['a.txt', 'b.txt']) await ok(session.read(name));
    const db = await PostgresConnection.open(url);
    onTestFinished(() => db.close());
    const others = `from pg_stat_activity where application_name = 'lookfirst' and pid <> pg_backend_pid()`;
    // Wait until the database server has recorded the reads. A server process that is stopped while
    // it records keeps its locks, and every later change would wait for these locks.
    await sessions.world.store.state();
    await expect.poll(() => db.query(`select pid ${others} and state = 'idle'`)).toHaveLength(1);
    const stopped = (await db.query(`select pid ${others}`)).map(({ pid }) => Number(pid));
    expect(stopped).toHaveLength(1);
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    const both = ['a.txt', 'b.txt'].map((path) => ({ kind: 'edit' as const, path, edits: EDIT }));
    await expect(session.apply(both)).rejects.toMatchObject({ code: 'STORE_FAILED', unchanged: true });
    await ok(session.edit('a.txt', EDIT));
    for (const pid of stopped) process.kill(pid, 'SIGCONT');
    const isLeft = `select 1 ${others} and pid = any($1::text::int[])`;
    await expect.poll(async () => (await db.query(isLeft, [`{${stopped.join()}}`])).length).toBe(0);
    await ok(session.edit('b.txt', [{ oldString: 'one', newString: 'eins' }]));
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\nzwei\n');
    expect(readFileSync(join(places.root, 'b.txt'), 'utf8')).toBe('eins\ntwo\n');
    expect(await sessions.world.store.entries({ kinds: ['change'] })).toHaveLength(2);
    expect(await sessions.world.store.pending()).toEqual([]);
  });

  it.each([
    ['killed', 'the next process of its machine', 'same'],
    ['closed', 'a process of another machine', 'other'],
  ] as const)(
    'process %s after a change was refused that the server gets later: %s does not see the change',
    async (end, _, home) => {
      const url = server.url();
      const places = scratch();
      const open = (folder: string, deadlineMs: number) =>
        openPostgresState(url, {
          home: folder,
          durability: 'none',
          fleet: { roots: [places.root], workspace: 'w', imageSecrets: 'here', sharedWorkspace: true },
          connection: { deadlineMs },
        });
      const first = await open(places.home, 1000);
      const later = await open(home === 'same' ? places.home : scratch().home, 20_000);
      for (const { close } of [first, later]) onTestFinished(() => close().catch(() => undefined));
      const db = await PostgresConnection.open(url);
      onTestFinished(() => db.close());
      const [stopped] = await db.query(
        `select pid from pg_stat_activity where application_name = 'lookfirst' order by backend_start limit 1`,
      );
      process.kill(Number(stopped?.['pid']), 'SIGSTOP');
      const announced = first.store.record({ announce: pendingChange('late') });
      await expect(announced).rejects.toMatchObject({ code: 'STORE_FAILED' });
      if (end === 'closed') await first.close();
      process.kill(Number(stopped?.['pid']), 'SIGCONT');
      const isLeft = `select 1 from pg_stat_activity where pid = $1`;
      await expect.poll(() => db.query(isLeft, [Number(stopped?.['pid'])])).toEqual([]);
      expect(await later.store.pending({ change: 'late' })).toEqual([]);
      expect(await db.query(`select 1 from ${db.schema}.pending`)).toEqual([]);
    },
  );

  it('lease lost while a change is written: the change is not recorded and its file is as before', async () => {
    const url = server.url();
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\ntwo\n');
    const sessions = await machine(url, places, { sharedWorkspace: true });
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    const db = await PostgresConnection.open(url);
    onTestFinished(() => db.close());
    afterAnnouncing(sessions, async () => {
      await db.query(`delete from ${db.schema}.leases`);
    });
    await expect(session.edit('a.txt', EDIT)).rejects.toMatchObject({
      reason: 'lease',
      unchanged: true,
      message: expect.stringMatching(/took over the lock .*; nothing was changed$/),
    });
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
    expect(await sessions.world.store.entries({ kinds: ['change'] })).toEqual([]);
    await ok(session.edit('a.txt', EDIT));
  });

  it('connection lost between a change and its record: its process changes the file again', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\ntwo\n');
    const { relay, url } = await relayed(server, server.url());
    const sessions = await machine(url, places, { sharedWorkspace: true });
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    afterAnnouncing(sessions, () => {
      relay.frozen = true;
    });
    await expect(session.edit('a.txt', EDIT)).rejects.toMatchObject({
      reason: 'unanswered',
      message: expect.stringContaining('the change was made'),
    });
    relay.frozen = false;
    relay.cut();
    await ok(session.read('a.txt'));
    const edit = () => session.edit('a.txt', [{ oldString: 'one', newString: 'eins' }]);
    // A new connection may have begun before the cut, and is then lost too: that edit is refused.
    await expect
      .poll(() =>
        edit().then(
          ({ ok }) => ok,
          () => false,
        ),
      )
      .toBe(true);
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('eins\nzwei\n');
    expect(await sessions.world.store.entries({ kinds: ['change'] })).toHaveLength(2);
    expect(await sessions.world.store.pending()).toEqual([]);
  });

  it.each([
    ['a text that is no JSON', `entry = '{"deltas":'`],
    ['deltas of another shape', `entry = '{"deltas":[{"key":7}]}'`],
    ['a session that cannot be decoded', `session = E'\\x01"agent'`],
  ])('a change of another process with %s hides nothing and ends no process', async (_, damage) => {
    const url = server.url();
    const [one, two] = [scratch(), scratch()];
    for (const { root } of [one, two]) writeFileSync(join(root, 'a.txt'), 'one\ntwo\n');
    const other = await (await machine(url, one)).session('other');
    await ok(other.read('a.txt'));
    await ok(other.edit('a.txt', EDIT));
    const db = await PostgresConnection.open(url);
    onTestFinished(() => db.close());
    await db.query(`update ${db.schema}.entries set ${damage} where kind = 'change'`);
    const sessions = await machine(url, two);
    const session = await sessions.session('agent');
    // Reading asks for the newest changes of other processes in the background.
    const { store } = sessions.world;
    await expect
      .poll(() => {
        void store.changesSince({ sinceMs: 0 });
        return store.changesSince({ sinceMs: 0 }).length;
      })
      .toBe(1);
    await ok(session.read('a.txt'));
    await ok(session.edit('a.txt', EDIT));
    expect(await verifyChain(store)).toMatchObject({ ok: false, problem: 'altered' });
  });

  it('two folders with one workspace name and different files: an undo of the other folder destroys nothing', async () => {
    const store = server.url();
    const [one, two] = [scratch(), scratch()];
    writeFileSync(join(one.root, 'a.txt'), 'one\ntwo\n');
    writeFileSync(join(two.root, 'a.txt'), 'quite another file\n');
    const session = await (await machine(store, one)).session('agent');
    await ok(session.read('a.txt'));
    const { change = '' } = await ok(session.edit('a.txt', EDIT));
    const other = await (await machine(store, two)).session('agent');
    expect(await other.edit('a.txt', [{ oldString: 'file', newString: 'text' }])).toMatchObject({
      ok: false,
    });
    expect(await other.write('a.txt', 'new\n')).toMatchObject({ ok: false });
    expect(await other.undo({ change })).toMatchObject({ ok: false });
    expect(await printedOn({ ...two, store }, 'undo', change)).toContain('refusing');
    expect(readFileSync(join(two.root, 'a.txt'), 'utf8')).toBe('quite another file\n');
  });

  it('sighting that one process forgets while another begins to write for the session: no change is judged by it', async () => {
    const url = server.url();
    const [one, other] = [await openPostgresStore(url), await openPostgresStore(url)];
    const blocker = await PostgresConnection.open(url);
    for (const each of [one, other, blocker]) onTestFinished(() => each.close());
    const session = sessionRecord('s');
    const seen = (key: string) => ({ session: 's', view: { sighting: { ...BARE_SIGHTING, key } } });
    await one.record({ session, views: [seen('/a')], announce: pendingChange('held') });
    // Lock a row, so that the next `record` of `one` stops in the middle of its transaction. It
    // then has removed /a from what the session saw, and has not committed.
    await blocker.query('begin');
    await blocker.query(`select from ${blocker.schema}.pending for update`);
    const losing = one.record({ forget: [{ session: 's' }], settle: ['held'] });
    await expect
      .poll(() => blocker.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock'`))
      .toHaveLength(1);
    const writing = other.record({ views: [seen('/b')] }).then(() => other.recall('s', '/a'));
    await Promise.race([writing, setTimeout(500)]);
    await blocker.query('rollback');
    await Promise.all([losing, writing]);
    await other.recall('s', '/a');
    const found = await other.recallMany('s', ['/a']);
    expect(knownOf(found.get('/a') ?? NEVER_SEEN)).toBeUndefined();
  });

  it.each([
    ['large', 'large.txt', `${'x'.repeat(99)}\n`.repeat(20_000)],
    ['secret', '.env', 'KEY=1\n'],
  ])(
    'image of a %s file: undo and diff on another machine name the machine that has it',
    async (_, path, text) => {
      const store = server.url();
      const [one, two] = [scratch(), scratch()];
      for (const { root } of [one, two]) writeFileSync(join(root, path), text);
      const sessions = await machine(store, one);
      const session = await sessions.session('agent');
      await ok(session.read(path, { limit: 3 }));
      const { change = '' } = await ok(session.append(path, 'MORE=2\n'));
      await (await machine(store, two)).close();
      writeFileSync(join(two.root, path), `${text}MORE=2\n`);
      const name = readFileSync(join(one.home, 'lookfirst.machine'), 'utf8').trim();
      const undone = await printedOn({ ...two, store }, 'undo', change);
      expect(undone).toContain(name);
      expect(readFileSync(join(two.root, path), 'utf8')).toBe(`${text}MORE=2\n`);
      expect(await printedOn({ ...two, store }, 'diff', change)).toContain(name);
      expect(await printedOn({ ...one, store }, 'undo', change)).not.toContain('refusing');
      expect(readFileSync(join(one.root, path), 'utf8')).toBe(text);
    },
  );
});
