import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { changeEntry, delta, file, readEntry, sampleEntry } from '../../test/store/samples.ts';
import { scratch } from '../../test/support/tree.ts';
import { loadSqlite } from '../store/sqlite/driver.ts';
import { openMemoryStore, openSqliteStore } from '../store/sqlite/sqlite-store.ts';
import type { Store } from '../store/store.ts';
import { verifyChain } from './verify.ts';

async function filled(store: Store, count: number): Promise<Store> {
  const entries = Array.from({ length: count }, (_, i) =>
    i % 2 === 0
      ? readEntry({ atMs: i })
      : changeEntry(`c${i}`, [delta('a', file('x'), file('y'))], { path: 'a' }),
  );
  await store.record({ entries });
  return store;
}

describe('verifyChain', () => {
  it.each([0, 1, 999, 1000, 1001, 2500])('finds nothing wrong with %i untouched entries', async (count) => {
    const seen: number[] = [];
    const store = await filled(await openMemoryStore(), count);
    const report = await verifyChain(store, { onProgress: (done) => seen.push(done) });
    expect(report).toMatchObject({ ok: true, entries: count, head: { seq: count } });
    expect(seen.at(-1)).toBe(count);
  });

  it('begins where gc has cut the journal', async () => {
    const store = await filled(await openMemoryStore(), 30);
    await store.prune(12);
    expect(await verifyChain(store)).toMatchObject({ ok: true, entries: 18, checkpoint: { seq: 12 } });
    await store.prune(30);
    expect(await verifyChain(store)).toMatchObject({ ok: true, entries: 0 });
  });

  it('starts again if gc cuts the journal during the check', async () => {
    const store = await filled(await openMemoryStore(), 30);
    const checkLinks = store.checkLinks.bind(store);
    let pruned = false;
    Object.assign(store, {
      checkLinks: async (...page: Parameters<Store['checkLinks']>) => {
        if (!pruned) await store.prune(20);
        pruned = true;
        return checkLinks(...page);
      },
    });
    expect(await verifyChain(store)).toMatchObject({ ok: true, entries: 10 });
  });

  it.each<[string, string, { seq: number; problem: string }]>([
    [
      'altered content',
      `update entries set entry = replace(entry, '"y', '"z') where seq = 4`,
      { seq: 4, problem: 'altered' },
    ],
    [
      'added content',
      `update entries set entry = '{"text":"x"}' where seq = 5`,
      { seq: 5, problem: 'altered' },
    ],
    [
      'another session',
      `update entries set session = 'someone' where seq = 5`,
      { seq: 5, problem: 'altered' },
    ],
    ['another time', 'update entries set at_ms = 0 where seq = 5', { seq: 5, problem: 'altered' }],
    ['another path', `update entries set path = 'b' where seq = 5`, { seq: 5, problem: 'altered' }],
    ['another kind', `update entries set kind = 'notice' where seq = 5`, { seq: 5, problem: 'altered' }],
    [
      'a text stored as bytes, which filters do not find',
      'update entries set kind = cast(kind as blob) where seq = 5',
      { seq: 5, problem: 'altered' },
    ],
    ['another hash', `update entries set hash = 'x' where seq = 5`, { seq: 5, problem: 'altered' }],
    ['a removed entry', 'delete from entries where seq = 5', { seq: 5, problem: 'removed' }],
    ['the first entry removed', 'delete from entries where seq = 1', { seq: 1, problem: 'removed' }],
    ['the newest entries removed', 'delete from entries where seq > 7', { seq: 8, problem: 'removed' }],
    ['the newest entry removed', 'delete from entries where seq = 10', { seq: 10, problem: 'removed' }],
    [
      'an entry added after the newest one',
      'insert into entries select 11, at_ms, kind, session, root, path, change, entry, hash from entries where seq = 10',
      { seq: 11, problem: 'altered' },
    ],
    ['everything removed', 'delete from entries', { seq: 1, problem: 'removed' }],
    [
      'two entries exchanged',
      'update entries set seq = 0 where seq = 4; update entries set seq = 4 where seq = 6; update entries set seq = 6 where seq = 0',
      { seq: 4, problem: 'altered' },
    ],
    [
      'a removed entry, and the rest renumbered',
      'delete from entries where seq = 5; update entries set seq = seq - 1 where seq > 5',
      { seq: 5, problem: 'altered' },
    ],
    [
      'an inserted entry',
      'update entries set seq = 11 where seq = 10; insert into entries select 10, at_ms, kind, session, root, path, change, entry, hash from entries where seq = 9',
      { seq: 10, problem: 'altered' },
    ],
  ])('detects: %s', async (_what, sql, problem) => {
    const path = join(scratch().home, 'state.db');
    const store = await openSqliteStore(path);
    onTestFinished(() => store.close());
    await filled(store, 10);
    expect(await verifyChain(store)).toMatchObject({ ok: true });
    const db = (await loadSqlite())(path);
    db.exec(sql);
    db.close();
    expect(await verifyChain(store)).toEqual({ ok: false, ...problem });
  });

  it('finds nothing wrong with entries, whatever they contain', async () => {
    const store = await openSqliteStore(join(scratch().home, 'state.db'));
    onTestFinished(() => store.close());
    const strange = [
      '',
      'quote " backslash \\ "',
      'line\nbreak',
      'ü €𝄞',
      '{"a":[1,2]}',
      ',',
      'nul \0',
      '\u0001x',
    ];
    await filled(store, 10);
    for (const text of strange) {
      const { path: _, ...root } = sampleEntry('turn', { session: text, text, label: text, turn: 't' });
      await store.record({ entries: [readEntry({ path: text, session: text }), root] });
      await store.record({
        entries: [changeEntry(text, [delta(text, file('x'), file('y')), delta('b', file('x'), file(text))])],
      });
    }
    expect(await verifyChain(store)).toMatchObject({ ok: true });
  });
});
