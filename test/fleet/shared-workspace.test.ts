import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { PostgresConnection } from '../../src/store/postgres/connection.ts';
import { openPostgresState } from '../../src/store/postgres/open.ts';
import type { FleetOptions, OpenedState } from '../../src/store/state.ts';
import { startRelay } from '../postgres/relay.mjs';
import { pendingChange } from '../store/samples.ts';
import { ok } from '../support/desk.ts';
import { describePostgres } from '../support/postgres.ts';
import { scratch } from '../support/tree.ts';
import { printedOn } from './machine.ts';

async function open(
  store: string,
  home: string,
  fleet: Omit<FleetOptions, 'imageSecrets'>,
): Promise<OpenedState> {
  const state = await openPostgresState(store, {
    home,
    durability: 'none',
    fleet: { imageSecrets: 'here', ...fleet },
  });
  onTestFinished(() => state.close().catch(() => undefined));
  return state;
}

/** True if a lock of the file on the first machine keeps the second machine from locking it. */
async function excludes(
  one: OpenedState,
  key: string,
  other: OpenedState,
  otherKey: string,
): Promise<boolean> {
  const release = await one.locks.acquire([key], 1000);
  expect(release).toBeDefined();
  const second = await other.locks.acquire([otherKey], 100);
  second?.();
  release?.();
  return second === undefined;
}

await describePostgres('a workspace that was served as shared', (server) => {
  const SERVED = { roots: ['/w'], workspace: 'w' };
  it.each([
    ['given', true, SERVED, { roots: ['/mnt'], workspace: 'w' }, '/mnt/a'],
    ['remembered', true, SERVED, { roots: ['/mnt'] }, '/mnt/a'],
    ['that of the folder around it', true, SERVED, { roots: ['/mnt/sub'] }, '/mnt/sub/a'],
    ['that of a folder in it', true, SERVED, { roots: ['/'] }, '/mnt/a'],
    [
      'that of a second root',
      true,
      { roots: ['/v', '/w/mnt2'], workspace: 'w' },
      { roots: ['/mnt2'] },
      '/mnt2/a',
    ],
    ['another one', false, SERVED, { roots: ['/mnt'], workspace: 'other' }, '/mnt/a'],
  ] as const)(
    'keeps processes of other machines out without the flag, if its name is %s: %s',
    async (_, isExcluded, shared, plain, key) => {
      const store = server.url();
      const home = scratch().home;
      // The other machine has served the workspace before, and remembers the workspace's name.
      await (await open(store, home, { roots: ['/mnt', '/mnt2'], workspace: 'w' })).close();
      const one = await open(store, scratch().home, { ...shared, sharedWorkspace: true });
      const other = await open(store, home, plain);
      const firstKey = key.replace(/^\/mnt2/, '/w/mnt2').replace(/^\/mnt\b/, '/w');
      expect(await excludes(one, firstKey, other, key)).toBe(isExcluded);
    },
  );

  it('stays shared after the process that gave the flag has ended, also for its own machine', async () => {
    const store = server.url();
    const home = scratch().home;
    await (await open(store, home, { roots: ['/w'], workspace: 'w', sharedWorkspace: true })).close();
    const one = await open(store, home, { roots: ['/w'], workspace: 'w' });
    const other = await open(store, scratch().home, { roots: ['/w'], workspace: 'w' });
    expect(await excludes(one, '/w/a', other, '/w/a')).toBe(true);
  });

  it('is made shared by the flag alone, once its name is known', async () => {
    const store = server.url();
    const home = scratch().home;
    await (await open(store, home, { roots: ['/w'], workspace: 'w' })).close();
    const one = await open(store, home, { roots: ['/w'], sharedWorkspace: true });
    const other = await open(store, scratch().home, { roots: ['/mnt'], workspace: 'w' });
    expect(await excludes(one, '/w/a', other, '/mnt/a')).toBe(true);
  });

  it('without a name keeps only processes of its own machine out, and says so', async () => {
    const { home } = scratch();
    const alone = await open(server.url(), home, { roots: ['/w'], sharedWorkspace: true });
    expect(alone.store.warnings).toEqual([expect.stringContaining('--workspace NAME')]);
    const named = { roots: ['/w'], workspace: 'w', sharedWorkspace: true };
    const other = await open(server.url(), scratch().home, named);
    expect(other.store.warnings).toEqual([]);
  });

  it('stays shared if the machine that shared it gives its folder another name', async () => {
    const store = server.url();
    const [home, other] = [scratch().home, scratch().home];
    await (await open(store, home, { roots: ['/w'], workspace: 'w', sharedWorkspace: true })).close();
    await (await open(store, other, { roots: ['/w'], workspace: 'w' })).close();
    await (await open(store, home, { roots: ['/w'], workspace: 'new' })).close();
    const one = await open(store, scratch().home, { roots: ['/w'], workspace: 'w' });
    expect(await excludes(one, '/w/a', await open(store, other, { roots: ['/w'] }), '/w/a')).toBe(true);
  });

  it('grants a lease to its process again if the answer to the first request is lost', async () => {
    const store = server.url();
    const relay = await startRelay(server.socket);
    onTestFinished(() => relay.close());
    const schema = new URL(store).searchParams.get('schema');
    const url = `postgres://lookfirst@127.0.0.1:${relay.port}/postgres?schema=${schema}`;
    const { home } = scratch();
    const one = await open(url, home, { roots: ['/w'], workspace: 'w', sharedWorkspace: true });
    const db = await PostgresConnection.open(store);
    onTestFinished(() => db.close());
    relay.deaf = true;
    const acquiring = one.locks.acquire(['/w/a'], 1000);
    await expect
      .poll(async () => (await db.query(`select 1 from ${db.schema}.leases`)).length)
      .toBeGreaterThan(0);
    relay.deaf = false;
    relay.cut();
    expect(await acquiring).toBeTypeOf('function');
    const other = await open(store, scratch().home, { roots: ['/w'], workspace: 'w' });
    expect(await other.locks.acquire(['/w/a'], 100)).toBeUndefined();
  });

  it('has the changes in progress of a machine that serves only a folder inside it', async () => {
    const store = server.url();
    const home = scratch().home;
    await (await open(store, home, { roots: ['/mnt'], workspace: 'w' })).close();
    const outer = await open(store, scratch().home, { roots: ['/w'], workspace: 'w', sharedWorkspace: true });
    const inner = await open(store, home, { roots: ['/mnt/sub'] });
    const { entry } = pendingChange('c1');
    await inner.store.record({
      announce: pendingChange('c1', { entry: { ...entry, root: '/mnt/sub' }, locked: ['/mnt/sub/a.ts'] }),
    });
    const key = '/w/sub/a.ts';
    expect((await outer.store.pending({ here: true })).map(({ locked }) => locked)).toEqual([[key]]);
    expect(await outer.store.pending({ keys: [key], here: true })).toHaveLength(1);
  });

  it('is waited for by undo and run without the flag', async () => {
    const store = server.url();
    const [here, there] = [scratch(), scratch()];
    // Two machines, each with its own state folder, use the same workspace folder.
    const fleet = { roots: [here.root], store, workspace: 'w' };
    const sessions = await Sessions.open({ ...fleet, home: here.home, sharedWorkspace: true });
    onTestFinished(() => sessions.close());
    const file = join(here.root, 'a.txt');
    writeFileSync(file, 'one\n');
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    await ok(session.edit('a.txt', [{ oldString: 'one', newString: 'two' }]));
    const other = { ...there, root: here.root };
    await (await Sessions.open({ ...fleet, home: there.home })).close();
    const release = await sessions.world.locks.acquire([file], 1000);
    expect(await printedOn({ ...other, store }, 'undo')).toContain('[BUSY]');
    expect(
      await printedOn({ ...other, store }, 'run', '--confine', '--', 'sh', '-c', 'echo three > a.txt'),
    ).toContain('BUSY');
    expect(readFileSync(file, 'utf8')).toBe('two\n');
    release?.();
    expect(await printedOn({ ...other, store }, 'undo')).not.toContain('[BUSY]');
    expect(readFileSync(file, 'utf8')).toBe('one\n');
  });
});
