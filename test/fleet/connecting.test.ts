import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { PostgresConnection } from '../../src/store/postgres/connection.ts';
import { startRelay } from '../postgres/relay.mjs';
import { describePostgres } from '../support/postgres.ts';
import { scratch } from '../support/tree.ts';

const run = promisify(execFile);
const COMMAND = join(import.meta.dirname, '../../dist/bin/lookfirst.js');

async function freePort(): Promise<number> {
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const tlsPort = await freePort();

await describePostgres(
  'a connection to a fleet store',
  (server) => {
    beforeAll(async () => {
      const db = await PostgresConnection.open(server.url());
      await db.query(`create role alice login superuser password 'right'`);
      await db.close();
    });

    const at = `127.0.0.1:${tlsPort}`;
    const certificate = join(server.folder, 'server.crt');
    const log = async (store: string): Promise<{ readonly stdout: string; readonly stderr: string }> => {
      const { root, home } = scratch();
      const env = { ...process.env, LOOKFIRST_HOME: home, LOOKFIRST_STORE: store };
      // Return the error of a failed command, which contains the command's output.
      return run(process.execPath, [COMMAND, 'log'], { cwd: root, env }).catch((error) => error);
    };

    it.each([
      [
        'wrong password',
        `alice:WRONG@${at}/postgres?sslmode=no-verify`,
        /user name or password: check its URL/,
      ],
      ['unknown database', `alice:right@${at}/none?sslmode=no-verify`, /does not exist: create it/],
      ['no encryption, which the server requires', `alice:right@${at}/postgres`, /add sslmode=verify-full/],
      ['certificate that nobody signed', `alice:right@${at}/postgres?sslmode=require`, /sslrootcert=FILE/],
      ['server that is not running', 'alice:right@127.0.0.1:1/postgres', /check that it is running/],
    ])('%s: says where, why and what to do, and not the password', async (_, address, says) => {
      const { stdout, stderr } = await log(`postgres://${address}`);
      expect(stdout).toBe('');
      expect(stderr).toMatch(says);
      expect(stderr).toContain(address.replace(/:\w+@/, '@'));
      expect(stderr).toContain('[STORE_FAILED]');
      expect(stderr).not.toMatch(/right|WRONG|SECURITY WARNING/);
    });

    it('that must be encrypted, to a server that cannot: says what to change', async () => {
      const relay = await startRelay(server.socket, 0);
      onTestFinished(() => relay.close());
      const { stderr } = await log(`postgres://lookfirst@127.0.0.1:${relay.port}/postgres?sslmode=require`);
      expect(stderr).toContain('turn on its setting ssl');
    });

    it('is verified with the certificate that the URL names', async () => {
      const url = `postgres://alice:right@${at}/postgres?sslmode=require&sslrootcert=${certificate}`;
      const { stderr } = await log(url);
      // On a busy machine, the command may first print what it is waiting for.
      expect(stderr).toMatch(
        /^(?:lookfirst: (?:creating|waiting) [^\n]+\n)*nothing recorded here yet[^\n]*\n$/,
      );
    });

    it.each([
      ['sslmode=verify_full', /sslmode="verify_full".*unknown/],
      ['sslmode=verify-full&sslrootcert=/none/ca.crt', /names a file that cannot be read.*\/none\/ca\.crt/],
    ])('with %s is refused, because it could not be encrypted as wanted', async (parameters, says) => {
      const { stderr } = await log(`postgres://alice:right@${at}/postgres?${parameters}`);
      expect(stderr).toMatch(says);
      expect(stderr).toContain('[CONFIG_INVALID]');
      expect(stderr).not.toContain('right');
    });
  },
  { tlsPort },
);
