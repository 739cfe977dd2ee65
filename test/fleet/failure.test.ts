import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Fault } from '../../src/model/fault.ts';
import { openState } from '../../src/store/open-state.ts';
import { PostgresConnection } from '../../src/store/postgres/connection.ts';
import { storeCause } from '../../src/tools/failure.ts';
import { type Relay, startRelay } from '../postgres/relay.mjs';
import { ok } from '../support/desk.ts';
import { describePostgres, type PostgresServer } from '../support/postgres.ts';
import { scratch } from '../support/tree.ts';
import { agrees, killedInTheMiddle, opened } from './killed.ts';

/**
 * The time in which every call must end: longer than the deadline of a call, even on a loaded
 * machine.
 */
const ANSWERED_MS = 20_000;

async function through(server: PostgresServer, url: string): Promise<{ relay: Relay; url: string }> {
  const relay = await startRelay(server.socket);
  onTestFinished(() => relay.close());
  const schema = new URL(url).searchParams.get('schema');
  return { relay, url: `postgres://lookfirst@127.0.0.1:${relay.port}/postgres?schema=${schema}` };
}

/** Returns the fault of a call. Fails if the call succeeds or hangs. */
async function faultOf(call: Promise<unknown>): Promise<Fault> {
  const late = setTimeout(ANSWERED_MS, undefined, { ref: false });
  const ended = await Promise.race([call.catch((error: unknown) => error), late]);
  if (!(ended instanceof Fault)) expect.fail(`expected a fault, not ${JSON.stringify(ended)}`);
  return ended;
}

const WRITTEN = 'written while the server was away\n';

await describePostgres('a PostgreSQL that fails', (server) => {
  it('frozen: changes are refused within the deadline, reads go on, and their notes arrive later', async () => {
    const places = scratch();
    for (const name of ['a.txt', 'b.txt']) writeFileSync(join(places.root, name), `${name}\n`);
    const { relay, url } = await through(server, server.url());
    const sessions = await opened(url, places);
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    relay.frozen = true;
    const writing = faultOf(session.write('a.txt', WRITTEN));
    // Read now. After the store has failed for a minute, it no longer accepts the records of reads.
    const read = await ok(session.read('b.txt'));
    expect(read).toMatchObject({ text: expect.stringContaining('b.txt') });
    expect(read.notices).toBeUndefined();
    const fault = await writing;
    expect(fault).toMatchObject({ code: 'STORE_FAILED', unchanged: true });
    expect(fault.message).toContain('fleet store');
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('a.txt\n');
    relay.frozen = false;
    relay.cut();
    await expect
      .poll(() =>
        session.write('b.txt', WRITTEN).then(
          (outcome) => outcome.ok,
          () => false,
        ),
      )
      .toBe(true);
    await ok(session.write('a.txt', WRITTEN));
  });

  it('unreachable at the start: nothing is opened, and no other store takes its place', async () => {
    const { home } = scratch();
    const url = 'postgres://lookfirst@127.0.0.1:9/postgres';
    await expect(openState(url, { home, durability: 'none' })).rejects.toMatchObject({
      code: 'STORE_FAILED',
      reason: 'unsent',
    });
  });

  it('connection cut between two changes: the next one goes through on a new connection', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'a.txt\n');
    const { relay, url } = await through(server, server.url());
    const session = await (await opened(url, places)).session('agent');
    await ok(session.read('a.txt'));
    for (let n = 0; n < 5; n++) {
      relay.cut();
      await ok(session.write('a.txt', `${n}\n`));
    }
  });

  it('read-only for a while: changes go through as soon as it takes writes again', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'a.txt\n');
    const url = server.url();
    const session = await (await opened(url, places)).session('agent');
    await ok(session.read('a.txt'));
    const db = await PostgresConnection.open(url);
    onTestFinished(() => db.close());
    const setting = 'alter role lookfirst set default_transaction_read_only';
    const connected = `from pg_stat_activity where application_name = 'lookfirst' and pid <> pg_backend_pid()`;
    await db.query(`${setting} = on`);
    try {
      await db.query(`select pg_terminate_backend(pid) ${connected}`);
      await expect.poll(() => db.query(`select ${connected}`)).toEqual([]);
      // The process may learn only from its first write that its connection has ended. That write
      // has no answer, because the server may have run it.
      await expect
        .poll(() => faultOf(session.write('a.txt', WRITTEN)))
        .toMatchObject({ reason: 'read-only' });
    } finally {
      await db.query(`${setting} = off`);
    }
    await ok(session.write('a.txt', WRITTEN));
  });

  it('dropped while in use: every change says that the tables are gone, and a new process creates them', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'a.txt\n');
    const url = server.url();
    const session = await (await opened(url, places)).session('agent');
    await ok(session.read('a.txt'));
    await ok(session.write('a.txt', WRITTEN));
    const db = await PostgresConnection.open(url);
    onTestFinished(() => db.close());
    await db.query(`drop schema ${db.schema} cascade`);
    for (const attempt of ['first', 'second']) {
      const fault = await faultOf(session.write('a.txt', `${attempt}\n`));
      expect(fault, attempt).toMatchObject({ reason: 'missing', unchanged: true });
      expect(storeCause(fault), attempt).toMatch(/tables .* are gone, and Lookfirst must be started again/);
    }
    const again = await (await opened(url, { ...places, home: scratch().home })).session('agent');
    await ok(again.read('a.txt'));
    await ok(again.write('a.txt', 'again\n'));
  });

  it('an answer that is lost: the record is sent again and counts once', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), '0\n');
    const { relay, url } = await through(server, server.url());
    const sessions = await opened(url, places);
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    let done = 0;
    let n = 1;
    // Let every third write pass uncut, so that some writes succeed. On a slow machine, all others
    // may fail.
    const cutting = setInterval(() => n % 3 > 0 && relay.cut(), 120);
    for (; n <= 60; n++) {
      // If the connection is cut three times in a row, the write fails. `agrees` below checks what
      // happened to the file.
      const outcome = await session.write('a.txt', `${n}\n`).catch(() => undefined);
      if (outcome?.ok === true) done += 1;
      else await session.read('a.txt').catch(() => undefined);
    }
    clearInterval(cutting);
    expect(done).toBeGreaterThan(0);
    // Check every 600 ms: if a cut interrupted connecting, the store refuses every call for half a
    // second.
    await vi.waitFor(() => agrees(sessions, places, 'a.txt'), { timeout: ANSWERED_MS, interval: 600 });
  });

  it('a record that is sent again arrives before a later one', async () => {
    const { relay, url } = await through(server, server.url());
    const db = await PostgresConnection.open(url, { deadlineMs: 1500 });
    onTestFinished(() => db.close());
    await db.query(`create schema if not exists ${db.schema}`);
    await db.query(`create table ${db.schema}.arrived (n serial, name text)`);
    const arrives = (name: string): Promise<unknown> =>
      db.record(`insert into ${db.schema}.arrived (name) values ($1)`, [name]);
    relay.frozen = true;
    const frozen = db.query('select 1').catch((error: unknown) => error);
    await setTimeout(700);
    const first = arrives('first');
    // When a query times out, the driver gives up the connection. It reports this to the other
    // queries on that connection a moment later.
    expect(await frozen).toMatchObject({ reason: 'unanswered' });
    relay.frozen = false;
    await Promise.all([arrives('second'), first]);
    const rows = await db.query(`select name from ${db.schema}.arrived order by n`);
    expect(rows).toEqual([{ name: 'first' }, { name: 'second' }]);
  });

  it('a connection that is cut while it is being closed is not opened again', async () => {
    const direct = server.url();
    const { relay, url } = await through(server, direct);
    const [db, watcher] = [await PostgresConnection.open(url), await PostgresConnection.open(direct)];
    onTestFinished(() => watcher.close());
    await db.query('select 1');
    relay.deaf = true;
    const asked = faultOf(db.query('select 1'));
    const closed = db.close();
    await setTimeout(100);
    relay.deaf = false;
    relay.cut();
    await Promise.all([asked, closed]);
    const others = `select 1 from pg_stat_activity where application_name = 'lookfirst' and pid <> pg_backend_pid()`;
    await expect.poll(() => watcher.query(others)).toEqual([]);
  });

  it('a connection that is closed on a frozen network leaves no socket', async () => {
    const { relay, url } = await through(server, server.url());
    const db = await PostgresConnection.open(url, { deadlineMs: 1000 });
    await db.query('select 1');
    const sockets = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const before = sockets();
    relay.frozen = true;
    await db.close();
    await expect.poll(sockets).toBe(before - 1);
  });

  it.each([[24]])(
    'killed in the middle of %i edits: every file is old or new, and the journal agrees',
    async (edits) => {
      await killedInTheMiddle(server, edits);
    },
  );
});
