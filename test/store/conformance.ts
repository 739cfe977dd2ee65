import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { knownOf } from '../../src/judge/known.ts';
import type { Entry, EntryKind, NewChangeEntry } from '../../src/model/entry.ts';
import type { Sighting } from '../../src/model/sighting.ts';
import { CHAIN_START } from '../../src/store/chain.ts';
import {
  type EntryFilter,
  lastChange,
  type Notes,
  type RecentChanges,
  type Store,
  type Writes,
} from '../../src/store/store.ts';
import {
  ABSENT,
  BARE_SIGHTING,
  changeEntry,
  delta,
  FULL_SIGHTING,
  file,
  follows,
  pendingChange,
  ROOT,
  readEntry,
  sampleEntry,
  sessionRecord,
} from './samples.ts';

/** Tests the rules that every store must keep. `open` returns an empty store each time. */
export function storeConformance(name: string, open: () => Promise<Store>): void {
  describe(`${name} keeps the contract of stores:`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(async () => {
      await store.close();
    });
    sightings(() => store);
    journal(() => store);
    filters(() => store);
    bookkeeping(() => store);
    transactions(() => store);
    notes(() => store);
    recent(() => store);
    pruning(() => store);
  });
}

async function known(store: Store, session: string, key: string): Promise<Sighting | undefined> {
  return knownOf((await store.recallMany(session, [key])).get(key));
}

function sightings(store: () => Store): void {
  const seen = { ...BARE_SIGHTING, fingerprint: { sha256: 'a'.repeat(64), size: 1 }, atMs: 10 };
  const view = (sighting: Sighting): Writes => ({ views: [{ session: 's', view: { sighting } }] });

  it.each([
    [
      'compacted',
      { lost: 'compacted', keeps: 'stamp' },
      { lost: 'compacted', fingerprint: seen.fingerprint },
    ],
    ['all is lost', { lost: 'compacted', keeps: 'nothing' }, { lost: 'compacted', fingerprint: undefined }],
    ['rewound', { lost: 'rewound', keeps: 'nothing', afterMs: 9 }, { lost: 'rewound' }],
    ['rewound to a later time', { lost: 'rewound', keeps: 'nothing', afterMs: 10 }, seen],
    ['rewound before', { lost: 'rewound', keeps: 'nothing', afterMs: 1, untilMs: 9 }, seen],
  ] as const)(
    'a view counts no more after a loss, and a later one does: %s',
    async (_what, mark, expected) => {
      await store().note({ views: [{ session: 's', view: { sighting: seen } }], entries: [] });
      await store().record({ marks: [{ session: 's', mark }] });
      expect(await known(store(), 's', seen.key)).toMatchObject(expected);
      expect(await store().sightings('s')).toMatchObject([expected]);
      const later = { ...seen, atMs: 12, totalLines: 7 };
      await store().record(view(later));
      expect(await known(store(), 's', seen.key)).toMatchObject(later);
    },
  );

  it('a view counts for calls of its process that arrive later, and for every call of another', async () => {
    await store().record({ views: [{ session: 's', view: { sighting: seen, since: 5 } }] });
    const found = (await store().recallMany('s', [seen.key])).get(seen.key);
    expect([4, 5, 6].map((moment) => knownOf(found, moment)?.atMs)).toEqual([undefined, 10, 10]);
  });

  it.each([
    ['every field set', FULL_SIGHTING],
    ['no optional field', BARE_SIGHTING],
    ['a whole view', { ...FULL_SIGHTING, coverage: { kind: 'whole' } } as Sighting],
    ['no tombstone', { ...FULL_SIGHTING, tombstone: false }],
    ['a key with a NUL and a lone surrogate', { ...FULL_SIGHTING, key: '/a\0b\ud800' }],
    ['a key that looks escaped', { ...FULL_SIGHTING, key: '\u0001"x"' }],
  ])('a sighting is recalled exactly as recorded: %s', async (_what, sighting) => {
    await store().record({ views: [{ session: 's', view: { sighting } }] });
    expect(await known(store(), 's', sighting.key)).toEqual(sighting);
    expect(await store().sightings('s')).toEqual([sighting]);
  });

  it('a sighting belongs to one session and one key', async () => {
    await store().record({ views: [{ session: 's', view: { sighting: FULL_SIGHTING } }] });
    expect(await known(store(), 'other', FULL_SIGHTING.key)).toBeUndefined();
    expect(await known(store(), 's', BARE_SIGHTING.key)).toBeUndefined();
    expect(await store().sightings('other')).toEqual([]);
  });

  it('sessions whose names differ only in a lone surrogate or after a NUL stay apart', async () => {
    for (const session of ['\ud800', '\ud801', 'a\0b', 'a\0c', 'a'])
      await store().record({
        views: [
          {
            session,
            view: { sighting: { ...BARE_SIGHTING, pages: [{ from: 1, to: 2, sha256: session }] } },
          },
        ],
      });
    for (const session of ['\ud800', '\ud801', 'a\0b', 'a\0c', 'a'])
      expect((await known(store(), session, BARE_SIGHTING.key))?.pages?.[0]?.sha256).toBe(session);
  });

  it('the newest sighting of a key replaces the one before', async () => {
    await store().record({ views: [{ session: 's', view: { sighting: BARE_SIGHTING } }] });
    const newer = { ...BARE_SIGHTING, atMs: 7 };
    await store().record({ views: [{ session: 's', view: { sighting: newer } }] });
    expect(await store().sightings('s')).toEqual([newer]);
  });

  it('several sightings are recalled together; keys without a sighting are omitted', async () => {
    await store().record({
      views: [FULL_SIGHTING, BARE_SIGHTING].map((sighting) => ({ session: 's', view: { sighting } })),
    });
    await store().note({
      views: [{ session: 's', view: { sighting: { ...BARE_SIGHTING, atMs: 9 } } }],
      entries: [readEntry()],
    });
    const found = await store().recallMany('s', [BARE_SIGHTING.key, '/never/seen', FULL_SIGHTING.key]);
    expect([...found].map(([key, seen]) => [key, knownOf(seen)])).toEqual([
      [BARE_SIGHTING.key, { ...BARE_SIGHTING, atMs: 9 }],
      [FULL_SIGHTING.key, FULL_SIGHTING],
    ]);
    const many = Array.from({ length: 2000 }, (_, index) => `/never/seen/${index}`);
    expect([...(await store().recallMany('s', [...many, ...found.keys()])).keys()]).toEqual([
      ...found.keys(),
    ]);
    expect(await store().recallMany('other', [FULL_SIGHTING.key])).toEqual(new Map());
    expect(await store().recallMany('other', [...many, FULL_SIGHTING.key])).toEqual(new Map());
    expect(await store().recallMany('s', [])).toEqual(new Map());
  });

  it('all sightings of a session can be forgotten', async () => {
    const both = [FULL_SIGHTING, BARE_SIGHTING];
    await store().record({ views: both.map((sighting) => ({ session: 's', view: { sighting } })) });
    await store().record({ views: both.map((sighting) => ({ session: 't', view: { sighting } })) });
    await store().record({ forget: [{ session: 't' }] });
    expect(await store().sightings('s')).toHaveLength(2);
    expect(await store().sightings('t')).toEqual([]);
  });

  it('a sighting in the same record as a `forget` is kept', async () => {
    await store().record({ views: [{ session: 's', view: { sighting: FULL_SIGHTING } }] });
    await store().record({
      views: [{ session: 's', view: { sighting: BARE_SIGHTING } }],
      forget: [{ session: 's' }],
    });
    expect(await store().sightings('s')).toEqual([BARE_SIGHTING]);
  });
}

function journal(store: () => Store): void {
  const full = changeEntry('c1', [delta('a.ts', file('x'), ABSENT)], {
    path: 'a\0\ud800.ts',
    key: '/folded',
    text: 'a sentence "with" \u{1f600}',
    undoes: 'c0',
    undone: { changes: ['c0', 'c-1'], keys: ['/folded'] },
    recovered: true,
  });

  it('an entry is returned exactly as recorded, numbered and chained', async () => {
    await store().record({ entries: [full] });
    const [listed] = await store().entries({});
    expect(listed).toEqual({ ...full, seq: 1, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it('each entry contains the hash of the one before, across records', async () => {
    await store().record({ entries: [readEntry(), full] });
    await store().record({ entries: [] });
    await store().record({ entries: [readEntry({ session: 'b' })] });
    const chain = await store().entries({ order: 'oldest' });
    expect(chain.map((entry) => entry.seq)).toEqual([1, 2, 3]);
    let previous = CHAIN_START;
    for (const entry of chain) {
      expect(follows(previous, entry)).toBe(true);
      previous = entry;
    }
    expect((await store().state()).head).toEqual({ seq: 3, hash: previous.hash });
    expect((await store().state()).checkpoint).toEqual(CHAIN_START);
  });

  it('concurrent records are numbered without gaps or duplicates', async () => {
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => store().record({ entries: [readEntry({ atMs: i })] })),
    );
    const all = await store().entries({ order: 'oldest' });
    expect(all.map((entry) => entry.seq)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
  });

  it('changing an object after it was recorded does not change the journal', async () => {
    const entry = { ...readEntry(), text: 'before' };
    await store().record({ entries: [entry] });
    entry.text = 'after';
    expect((await store().entries({}))[0]?.text).toBe('before');
  });
}

function filters(store: () => Store): void {
  const KINDS: readonly EntryKind[] = ['read', 'refusal'];
  const table: readonly (readonly [string, EntryFilter, readonly number[]])[] = [
    ['nothing: all, newest first', {}, [6, 5, 4, 3, 2, 1]],
    ['oldest first', { order: 'oldest' }, [1, 2, 3, 4, 5, 6]],
    ['a limit', { limit: 2 }, [6, 5]],
    ['a limit of 0', { limit: 0 }, []],
    ['session', { session: 'b' }, [4]],
    ['root', { root: '/' }, [5]],
    ['change', { change: 'c2' }, [3]],
    ['an unknown change', { change: 'c9' }, []],
    ['kinds', { kinds: KINDS }, [5, 4, 1]],
    ['no kind', { kinds: [] }, []],
    ['since, included', { sinceMs: 30 }, [6, 5, 4, 3]],
    ['until, included', { untilMs: 20 }, [2, 1]],
    ['after a number', { afterSeq: 4 }, [6, 5]],
    ['before a number, in pages', { beforeSeq: 3, limit: 1 }, [2]],
    ['all together', { root: ROOT, session: 'agent', kinds: ['change'], sinceMs: 5, afterSeq: 2 }, [3]],
    ['key: deltas and what an entry is about', { key: `${ROOT}/a.ts` }, [4, 3, 2, 1]],
    ['key, changes only', { key: `${ROOT}/a.ts`, kinds: ['change'] }, [3, 2]],
    ['key of a second delta', { key: `${ROOT}/b.ts` }, [3]],
    ['any of several keys', { keys: [`${ROOT}/b.ts`, '/etc'] }, [5, 3]],
    ['key in the root folder of the machine', { key: '/etc' }, [5]],
    ['a folded key', { key: '/folded' }, [6]],
    ['the root itself', { key: ROOT }, [6]],
    ['an untouched key', { key: `${ROOT}/z.ts` }, []],
  ];

  it.each(table)('entries are filtered by %s', async (_what, filter, expected) => {
    await store().record({
      entries: [
        readEntry({ atMs: 10 }),
        changeEntry('c1', [delta('a.ts', file('x'), file('y'))], { atMs: 20 }),
        changeEntry('c2', [delta('a.ts', file('y'), ABSENT), delta('b.ts', ABSENT, file('y'))], {
          atMs: 30,
        }),
        sampleEntry('refusal', { session: 'b', atMs: 40, code: 'STALE' }),
        readEntry({ root: '/', path: 'etc', atMs: 50 }),
        sampleEntry('session', { path: '', key: '/folded', atMs: 60 }),
      ],
    });
    expect((await store().entries(filter)).map((entry) => entry.seq)).toEqual(expected);
  });

  it.each([
    ['in the middle', ['/a/b'], [4, 3, 2, 1]],
    ['at the top', ['/'], [6, 5, 4, 3, 2, 1]],
    ['outside all but the topmost root', ['/a/bc/d'], [5, 2, 1]],
    ['in two places', ['/a/b/c/d', '/z'], [6, 4, 3, 2, 1]],
    ['nowhere', [], []],
  ] as const)(
    'entries are filtered by roots that equal, contain or lie in a folder %s',
    async (_, near, expected) => {
      const roots = ['/', '/a', '/a/b', '/a/b/c', '/a/bc', '/z'];
      await store().record({ entries: roots.map((root) => readEntry({ root })) });
      expect((await store().entries({ near })).map((entry) => entry.seq)).toEqual(expected);
    },
  );

  it('the last change of a key is the newest one that touched it, in any session', async () => {
    expect(await lastChange(store(), `${ROOT}/a.ts`)).toBeUndefined();
    await store().record({
      entries: [
        changeEntry('c1', [delta('a.ts', file('x'), file('y'))]),
        changeEntry('c2', [delta('b.ts', file('x'), file('y')), delta('a.ts', file('y'), file('z'))], {
          session: 'sibling',
        }),
        readEntry({ path: 'a.ts' }),
      ],
    });
    expect((await lastChange(store(), `${ROOT}/a.ts`))?.session).toBe('sibling');
    const keys = ['none.ts', 'a.ts', 'b.ts', 'a.ts'].map((path) => `${ROOT}/${path}`);
    const last = [...(await store().lastChanges(keys))].map(([key, { change }]) => [key, change]);
    expect(last.sort()).toEqual([
      [`${ROOT}/a.ts`, 'c2'],
      [`${ROOT}/b.ts`, 'c2'],
    ]);
    expect((await store().lastChanges([])).size).toBe(0);
  });
}

function bookkeeping(store: () => Store): void {
  it('an announced change is pending until it is settled', async () => {
    await store().record({ announce: pendingChange('c1') });
    await store().record({ announce: pendingChange('c2') });
    expect(await store().pending()).toEqual([pendingChange('c1'), pendingChange('c2')]);
    await store().record({ settle: ['c1', 'never announced'] });
    expect(await store().pending()).toEqual([pendingChange('c2')]);
  });

  it.each([
    ['no filter', {}, ['c1', 'c2', 'c3']],
    ['change', { change: 'c2' }, ['c2']],
    ['owner', { owner: 'ann' }, ['c1', 'c3']],
    ['a key that it locked', { keys: ['/w/a/x', '/w/z'] }, ['c1']],
    ['a folder above a locked key', { keys: ['/w/a'] }, ['c1']],
    ['a key inside a locked folder', { keys: ['/w/b/deep/er'] }, ['c2']],
    ['a key that only shares a prefix', { keys: ['/w/bb', '/w/a/xx'] }, []],
    ['no key', { keys: [] }, []],
    ['key and owner', { keys: ['/w'], owner: 'bob' }, ['c2']],
  ] as const)('pending changes are filtered by %s', async (_what, filter, expected) => {
    await store().record({ announce: { ...pendingChange('c1'), owner: 'ann', locked: ['/w/a/x'] } });
    await store().record({ announce: { ...pendingChange('c2'), owner: 'bob', locked: ['/w/b'] } });
    const { locked: _, ...unlocked } = pendingChange('c3');
    await store().record({ announce: { ...unlocked, owner: 'ann' } });
    const found = await store().pending(filter);
    expect(found.map(({ change }) => change).sort()).toEqual(expected);
  });

  it('a pending change is in no list of entries', async () => {
    await store().record({ announce: pendingChange('c1') });
    expect(await store().entries({})).toEqual([]);
    expect(await lastChange(store(), `${ROOT}/a.ts`)).toBeUndefined();
  });

  it('a record for a pending change does nothing after another process has settled the change', async () => {
    const settling = {
      ifPending: 'c1',
      settle: ['c1'],
      entries: [changeEntry('c1', [])],
      views: [{ session: 's', view: { sighting: BARE_SIGHTING } }],
    };
    await store().record({ announce: pendingChange('c1') });
    await store().record(settling);
    await store().record({ ...settling, session: sessionRecord('s') });
    expect(await store().entries({})).toHaveLength(1);
    expect(await store().sessions()).toEqual([]);
  });

  it('a session is stored, updated, and deleted with its sightings', async () => {
    await store().record({ session: sessionRecord('a', { lastMs: 5 }) });
    await store().record({ session: sessionRecord('b', { lastMs: 6, parent: 'a' }) });
    await store().record({ session: sessionRecord('a', { lastMs: 7, closedMs: 7 }) });
    await store().record({ views: [{ session: 'a', view: { sighting: BARE_SIGHTING } }] });
    expect(await store().sessions()).toEqual([
      sessionRecord('a', { lastMs: 7, closedMs: 7 }),
      sessionRecord('b', { lastMs: 6, parent: 'a' }),
    ]);
    expect(await store().session('b')).toEqual(sessionRecord('b', { lastMs: 6, parent: 'a' }));
    expect(await store().session('c')).toBeUndefined();
    await store().record({ dropSession: 'a' });
    expect(await store().session('a')).toBeUndefined();
    expect((await store().sessions()).map((session) => session.id)).toEqual(['b']);
    expect(await store().sightings('a')).toEqual([]);
  });

  it('sessions are filtered by their root', async () => {
    for (const [id, root] of [
      ['a', '/w'],
      ['b', '/w/inside'],
      ['c', '/\0odd\ud800'],
    ] as const)
      await store().record({ session: sessionRecord(id, { root }) });
    const ids = async (roots: readonly string[]): Promise<string[]> =>
      (await store().sessions({ roots })).map(({ id }) => id).sort();
    expect(await ids(['/w'])).toEqual(['a']);
    expect(await ids(['/w/inside', '/\0odd\ud800', '/nowhere'])).toEqual(['b', 'c']);
    expect(await ids([])).toEqual([]);
  });

  it('a closed store fails every call, and can be closed again', async () => {
    await store().close();
    await store().close();
    await expect((async () => store().recall('s', 'k'))()).rejects.toMatchObject({ code: 'MISUSE' });
    await expect(store().record({})).rejects.toMatchObject({ code: 'MISUSE' });
    await expect(store().entries({})).rejects.toMatchObject({ code: 'MISUSE' });
    await expect(store().pending()).rejects.toMatchObject({ code: 'MISUSE' });
  });
}

function transactions(store: () => Store): void {
  it('a record that cannot be written completely is not written at all', async () => {
    await store().record({
      entries: [readEntry()],
      announce: pendingChange('c0'),
      views: [{ session: 's', view: { sighting: FULL_SIGHTING } }],
    });
    const unwritable = { ...readEntry(), atMs: 5n } as unknown as Entry;
    await expect(
      store().record({
        forget: [{ session: 's' }],
        views: [{ session: 's', view: { sighting: BARE_SIGHTING } }],
        announce: pendingChange('c1'),
        settle: ['c0'],
        session: sessionRecord('s'),
        entries: [readEntry(), unwritable],
      }),
    ).rejects.toThrow();
    expect(await store().sightings('s')).toEqual([FULL_SIGHTING]);
    expect(await store().pending()).toEqual([pendingChange('c0')]);
    expect(await store().sessions()).toEqual([]);
    expect(await store().entries({})).toHaveLength(1);
    await store().record({ entries: [readEntry()] });
    expect(await store().entries({ limit: 1 })).toMatchObject([{ seq: 2 }]);
  });
}

function notes(store: () => Store): void {
  const noted = (sighting: Sighting, path = 'a.ts'): Notes => {
    return { views: [{ session: 's', view: { sighting } }], entries: [readEntry({ path })] };
  };

  it.each([
    ['recall', (store: Store) => known(store, 's', FULL_SIGHTING.key), FULL_SIGHTING],
    ['sightings', (store: Store) => store.sightings('s'), [FULL_SIGHTING]],
    ['entries', async (store: Store) => (await store.entries({})).map((entry) => entry.seq), [1]],
    ['state', async (store: Store) => (await store.state()).head.seq, 1],
    ['prune', (store: Store) => store.prune(1), 1],
  ])('a note is visible to its writer at once: %s', async (_what, look, expected) => {
    await store().note(noted(FULL_SIGHTING));
    expect(await look(store())).toEqual(expected);
  });

  it('notes and records keep their order', async () => {
    await store().note(noted(FULL_SIGHTING, 'first.ts'));
    await store().record({ ...noted({ ...FULL_SIGHTING, atMs: 2 }, 'second.ts') });
    await store().note(noted({ ...FULL_SIGHTING, atMs: 3 }, 'third.ts'));
    expect(await known(store(), 's', FULL_SIGHTING.key)).toMatchObject({ atMs: 3 });
    const paths = (await store().entries({ order: 'oldest' })).map((entry) => entry.path);
    expect(paths).toEqual(['first.ts', 'second.ts', 'third.ts']);
    await store().record({ forget: [{ session: 's' }] });
    expect(await known(store(), 's', FULL_SIGHTING.key)).toBeUndefined();
  });

  it('a thousand notes are chained like a thousand records', async () => {
    for (let n = 0; n < 1000; n++) await store().note(noted({ ...FULL_SIGHTING, atMs: n }));
    const entries = await store().entries({ order: 'oldest' });
    expect(entries).toHaveLength(1000);
    expect(entries.slice(1).every((entry, at) => follows(entries[at]!, entry))).toBe(true);
    expect(await store().sightings('s')).toMatchObject([{ atMs: 999 }]);
  });

  it('a closed store rejects notes', async () => {
    await store().close();
    await expect((async () => store().note(noted(FULL_SIGHTING)))()).rejects.toMatchObject({
      code: 'MISUSE',
    });
  });
}

function recent(store: () => Store): void {
  it('`changesSince` returns changes synchronously, newest first, by time, path and session', async () => {
    const change = (id: string, path: string, by: Partial<NewChangeEntry>): NewChangeEntry => ({
      ...changeEntry(id, [delta(path, file('x'), file('y'))]),
      ...by,
    });
    await store().record({
      entries: [
        change('c1', 'a.ts', { atMs: 10, session: 's' }),
        readEntry(),
        change('c2', 'b.ts', { atMs: 20, session: 's' }),
        change('c3', 'a.ts', { atMs: 30, session: 't' }),
      ],
    });
    const ids = (asked: RecentChanges): unknown =>
      store()
        .changesSince(asked)
        .map((entry) => entry.change);
    expect(ids({ sinceMs: 10 })).toEqual(['c3', 'c2', 'c1']);
    expect(ids({ sinceMs: 11 })).toEqual(['c3', 'c2']);
    expect(ids({ sinceMs: 0, keys: () => [`${ROOT}/a.ts`] })).toEqual(['c3', 'c1']);
    expect(ids({ sinceMs: 0, keys: () => [`${ROOT}/a.ts`], notBy: 't' })).toEqual(['c1']);
    expect(ids({ sinceMs: 0, notBy: 's' })).toEqual(['c3']);
    expect(ids({ sinceMs: 0, keys: () => [`${ROOT}/c.ts`] })).toEqual([]);
    const both = { sinceMs: 0, keys: () => [`${ROOT}/a.ts`, `${ROOT}/c.ts`], notBy: 't' };
    expect(ids(both)).toEqual(['c1']);
  });

  it('`changesSince` returns the change of a record for a pending change once, if it settled the change', async () => {
    const settling = { ifPending: 'c1', settle: ['c1'], entries: [changeEntry('c1', [])] };
    await store().record({ announce: pendingChange('c1') });
    await store().record(settling);
    await store().record(settling);
    expect(store().changesSince({ sinceMs: 0 })).toMatchObject([{ kind: 'change', change: 'c1' }]);
  });
}

function pruning(store: () => Store): void {
  it.each([
    [0, [1, 2, 3, 4], 0],
    [2, [3, 4], 2],
    [4, [], 4],
    [99, [], 4],
  ])(
    'pruning through %i leaves %j and a checkpoint from which the chain continues',
    async (through, left, checkpoint) => {
      const change = changeEntry('c1', [delta('a.ts', file('x'), file('y'))]);
      await store().record({ entries: [change, readEntry(), readEntry(), readEntry()] });
      const recorded = await store().entries({ order: 'oldest' });
      expect(await store().prune(through)).toBe(4 - left.length);
      expect((await store().entries({ order: 'oldest' })).map((entry) => entry.seq)).toEqual(left);
      expect((await lastChange(store(), `${ROOT}/a.ts`)) === undefined).toBe(checkpoint > 0);

      await store().record({ entries: [readEntry()] });
      const [next] = await store().entries({ limit: 1 });
      const state = await store().state();
      expect(state.checkpoint).toEqual({
        seq: checkpoint,
        hash: recorded[checkpoint - 1]?.hash ?? CHAIN_START.hash,
      });
      expect(state.head).toEqual({ seq: 5, hash: next?.hash });
      expect(follows(recorded[3]!, next!)).toBe(true);
    },
  );
}
