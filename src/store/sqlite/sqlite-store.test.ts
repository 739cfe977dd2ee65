import { hash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { storeConformance } from '../../../test/store/conformance.ts';
import { listed } from '../../../test/store/images-conformance.ts';
import {
  BARE_SIGHTING,
  changeEntry,
  delta,
  FULL_SIGHTING,
  file,
  pendingChange,
  ROOT,
  readEntry,
} from '../../../test/store/samples.ts';
import { startChild } from '../../../test/support/child.ts';
import { rounds } from '../../../test/support/rounds.ts';
import { scratch } from '../../../test/support/tree.ts';
import { verifyChain } from '../../journal/verify.ts';
import { knownOf } from '../../judge/known.ts';
import type { State } from '../../model/delta.ts';
import type { Images } from '../images.ts';
import { lastChange } from '../store.ts';
import { loadSqlite } from './driver.ts';
import { entriesQuery } from './entry-rows.ts';
import { openMemoryStore, openSqliteStore } from './sqlite-store.ts';
import { Users } from './users.ts';

storeConformance('sqlite', () => openSqliteStore(join(scratch().home, 'deep/er/state.db')));
storeConformance('sqlite in memory', openMemoryStore);

it('keeps the entries of very many reads that nothing has queried yet', async () => {
  const store = await openMemoryStore();
  const count = 20_000;
  for (let done = 0; done < count; done += 1) await store.note({ views: [], entries: [readEntry()] });
  expect(await store.entries({ limit: 1 })).toMatchObject([{ seq: count }]);
  expect((await store.state()).head.seq).toBe(count);
  await store.close();
});

describe('queries of a long journal', () => {
  it.each([
    ['of one session', { session: 's' }, 'entries_of_session'],
    ['of one change', { change: 'c' }, 'entries_of_change'],
    ['changes of one session', { session: 's', kinds: ['change'], limit: 10 }, 'entries_of_session'],
    ['all changes', { kinds: ['change'], order: 'oldest' }, 'change_entries'],
    ['the newest refusals', { kinds: ['refusal'], near: ['/w'], limit: 10 }, 'refusal_entries'],
    ['the newest turns', { kinds: ['turn'], near: ['/w'], limit: 10 }, 'turn_entries'],
    ['turns and changes', { kinds: ['turn', 'change'], order: 'oldest' }, 'turn_entries'],
    ['refusals of one session', { session: 's', kinds: ['refusal'] }, 'rare_entries'],
    ['events and turns of one session', { session: 's', kinds: ['session', 'turn'] }, 'rare_entries'],
    ['refusals and looks of one session', { session: 's', kinds: ['refusal', 'look'] }, 'entries_of_session'],
  ] as const)('%s use an index', async (_what, filter, index) => {
    const path = join(scratch().home, 'state.db');
    const store = await openSqliteStore(path);
    const { sql, values } = entriesQuery(filter);
    const plan = (await rawDatabase(path)).prepare(`explain query plan ${sql}`).all(...values);
    expect(JSON.stringify(plan)).toContain(index);
    await store.close();
  });
});

it("finds another connection's changes at once", async () => {
  const path = join(scratch().home, 'state.db');
  const [store, other] = [await openSqliteStore(path), await openSqliteStore(path)];
  expect(other.changesSince({ sinceMs: 0 })).toEqual([]);
  await store.record({ entries: [changeEntry('c1', [], { atMs: 10 })] });
  expect(other.changesSince({ sinceMs: 0 })).toMatchObject([{ change: 'c1' }]);
  await store.close();
  await other.close();
});

describe('views of a session that had none', () => {
  const view = (key: string) => ({ session: 's', view: { sighting: { ...FULL_SIGHTING, key } } });

  it('are found, although the file was not looked up before', async () => {
    const store = await openMemoryStore();
    expect(store.recall('s', '/w/a')).toMatchObject({ views: [] });
    await store.record({ views: [view('/w/b')] });
    expect(store.recall('s', '/w/b')?.views).toHaveLength(1);
    expect(store.recall('s', '/w/a')?.views).toEqual([]);
    await store.close();
  });

  it('are found after so many look-ups that the cache was emptied before they were stored', async () => {
    const store = await openMemoryStore();
    store.recall('s', '/w/a');
    await store.note({ views: [view('/w/a')], entries: [] });
    for (let n = 0; n < 1001; n += 1) store.recall('s', `/w/${n}`);
    expect(await store.sightings('s')).toHaveLength(1);
    expect(store.recall('s', '/w/a')?.views).toHaveLength(1);
    await store.close();
  });

  it('are found when another process has written them', async () => {
    const path = join(scratch().home, 'state.db');
    const [store, other] = [await openSqliteStore(path), await openSqliteStore(path)];
    expect(store.recall('s', '/w/a')?.views).toEqual([]);
    await other.record({ views: [view('/w/a')] });
    expect(store.recall('s', '/w/a')?.views).toHaveLength(1);
    await store.close();
    await other.close();
  });
});

describe('pending changes', () => {
  it('are found at once, whichever connection announced and settled them', async () => {
    const path = join(scratch().home, 'state.db');
    const stores = [await openSqliteStore(path), await openSqliteStore(path)];
    const open = new Set<string>();
    // `order` encodes five steps: the connection of each, and whether the step announces a change
    // or records the end of an announced one (`settle`).
    for (let order = 0; order < 4 ** 5; order += rounds(29, 1)) {
      for (let step = 0; step < 5; step += 1) {
        const what = Math.floor(order / 4 ** step) % 4;
        const [first] = open;
        const change = what > 1 && first !== undefined ? first : `c${order}-${step}`;
        const settles = change === first;
        await stores[what % 2]?.record(settles ? { settle: [change] } : { announce: pendingChange(change) });
        if (settles) open.delete(change);
        else open.add(change);
        for (const store of stores)
          expect(new Set((await store.pending()).map((pending) => pending.change))).toEqual(open);
      }
    }
    for (const store of stores) await store.close();
  });

  it('are read from the table again after a failed record', async () => {
    const store = await openSqliteStore(join(scratch().home, 'state.db'));
    await store.pending();
    await store.record({ announce: pendingChange('kept') });
    // The entry cannot be written as JSON, so `record` fails as a whole, and the change stays
    // unfinished.
    const entries = [changeEntry('kept', [], { atMs: 1n as unknown as number })];
    await expect(store.record({ settle: ['kept'], entries })).rejects.toThrow();
    expect((await store.pending()).map(({ change }) => change)).toEqual(['kept']);
    await store.close();
  });
});

describe('the last change of a file', () => {
  it('is the newest one, even if an older one was read before', async () => {
    const path = join(scratch().home, 'state.db');
    const [store, other] = [await openSqliteStore(path), await openSqliteStore(path)];
    const deltas = [delta('a.ts', file('x'), file('y'))];
    const last = async (): Promise<string | undefined> => (await lastChange(store, `${ROOT}/a.ts`))?.change;
    expect(await last()).toBeUndefined();
    await store.record({ entries: [changeEntry('c1', deltas)] });
    expect([await last(), await last()]).toEqual(['c1', 'c1']);
    await other.record({ entries: [changeEntry('c2', deltas)] });
    expect(await last()).toBe('c2');
    await store.close();
    await other.close();
  });
});

describe('the database file', () => {
  it('is created private to its owner, with missing parent folders', async () => {
    const { home } = scratch();
    const store = await openSqliteStore(join(home, 'deep/state.db'));
    await store.record({ entries: [readEntry()] });
    expect(statSync(join(home, 'deep')).mode & 0o777).toBe(0o700);
    for (const name of ['state.db', 'state.db-wal', 'state.db-shm'])
      expect(statSync(join(home, 'deep', name)).mode & 0o777, name).toBe(0o600);
    expect((await store.state()).bytes).toBeGreaterThan(4096);
    await store.close();
  });

  it('keeps its data after it was closed and opened again', async () => {
    const path = join(scratch().home, 'state.db');
    const first = await openSqliteStore(path);
    await first.record({
      entries: [readEntry()],
      views: [{ session: 's', view: { sighting: BARE_SIGHTING } }],
    });
    const before = [await first.entries({}), await first.sightings('s'), (await first.state()).head];
    await first.close();
    const again = await openSqliteStore(path);
    expect([await again.entries({}), await again.sightings('s'), (await again.state()).head]).toEqual(before);
    await again.close();
  });

  it('is not changed by opening it, and can be opened while another process writes', async () => {
    const path = join(scratch().home, 'state.db');
    const first = await openSqliteStore(path);
    await first.record({ entries: [readEntry()] });
    const bytes = (): number => statSync(`${path}-wal`).size;
    const before = bytes();
    const writer = (await loadSqlite())(path);
    writer.exec('begin immediate');
    const second = await openSqliteStore(path);
    expect(await second.entries({})).toHaveLength(1);
    writer.exec('rollback');
    writer.close();
    await second.close();
    expect(bytes()).toBe(before);
    await first.close();
  });

  it('shrinks when entries are pruned', async () => {
    const path = join(scratch().home, 'state.db');
    const store = await openSqliteStore(path);
    const entry = changeEntry('c', [delta('a.ts', file('x'), file('y'))], { text: 'long '.repeat(100) });
    for (let i = 0; i < 5; i++) await store.record({ entries: Array.from({ length: 1000 }, () => entry) });
    const before = (await store.state()).bytes;
    expect(await store.prune(4900)).toBe(4900);
    expect((await store.state()).bytes).toBeLessThan(before / 5);
    expect(statSync(path).size).toBeLessThan(600_000);
    expect(await store.entries({ key: `${ROOT}/a.ts`, kinds: ['change'] })).toHaveLength(100);
    await store.close();
    await emptyWal(path);
    expect(statSync(path).size).toBeLessThan(600_000);
  });
});

it('lets others write between large entries while it prunes them', async () => {
  const path = join(scratch().home, 'state.db');
  const [store, other] = [await openSqliteStore(path), await openSqliteStore(path)];
  const deltas = Array.from({ length: 12_000 }, (_, i) => delta(`src/file-${i}.ts`, file('x'), file('y')));
  for (const change of ['c1', 'c2', 'c3', 'c4'])
    await store.record({ entries: [changeEntry(change, deltas)] });
  const written: Promise<void>[] = [];
  const writing = setInterval(() => written.push(other.record({ entries: [readEntry()] })), 0);
  expect(await store.prune(3)).toBe(3);
  clearInterval(writing);
  expect(written.length).toBeGreaterThan(0);
  await Promise.all(written);
  expect(await store.entries({ key: `${ROOT}/src/file-1.ts`, kinds: ['change'] })).toHaveLength(1);
  expect(await verifyChain(store)).toMatchObject({ ok: true });
  await store.close();
  await other.close();
});

describe('opening a database fails with a fault that names it:', () => {
  const ENTRIES = Array.from({ length: 500 }, () => readEntry());

  it.each([
    ['text instead of a database', (path: string) => writeFileSync(path, 'hello '.repeat(1000)), /damaged/],
    ['a folder in its place', (path: string) => mkdirSync(path), /state\.db/],
  ])('%s', async (_what, spoil, sentence) => {
    const path = join(scratch().home, 'state.db');
    spoil(path);
    const opening = openSqliteStore(path);
    await expect(opening).rejects.toMatchObject({ code: 'STORE_FAILED', path });
    await expect(opening).rejects.toThrow(sentence);
  });

  it('overwritten pages: a failed read is never an empty answer', async () => {
    const path = join(scratch().home, 'state.db');
    const store = await openSqliteStore(path);
    await store.record({ entries: ENTRIES, views: [{ session: 's', view: { sighting: BARE_SIGHTING } }] });
    await store.close();
    await emptyWal(path);
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 4096 * 2);
    writeFileSync(path, bytes);
    const damaged = await openSqliteStore(path).catch((fault: unknown) => fault);
    if (damaged instanceof Error) return expect(damaged).toMatchObject({ code: 'STORE_FAILED' });
    const opened = damaged as Awaited<ReturnType<typeof openSqliteStore>>;
    const recalled = (async () => opened.recall('s', BARE_SIGHTING.key))();
    await expect(recalled).rejects.toMatchObject({ code: 'STORE_FAILED', path });
    await expect(opened.entries({})).rejects.toThrow(/damaged/);
    await expect(opened.record({ entries: [readEntry()] })).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await opened.close();
  });

  it('cut in half', async () => {
    const path = join(scratch().home, 'state.db');
    const store = await openSqliteStore(path);
    await store.record({ entries: ENTRIES });
    await store.close();
    await emptyWal(path);
    truncateSync(path, statSync(path).size / 2);
    const reading = openSqliteStore(path).then((opened) => opened.entries({}));
    await expect(reading).rejects.toMatchObject({ code: 'STORE_FAILED', path });
  });

  it.each([
    ['a folder that may not be written', (home: string) => chmodSync(home, 0o500)],
    ['a file that may not be written', (home: string) => chmodSync(join(home, 'state.db'), 0o400)],
  ])('%s', async (_what, forbid) => {
    const { base, home } = scratch();
    const path = join(home, 'state.db');
    chmodSync(base, 0o755);
    chmodSync(home, 0o777);
    await withoutPrivileges(async () => (await openSqliteStore(path)).close());
    forbid(home);
    await withoutPrivileges(async () => {
      await expect(openSqliteStore(path)).rejects.toMatchObject({ code: 'STORE_FAILED', path });
    });
  });

  it('a newer schema: the fault names the version and says what to do', async () => {
    const path = join(scratch().home, 'state.db');
    await (await openSqliteStore(path)).close();
    (await rawDatabase(path)).exec('pragma user_version = 99');
    await expect(openSqliteStore(path)).rejects.toThrow(/has schema version 99.*up to \d+.*update Lookfirst/);
    const fault = { code: 'STORE_FAILED', path, reason: 'newer' };
    await expect(openSqliteStore(path)).rejects.toMatchObject(fault);
  });

  it("another program's database is left alone", async () => {
    const path = join(scratch().home, 'state.db');
    (await rawDatabase(path)).exec('create table bookmarks (url text)');
    await expect(openSqliteStore(path)).rejects.toThrow(/another program's database/);
    const tables = (await rawDatabase(path)).prepare('select name from sqlite_master').all();
    expect(tables).toHaveLength(1);
  });
});

it('a clean-up removes views that later ones of the same file have replaced', async () => {
  const path = join(scratch().home, 'state.db');
  const store = await openSqliteStore(path);
  const views = (key: string, count: number) =>
    Array.from({ length: count }, (_, atMs) => ({
      session: 's',
      view: { sighting: { ...FULL_SIGHTING, key, atMs } },
    }));
  const marks = [
    { session: 's', mark: { lost: 'rewound', keeps: 'nothing', afterMs: 5, untilMs: 6 } as const },
  ];
  await store.record({ views: [...views('/a', 40), ...views('/b', 3)], marks });
  const before = store.recall('s', '/a');
  expect(await store.prune(0)).toBe(0);
  const rows = (await rawDatabase(path)).prepare('select key, count(*) as n from views group by key').all();
  expect(rows).toMatchObject([
    { key: '', n: 1 },
    { key: '/a', n: 16 },
    { key: '/b', n: 3 },
  ]);
  await store.close();
  const again = await openSqliteStore(path);
  expect(again.recall('s', '/a')).toEqual(before);
  await again.close();
});

describe('a database of an older Lookfirst', () => {
  /** Makes an older database with a finished and an unfinished change, and returns its path. */
  async function older(): Promise<string> {
    const path = join(scratch().home, 'lookfirst.db');
    const store = await openSqliteStore(path);
    const shared = ['needed', 'of another change'].map((text) => {
      const bytes = Buffer.from(text);
      return { bytes, fingerprint: { sha256: hash('sha256', bytes), size: bytes.length } };
    });
    const before = { kind: 'file', fingerprint: shared[0]?.fingerprint, mode: 0o644, kept: true } as State;
    const pending = pendingChange('c2');
    const deltas = [delta('a', before, file('y'))];
    await store.record({ entries: [changeEntry('c1', deltas)] });
    const entry = { ...pending.entry, deltas };
    await store.record({ announce: { ...pending, entry }, images: { shared, here: [] } });
    await store.close();
    const db = (await loadSqlite())(path);
    db.exec('pragma user_version = 9');
    db.close();
    return path;
  }

  it('is set aside with one sentence; the new one has its unfinished changes and what they need', async () => {
    const path = await older();
    const store = await openSqliteStore(path);
    onTestFinished(() => store.close());
    const [aside] = readdirSync(dirname(path)).filter((name) => /^lookfirst\.db\.older-\w+$/.test(name));
    expect(store.warnings).toEqual([
      `the state database was written by an older Lookfirst. It was moved to ${join(dirname(path), aside ?? '')} and a new one was begun: every file counts as unread, and earlier changes can no longer be undone`,
    ]);
    const texts = (await store.entries({})).map(({ kind, text }) => [kind, text]);
    expect(texts).toEqual([['notice', store.warnings[0]]]);
    expect((await store.pending()).map(({ change }) => change)).toEqual(['c2']);
    expect(await listed(store.images as Images)).toMatchObject([{ bytes: 'needed'.length }]);
    await store.close();
    const again = await openSqliteStore(path);
    expect(again.warnings).toEqual([]);
    await again.close();
  });

  it('is left alone while another process uses it', async () => {
    const path = await older();
    const user = await Users.join(path);
    await expect(openSqliteStore(path)).rejects.toThrow(
      /an older Lookfirst wrote it and it cannot be set aside while another process uses it; end all other/,
    );
    user.leave();
    await (await openSqliteStore(path)).close();
  });
});

describe('a second process', () => {
  it('sees records of the first as soon as they are acknowledged, and vice versa', async () => {
    const path = join(scratch().home, 'state.db');
    const store = await openSqliteStore(path);
    const child = await startChild('store-writer', { file: path, name: 'child', records: 3, tellEvery: 1 });
    await child.message();
    child.send('go');
    const { seq, hash } = await child.message<{ seq: number; hash: string }>();
    expect(await store.entries({ afterSeq: 0, beforeSeq: 2 })).toMatchObject([
      { seq, hash, session: 'child' },
    ]);
    expect(knownOf(store.recall('child', '/key/1'))).toMatchObject({ totalLines: 1 });
    await child.exit();
    await store.record({ entries: [readEntry()] });
    expect(await store.entries({ limit: 1 })).toMatchObject([{ seq: 4 }]);
    await store.close();
  });
});

async function rawDatabase(path: string): Promise<ReturnType<Awaited<ReturnType<typeof loadSqlite>>>> {
  const db = (await loadSqlite())(path);
  onTestFinished(() => db.close());
  return db;
}

/** Moves everything from the write-ahead log to the main database file. */
async function emptyWal(path: string): Promise<void> {
  (await rawDatabase(path)).exec('pragma wal_checkpoint(truncate)');
}

/** Runs work as an unprivileged user, because permissions do not restrict root. */
async function withoutPrivileges(work: () => Promise<void>): Promise<void> {
  const root = process.geteuid?.() === 0;
  if (root) process.seteuid?.(65534);
  try {
    await work();
  } finally {
    if (root) process.seteuid?.(0);
  }
}
