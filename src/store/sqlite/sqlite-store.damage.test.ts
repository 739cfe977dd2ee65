import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  changeEntry,
  delta,
  file as fileState,
  pendingChange,
  readEntry,
  sessionRecord,
} from '../../../test/store/samples.ts';
import { startChild } from '../../../test/support/child.ts';
import { scratch } from '../../../test/support/tree.ts';
import { verifyChain } from '../../journal/verify.ts';
import type { Store } from '../store.ts';
import { loadSqlite } from './driver.ts';
import { openSqliteStore } from './sqlite-store.ts';

const GARBAGE = Buffer.from('not a database, and long enough to be looked at'.repeat(200));

/** The files of a state folder, by name. */
type Files = readonly (readonly [string, Buffer])[];
const made = new Map<number, Promise<Files>>();

/**
 * Makes a database with entries in a new folder. All processes have closed it, so its main file is
 * complete.
 */
async function filled(entries = 50): Promise<{ home: string; file: string }> {
  const files = made.get(entries) ?? makeDatabase(entries);
  made.set(entries, files);
  const { home } = scratch();
  for (const [name, bytes] of await files) writeFileSync(join(home, name), bytes);
  return { home, file: join(home, 'lookfirst.db') };
}

async function makeDatabase(entries: number): Promise<Files> {
  const { home } = scratch();
  const file = join(home, 'lookfirst.db');
  const child = await startChild('store-writer', { file, name: 'w', records: entries, tellEvery: entries });
  await child.message();
  child.send('go');
  await child.exit();
  const db = (await loadSqlite())(file);
  db.exec('pragma wal_checkpoint(truncate)');
  db.close();
  expect(existsSync(`${file}-wal`)).toBe(false);
  return readdirSync(home).map((name) => [name, readFileSync(join(home, name))]);
}

/** Overwrites the first page of a table. Opening the database does not read that page. */
async function damagePage(file: string, table: string): Promise<void> {
  const db = (await loadSqlite())(file);
  const query = db.prepare('select rootpage as page from sqlite_master where name = ?');
  const { page } = query.get(table) as { page: number };
  db.close();
  const bytes = readFileSync(file);
  bytes.fill(0xa5, (page - 1) * 4096, page * 4096);
  writeFileSync(file, bytes);
}

async function open(file: string, damaged: 'fail' | 'set-aside' = 'set-aside'): Promise<Store> {
  const store = await openSqliteStore(file, { damaged });
  onTestFinished(() => store.close());
  return store;
}

describe('a database that is damaged at the start', () => {
  it.each<[string, (file: string) => void]>([
    ['overwritten', (file) => writeFileSync(file, GARBAGE)],
    ['cut in the middle', (file) => truncateSync(file, Math.floor(statSync(file).size / 2 / 4096) * 4096)],
  ])('%s is set aside, and a new empty one reports it', async (_how, damage) => {
    const { home, file } = await filled();
    writeFileSync(join(home, 'lookfirst.json'), '{}');
    damage(file);
    const bytes = readFileSync(file);
    const store = await open(file);
    const [aside = ''] = readdirSync(home).filter((name) => /^lookfirst\.db\.damaged-[^-]+$/.test(name));
    expect(readFileSync(join(home, aside)).equals(bytes)).toBe(true);
    expect(store.warnings).toEqual([expect.stringContaining(aside)]);
    expect(await store.entries({})).toMatchObject([
      { kind: 'notice', text: expect.stringContaining(aside), root: '/' },
    ]);
    expect(await verifyChain(store)).toMatchObject({ ok: true });
    expect(existsSync(join(home, 'lookfirst.json'))).toBe(true);
  });

  it('is set aside once if several connections open it at the same time', async () => {
    const { home, file } = await filled();
    writeFileSync(file, GARBAGE);
    const stores = await Promise.all(Array.from({ length: 4 }, () => open(file)));
    expect(stores.flatMap(({ warnings }) => warnings)).toHaveLength(1);
    for (const store of stores) await store.record({ announce: pendingChange('c1'), settle: ['c1'] });
    expect(readdirSync(home).filter((name) => /damaged-\w+$/.test(name))).toHaveLength(1);
  });

  it('is set aside if its damage was found only while it was in use', async () => {
    const { file } = await filled(1000);
    await damagePage(file, 'touches');
    const store = await openSqliteStore(file, { damaged: 'set-aside' });
    expect(store.warnings).toEqual([]);
    const change = changeEntry('c1', [delta('a', fileState('x'), fileState('y'))]);
    await expect(store.record({ entries: [change] })).rejects.toThrow(
      /damaged; restart the Lookfirst server/,
    );
    await store.close();
    await expect(open(file, 'fail')).rejects.toThrow(/damaged; restart the Lookfirst server/);
    const next = await open(file);
    expect(next.warnings).toHaveLength(1);
    await next.record({ entries: [readEntry()] });
  });

  it('is set aside at once if its newest entry cannot be read', async () => {
    const { file } = await filled(1000);
    await damagePage(file, 'entries');
    const store = await open(file);
    expect(store.warnings).toHaveLength(1);
    await store.record({ entries: [readEntry()] });
  });

  it('is kept if a check finds no damage after all', async () => {
    const { file } = await filled();
    writeFileSync(`${file}.suspect`, '');
    const store = await open(file);
    expect([store.warnings, (await store.entries({})).length]).toEqual([[], 50]);
    expect(existsSync(`${file}.suspect`)).toBe(false);
  });

  it('is left unchanged by a program that only reads it', async () => {
    const { home, file } = await filled();
    writeFileSync(file, GARBAGE);
    await expect(open(file, 'fail')).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(readdirSync(home).filter((name) => name.includes('damaged'))).toEqual([]);
  });

  it('is left unchanged while another process uses it', async () => {
    const { home, file } = await filled();
    const child = await startChild('store-writer', { file, name: 'other', records: 1, tellEvery: 1 });
    await child.message();
    writeFileSync(file, GARBAGE);
    await expect(open(file)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      reason: 'damaged',
      message: expect.stringContaining('end all other Lookfirst processes'),
    });
    expect(readdirSync(home).filter((name) => name.includes('damaged'))).toEqual([]);
  });

  it('is not assumed if the database is only locked or not writable', async () => {
    const { home, file } = await filled();
    const other = (await loadSqlite())(file);
    other.exec('pragma locking_mode = exclusive; begin exclusive');
    await expect(open(file)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    other.close();
    expect(readdirSync(home).filter((name) => name.includes('damaged'))).toEqual([]);
  });
});

describe('a single record that is damaged', () => {
  async function damaged(sql: string): Promise<Store> {
    const { file } = await filled();
    const store = await open(file);
    for (const id of ['s', 't']) await store.record({ session: sessionRecord(id) });
    await store.record({ announce: pendingChange('c1') });
    const db = (await loadSqlite())(file);
    db.exec(sql);
    db.close();
    return store;
  }

  it.each(['{"id"', 'null', '7'])('counts as no session: %s', async (text) => {
    const store = await damaged(`update sessions set record = '${text}' where id = 's'`);
    expect(await store.session('s')).toBeUndefined();
    expect((await store.sessions()).map(({ id }) => id)).toEqual(['t']);
  });

  it('can be replaced', async () => {
    const store = await damaged(`update sessions set record = '{"id"' where id = 's'`);
    await store.record({ session: sessionRecord('s') });
    expect(await store.session('s')).toMatchObject({ id: 's' });
  });

  it('is a fault that names the change and a remedy, if it is about an unfinished change', async () => {
    const store = await damaged(`update pending set announced = '{"change"'`);
    await expect(store.pending()).rejects.toMatchObject({
      code: 'STORE_FAILED',
      reason: 'damaged',
      message: expect.stringMatching(/unfinished change c1 is damaged; end all Lookfirst processes/),
    });
  });
});

describe('every later change fails after a database was damaged while open:', () => {
  it.each<[string, (file: string) => void, string]>([
    ['truncated', (file) => truncateSync(file, 0), 'was truncated'],
    ['cut', (file) => truncateSync(file, 4096), 'was truncated'],
    ['deleted', (file) => rmSync(file), 'was removed or replaced'],
    ['its log deleted', (file) => rmSync(`${file}-wal`), 'lost its write-ahead log'],
    ['its log truncated', (file) => truncateSync(`${file}-wal`, 0), 'lost its write-ahead log'],
    [
      'replaced',
      (file) => {
        copyFileSync(file, `${file}.copy`);
        rmSync(file);
        copyFileSync(`${file}.copy`, file);
      },
      'was removed or replaced',
    ],
  ])('%s', async (_how, damage, what) => {
    const { file } = await filled();
    const store = await open(file);
    await store.record({ announce: pendingChange('c1') });
    damage(file);
    const logs = existsSync(`${file}-wal`);
    for (const change of ['c2', 'c3'])
      await expect(store.record({ announce: pendingChange(change) })).rejects.toMatchObject({
        code: 'STORE_FAILED',
        reason: 'lost',
        message: expect.stringMatching(new RegExp(`${what}.*: restart Lookfirst`)),
      });
    expect(existsSync(`${file}-wal`)).toBe(logs);
  });

  it('but not after gc has made the database file smaller', async () => {
    const { file } = await filled(1000);
    const [store, other] = [await open(file), await open(file)];
    await store.record({ announce: pendingChange('c1') });
    const before = statSync(file).size;
    await other.prune(950);
    const checkpointing = (await loadSqlite())(file);
    checkpointing.exec('pragma wal_checkpoint(passive)');
    checkpointing.close();
    expect(statSync(file).size).toBeLessThan(before);
    await store.record({ announce: pendingChange('c2') });
  });
});

describe('the end of the journal is also stored outside the database', () => {
  it.each<[string, string]>([
    ['all', 'delete from entries; delete from touches'],
    ['the newest entries', 'delete from entries where seq > 30'],
  ])('so verification detects a journal that lost %s', async (_what, sql) => {
    const { file } = await filled();
    const db = (await loadSqlite())(file);
    db.exec(sql);
    db.close();
    expect(await verifyChain(await open(file, 'fail'))).toMatchObject({ ok: false, problem: 'removed' });
    const warned = expect.stringMatching(/journal entries/);
    const store = await open(file);
    expect(store.warnings).toEqual([warned]);
    expect(await store.entries({ kinds: ['notice'] })).toMatchObject([{ root: '/', text: warned }]);
    await store.close();
    expect((await open(file)).warnings).toEqual([]);
  });

  it('so verification detects that an empty database replaced the journal', async () => {
    const { file } = await filled();
    rmSync(file);
    expect(await verifyChain(await open(file, 'fail'))).toEqual({ ok: false, seq: 1, problem: 'removed' });
  });

  it('and stays valid after pruning and further entries', async () => {
    const { file } = await filled();
    const store = await open(file);
    await store.prune(50);
    expect(await verifyChain(store)).toMatchObject({ ok: true });
    await store.record({ entries: [readEntry()] });
    expect(await verifyChain(store)).toMatchObject({ ok: true, entries: 1 });
  });
});

it('a second connection of one process does not let another process delete the log of the first', async () => {
  const { file } = await filled();
  const first = await open(file);
  await (await openSqliteStore(file)).close();
  const passing = await startChild('store-writer', { file, name: 'other', records: 1, tellEvery: 1 });
  await passing.message();
  passing.send('go');
  await passing.exit();
  expect(existsSync(`${file}-wal`)).toBe(true);
  await first.record({ announce: pendingChange('c1') });
});
