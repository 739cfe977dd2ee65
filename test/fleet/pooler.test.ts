import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { verifyChain } from '../../src/journal/verify.ts';
import { PostgresConnection } from '../../src/store/postgres/connection.ts';
import { startRelay } from '../postgres/relay.mjs';
import { ok } from '../support/desk.ts';
import { describePostgres, type PostgresServer } from '../support/postgres.ts';
import { scratch } from '../support/tree.ts';
import { opened } from './killed.ts';

const PGBOUNCER = '/usr/sbin/pgbouncer';

/**
 * The names of the statements that the database server keeps for a connection, after the connection
 * has repeated one query.
 */
async function preparedBy(url: string): Promise<readonly unknown[]> {
  const db = await PostgresConnection.open(url);
  onTestFinished(() => db.close());
  // The first query opens the connection. The connection then detects whether there is a pooler
  // between it and the server.
  await db.query('select 1');
  await db.query('select 1');
  for (const value of ['a', 'b']) await db.repeat('again', 'select $1::text as text', [value]);
  return (await db.query('select name from pg_prepared_statements')).map((row) => row['name']);
}

await describePostgres('a pooler', (server) => {
  it('gets no named statements, because only the server itself keeps them', async () => {
    expect(await preparedBy(server.url())).toEqual(['again']);
    const relay = await startRelay(server.socket, 0, 'pooler');
    onTestFinished(() => relay.close());
    expect(await preparedBy(`postgres://lookfirst@127.0.0.1:${relay.port}/postgres`)).toEqual([]);
  });

  it.skipIf(!existsSync(PGBOUNCER))(
    'in transaction mode serves more processes than it has connections',
    async () => {
      const url = `postgres://lookfirst@127.0.0.1:${await startPgBouncer(server)}/postgres?schema=pooled`;
      const machines = Array.from({ length: 6 }, () => scratch());
      const done = machines.map(async (places, machine) => {
        for (let n = 0; n < 10; n++) writeFileSync(join(places.root, `${n}.txt`), 'old\n');
        const sessions = await opened(url, places);
        const session = await sessions.session(`agent-${machine}`);
        for (let n = 0; n < 10; n++) {
          await ok(session.read(`${n}.txt`));
          await ok(session.edit(`${n}.txt`, [{ oldString: 'old', newString: 'new' }]));
        }
        return sessions;
      });
      const [first] = await Promise.all(done);
      const changes = await first?.world.store.entries({ kinds: ['change'] });
      expect(changes).toHaveLength(60);
      expect(first && (await verifyChain(first.world.store))).toMatchObject({ ok: true });
    },
  );
});

/** Starts PgBouncer with two connections to the server, and returns its port. */
async function startPgBouncer(server: PostgresServer): Promise<number> {
  const { home } = scratch();
  const port = await freePort();
  const [users, config] = [join(home, 'users.txt'), join(home, 'pgbouncer.ini')];
  writeFileSync(users, '"lookfirst" ""\n');
  writeFileSync(
    config,
    `[databases]
postgres = host=${dirname(server.socket)} dbname=postgres user=lookfirst
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 2
ignore_startup_parameters = extra_float_digits
`,
  );
  // PgBouncer refuses to run as root, so start it as another user.
  const asNobody = process.getuid?.() === 0 ? ['unshare', '-U'] : [];
  const [command = PGBOUNCER, ...args] = [...asNobody, PGBOUNCER, config];
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.on('exit', () => reject(new Error(`PgBouncer ended: ${log}`)));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      if (log.includes('process up')) resolve();
    });
  });
  return port;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
