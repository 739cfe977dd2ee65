import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifyChain } from '../../src/journal/verify.ts';
import { Fault } from '../../src/model/fault.ts';
import type { Outcome } from '../../src/model/verdict.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { openSession, type SessionOptions, Sessions } from '../../src/session/sessions.ts';
import { loadSqlite } from '../../src/store/sqlite/driver.ts';
import { startChild } from '../support/child.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { asNobody } from '../support/nobody.ts';
import { IS_LONG } from '../support/rounds.ts';
import { scratch } from '../support/tree.ts';

const STORE_FAILED = expect.objectContaining({ code: 'STORE_FAILED' });

function databaseIn(home: string): string {
  return join(home, 'lookfirst.db');
}

describe('a database that cannot be used', () => {
  it('is a folder: opening fails, and the folder is left unchanged', async () => {
    const { root, home } = scratch();
    mkdirSync(databaseIn(home));
    await expect(openSession({ roots: [root], home })).rejects.toEqual(STORE_FAILED);
    expect(() => readFileSync(databaseIn(home), 'utf8')).not.toThrow(/ENOENT/);
  });

  it('may not be written: opening fails', async () => {
    const { base, root, home } = scratch();
    chmodSync(base, 0o755);
    chmodSync(home, 0o755);
    writeFileSync(databaseIn(home), '', { mode: 0o444 });
    const error = await asNobody(() => openSession({ roots: [root], home }).catch((fault: unknown) => fault));
    expect(error).toBeInstanceOf(Fault);
    expect(error).toEqual(STORE_FAILED);
  });

  it.each([
    ['is not a database', () => Buffer.from('not a database '.repeat(500))],
    // The first page stays intact, because it identifies the file as a database.
    ['is damaged inside', (sound: Buffer) => sound.fill('x', 4096)],
  ])('%s: it is set aside, and everything counts as unread', async (_what, damage) => {
    const t = await desk({ session: 'ann' });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await ok(t.session.edit('a.txt', [{ oldString: 'one', newString: 'two' }]));
    const raw = (await loadSqlite())(databaseIn(t.home));
    raw.exec('pragma wal_checkpoint(truncate)');
    raw.close();
    const { home } = scratch();
    writeFileSync(databaseIn(home), damage(readFileSync(databaseIn(t.home))));
    const session = await t.open({ home });
    expect(readdirSync(home).filter((name) => /\.damaged-\w+$/.test(name))).toHaveLength(1);
    await refusal(session.write('a.txt', 'three\n'), 'NOT_READ');
    await ok(session.read('a.txt'));
    await ok(session.write('a.txt', 'three\n'));
  });

  it('has one damaged row: its file counts as unread, other entries stay readable, and verify names the entry', async () => {
    const t = await desk({ session: 'ann' });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await ok(t.session.edit('a.txt', [{ oldString: 'one', newString: 'two' }]));
    await t.session.close();
    const raw = (await loadSqlite())(databaseIn(t.home));
    raw.exec(`update views set seen = '[oops'; update entries set entry = '{"a' where kind = 'change'`);
    raw.close();
    const sessions = await Sessions.open({ roots: [t.root], home: t.home });
    onTestFinished(() => sessions.close());
    const session = await sessions.session('ann');
    await refusal(session.write('a.txt', 'three\n'), 'NOT_READ');
    await ok(session.read('a.txt'));
    await ok(session.write('a.txt', 'three\n'));
    const { store } = sessions.world;
    const kinds = (await store.entries({ kinds: ['change', 'read'] })).map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(['change', 'change', 'read', 'read']);
    expect(await verifyChain(store)).toMatchObject({ ok: false, problem: 'altered' });
  });

  it('is removed while in use: a change is refused', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    rmSync(databaseIn(t.home));
    await expect(t.session.write('a.txt', 'two\n')).rejects.toEqual(STORE_FAILED);
    expect(t.text('a.txt')).toBe('one\n');
  });
});

it('a refusal that cannot be recorded says that nothing was changed', async () => {
  const { root, home } = scratch();
  writeFileSync(join(root, 'a.txt'), 'one\n');
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => sessions.close());
  const session = await sessions.session('ann');
  const full = new Fault('STORE_FAILED', 'the disk is full', { reason: 'full' });
  const { store } = sessions.world;
  const { record } = store;
  store.record = () => Promise.reject(full);
  await expect(session.write('a.txt', 'x')).rejects.toMatchObject({ reason: 'full', unchanged: true });
  store.record = record;
});

describe('a state folder that is removed while in use', () => {
  const changes = (session: GatedSession): Promise<Outcome<object>>[] => [
    session.write('a.txt', 'three\n'),
    session.write('b.txt', 'new\n'),
    session.delete('c.txt'),
  ];

  async function removed(store: Partial<SessionOptions>): Promise<Desk> {
    const t = await desk({ session: 'ann', ...store });
    for (const name of ['a.txt', 'c.txt']) {
      await t.put(name, 'one\n');
      await ok(t.session.read(name));
    }
    await ok(t.session.write('a.txt', 'two\n'));
    rmSync(t.home, { recursive: true });
    return t;
  }

  it('refuses every change, and the session can be closed', async () => {
    const t = await removed({});
    // Wait for all changes, because they run at the same time and a later one may fail first.
    for (const outcome of await Promise.allSettled(changes(t.session)))
      expect(outcome).toEqual({ status: 'rejected', reason: STORE_FAILED });
    expect([readdirSync(t.root), t.text('a.txt')]).toEqual([['a.txt', 'c.txt'], 'two\n']);
    await t.session.close();
  });

  it('is created again if only displaced files need it', async () => {
    const t = await removed({ store: 'memory:' });
    for (const change of changes(t.session)) await ok(change);
    expect([readdirSync(t.root), t.text('a.txt')]).toEqual([['a.txt', 'b.txt'], 'three\n']);
    for (const _change of [1, 2, 3, 4]) await ok(t.session.undo({}));
    expect([readdirSync(t.root), t.text('a.txt'), t.text('c.txt')]).toEqual([
      ['a.txt', 'c.txt'],
      'one\n',
      'one\n',
    ]);
    await t.session.close();
  });
});

const mount = 'mount -t tmpfs -o size=8m lookfirst-test "$0" && exec "$@"';
const canMount = spawnSync('unshare', ['-Urm', 'sh', '-c', mount, '/mnt', 'true']).status === 0;
/**
 * Amounts of free space at which different steps fail, and one amount that suffices. `npm run
 * attack` tries more amounts.
 */
const ROOM = (IS_LONG ? [0, 4, 8, 12, 16, 20, 24, 28, 32, 64] : [0, 20, 64]).map(
  (kilobytes) => kilobytes * 1024,
);

interface Told {
  readonly name: string;
  readonly room: number;
  readonly ended: string;
  readonly isAsBefore: boolean;
  readonly pending: number;
  readonly journalled: boolean;
  readonly isBack: boolean;
}

async function onFullDisk(): Promise<Told[]> {
  const { base, root } = scratch();
  const disk = join(base, 'disk');
  mkdirSync(disk);
  const within = ['unshare', '-Urm', 'sh', '-c', mount, disk];
  const child = await startChild('session-faults', { root, disk, room: ROOM }, within);
  return child.message<Told[]>();
}

describe.skipIf(!canMount)('a disk that is full for our state (needs its own mount)', () => {
  it('refuses every kind of change at every step, changes nothing, and leaves nothing to settle', async () => {
    const told = await onFullDisk();
    const failed = told.filter(({ ended }) => ended !== 'done');
    expect(failed.length).toBeGreaterThan(12);
    for (const each of failed)
      expect(each).toMatchObject({
        ended: expect.stringMatching(/^(STORE|IO)_FAILED$/),
        isAsBefore: true,
        journalled: false,
        pending: 0,
      });
    for (const each of told) expect(each).toMatchObject({ pending: 0, isBack: true });
  });
});

describe('a state folder inside a workspace', () => {
  it('is created and used, and no tool can reach it', async () => {
    const { root } = scratch();
    const session = await openSession({ roots: [root], home: join(root, 'state'), session: 'ann' });
    await ok(session.write('a.txt', 'one\n'));
    expect(statSync(join(root, 'state')).mode & 0o777).toBe(0o700);
    const before = readFileSync(databaseIn(join(root, 'state')));
    const outcomes = await Promise.all([
      session.read('state/lookfirst.db'),
      session.list('state'),
      session.write('state/lookfirst.json', '{}'),
      session.write('state/new/x', 'x'),
      session.edit('state/lookfirst.db', [{ oldString: 'a', newString: 'b' }]),
      session.delete('state/lookfirst.db'),
      session.delete('state', { recursive: true }),
      session.move('state', 'elsewhere'),
      session.move('a.txt', 'state/a.txt'),
      session.mkdir('state/folder'),
      session.info('state/lookfirst.db'),
    ]);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ ok: false, refusal: { code: 'PROTECTED' } });
    expect(readFileSync(databaseIn(join(root, 'state'))).length).toBeGreaterThanOrEqual(before.length);
    const found = await ok(session.find('**/*'));
    expect(JSON.stringify(found)).not.toContain('lookfirst.db');
    await session.close();
  });
});
