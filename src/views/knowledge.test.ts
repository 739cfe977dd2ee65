import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { flags, sighting } from '../../test/support/judging.ts';
import { PRESETS } from '../config/presets.ts';
import { isStub } from '../judge/facts.ts';
import { type Coverage, NOTHING, WHOLE } from '../model/coverage.ts';
import { Fault } from '../model/fault.ts';
import type { Policy } from '../model/policy.ts';
import type { Sighting } from '../model/sighting.ts';
import { openMemoryStore } from '../store/sqlite/sqlite-store.ts';
import type { Store } from '../store/store.ts';
import { Knowledge } from './knowledge.ts';
import { isSampled, SAMPLE } from './sightings.ts';

const lines = (from: number, to: number): Coverage => ({ kind: 'lines', ranges: [{ from, to }] });

/** An empty store for each test. */
let empty: Store;
beforeEach(async () => {
  empty = await openMemoryStore();
});
afterEach(() => empty.close());

function open(
  options: { store?: Store; session?: string } & Partial<
    Pick<Policy, 'maxSightings' | 'compaction' | 'ttlMs'>
  > = {},
) {
  const { store = empty, session = 's1' } = options;
  const { maxSightings = 100, compaction = 'verify', ttlMs = 0 } = options;
  return {
    store,
    knowledge: new Knowledge({
      store,
      session,
      policy: { ...PRESETS.default, maxSightings, compaction, ttlMs },
    }),
  };
}

const seen = (key: string, atMs = 1, changes: Partial<Sighting> = {}): Sighting =>
  sighting({ key, atMs, ...changes });

describe('record and recall', () => {
  it('adds up views of the same bytes', async () => {
    const { knowledge } = open();
    await knowledge.record([seen('a', 1, { coverage: lines(1, 5) })]);
    await knowledge.record([seen('a', 2, { coverage: lines(6, 10) })]);
    expect(await knowledge.recall('a')).toMatchObject({ coverage: WHOLE, atMs: 2 });
  });

  it('adds up views recorded at the same time, even in one call', async () => {
    const { knowledge } = open();
    await Promise.all([
      knowledge.record([seen('a', 1, { coverage: lines(1, 3) })]),
      knowledge.record([seen('a', 1, { coverage: lines(4, 6) }), seen('a', 1, { coverage: lines(7, 8) })]),
      knowledge.record([seen('a', 1, { coverage: lines(9, 10) })]),
    ]);
    expect((await knowledge.recall('a'))?.coverage).toEqual(WHOLE);
  });

  it("writes the caller's additions in the same transaction", async () => {
    const { knowledge, store } = open();
    const entry = { kind: 'read', atMs: 1, session: 's1', root: '/w', path: 'a' } as const;
    await knowledge.record([seen('a')], { entries: [entry] });
    expect(await store.entries({})).toMatchObject([{ ...entry, seq: 1 }]);
    await expect(failing(store).knowledge.record([seen('b')], { entries: [entry] })).rejects.toThrow(
      'disk full',
    );
    expect(await knowledge.recall('b')).toBeUndefined();
  });

  it('notes a view of a sampled file while the store cannot count sightings', async () => {
    const key = Array.from({ length: 1000 }, (_, i) => `/w/file-${i}`).find(isSampled) ?? '';
    const broken = failing(empty, 100, 'recallMany');
    const entry = { kind: 'read', atMs: 1, session: 's1', root: '/w', path: 'a' } as const;
    await broken.knowledge.note(seen(key), undefined, entry);
    broken.heal();
    expect(await broken.knowledge.recall(key)).toMatchObject({ coverage: WHOLE });
  });

  it('continues after a failed record', async () => {
    const broken = failing(empty);
    await expect(broken.knowledge.record([seen('a')])).rejects.toThrow('disk full');
    broken.heal();
    await broken.knowledge.record([seen('a')]);
    expect(await broken.knowledge.all()).toHaveLength(1);
  });

  it('applies to this session only', async () => {
    const { store, knowledge } = open();
    await knowledge.record([seen('a')]);
    expect(await open({ store, session: 's2' }).knowledge.recall('a')).toBeUndefined();
  });
});

describe('note', () => {
  const entry = { kind: 'read', atMs: 1, session: 's1', root: '/w', path: 'a' } as const;

  it('adds a view and its journal entry to the recalled sighting, and returns the sum', async () => {
    const { knowledge, store } = open();
    await knowledge.record([seen('a', 1, { coverage: lines(1, 5) })]);
    const next = seen('a', 2, { coverage: lines(6, 10) });
    expect(await knowledge.note(next, undefined, entry)).toMatchObject({ coverage: WHOLE });
    expect(await knowledge.recall('a')).toMatchObject({ coverage: WHOLE, atMs: 2 });
    expect(await store.entries({})).toMatchObject([entry]);
  });

  it.each([
    [
      'another note',
      (knowledge: Knowledge) => knowledge.note(seen('a', 1, { coverage: lines(1, 5) }), undefined, entry),
    ],
    ['a record', (knowledge: Knowledge) => knowledge.record([seen('a', 1, { coverage: lines(1, 5) })])],
  ])('loses no view that was recorded after the recall: %s', async (_what, meanwhile) => {
    const { knowledge } = open();
    await knowledge.recall('a');
    await meanwhile(knowledge);
    await knowledge.note(seen('a', 2, { coverage: lines(6, 10) }), undefined, entry);
    expect(await knowledge.recall('a')).toMatchObject({ coverage: WHOLE });
  });

  it('waits for a change that was requested before', async () => {
    const { knowledge } = open({ compaction: 'clear' });
    await knowledge.record([seen('a')]);
    await Promise.all([
      knowledge.compacted(),
      knowledge.note(seen('a', 2, { coverage: lines(1, 2) }), undefined, entry),
    ]);
    expect((await knowledge.recall('a'))?.coverage).toEqual(lines(1, 2));
  });

  it.each([
    ['is not stored if it follows at once', 0, 1],
    ['is stored if sightings expire, however soon it follows', 300, 2],
  ])('the same view again %s', async (_, ttlMs, atMs) => {
    const { knowledge } = open({ ttlMs });
    const view = seen('a', 1, { stamp: { dev: 1n, ino: 2n, size: 3n, mtimeNs: 4n, ctimeNs: 5n } });
    await knowledge.note(view, undefined, entry);
    await knowledge.note({ ...view, atMs: 2 }, undefined, entry);
    expect(await knowledge.recall('a')).toMatchObject({ atMs });
  });

  it('respects the limit of sightings', async () => {
    const { knowledge } = open({ maxSightings: 20 });
    for (let n = 0; n < 100; n++) {
      const key = `file-${n}`;
      await knowledge.note(seen(key, n), undefined, entry);
    }
    expect((await knowledge.all()).length).toBeLessThanOrEqual(22);
    expect(await knowledge.recall('file-99')).toMatchObject({ coverage: seen('x').coverage });
  });
});

describe('forgetting', () => {
  it('of one file leaves a stub with the reason; of everything leaves nothing', async () => {
    const { knowledge } = open();
    await knowledge.record([seen('a'), seen('b')]);
    await knowledge.forget('a');
    expect(await knowledge.recall('a')).toMatchObject({ lost: 'forgotten', fingerprint: undefined });
    expect((await knowledge.all()).map(({ key }) => key)).toEqual(['b']);
    await knowledge.forget('never-seen');
    expect(await knowledge.recall('never-seen')).toBeUndefined();
    await knowledge.forget();
    expect(await knowledge.recall('a')).toBeUndefined();
  });

  it('a deletion leaves a tombstone, and a new view replaces it', async () => {
    const { knowledge } = open();
    await knowledge.record([seen('a')]);
    await knowledge.record([], {}, { keys: ['a'], atMs: 5 });
    expect(await knowledge.recall('a')).toMatchObject({ tombstone: true, atMs: 5, coverage: NOTHING });
    expect(await knowledge.all()).toEqual([]);
    await knowledge.record([seen('a', 6)]);
    expect(await knowledge.recall('a')).toEqual(seen('a', 6));
  });
});

it('a deletion of very many files leaves tombstones only for seen ones', async () => {
  const { knowledge } = open();
  await knowledge.record([seen('f1')]);
  const keys = Array.from({ length: 1000 }, (_, index) => `f${index}`);
  await knowledge.record([], {}, { keys, atMs: 5 });
  expect(await knowledge.recall('f1')).toMatchObject({ tombstone: true });
  expect(await knowledge.recall('f2')).toBeUndefined();
});

describe('compaction', () => {
  it.each([
    ['keep', { coverage: WHOLE }],
    ['verify', { coverage: NOTHING, lost: 'compacted', fingerprint: sighting().fingerprint }],
    ['clear', { coverage: NOTHING, lost: 'compacted', fingerprint: undefined, stamp: undefined }],
  ] as const)('%s', async (compaction, expected) => {
    const { knowledge } = open({ compaction });
    await knowledge.record([seen('a')]);
    await knowledge.compacted();
    expect(await knowledge.recall('a')).toMatchObject(expected);
  });

  it('waits for a view that is being recorded, and clears it too', async () => {
    const { knowledge } = open();
    await Promise.all([knowledge.record([seen('a')]), knowledge.compacted()]);
    expect((await knowledge.recall('a'))?.coverage).toEqual(NOTHING);
  });

  it('drops refused content, because the model no longer knows what it sent', async () => {
    const { knowledge } = open();
    await knowledge.record([seen('a', 1, { refusedContent: 'h' })]);
    await knowledge.compacted();
    expect(await knowledge.recall('a')).not.toHaveProperty('refusedContent');
  });

  it('keeps tombstones, which do not depend on the context', async () => {
    const { knowledge } = open({ compaction: 'clear' });
    await knowledge.record([], {}, { keys: ['a'], atMs: 5 });
    await knowledge.compacted();
    expect(await knowledge.recall('a')).toMatchObject({ tombstone: true });
  });
});

it('a rewind drops views that were shown later', async () => {
  const { knowledge } = open();
  await knowledge.record([seen('old', 10), seen('new', 30), seen('both', 10, { coverage: lines(1, 2) })]);
  await knowledge.record([seen('both', 30, { coverage: lines(3, 4) })]);
  await knowledge.rewound(20);
  const both = seen('both', 10, { coverage: lines(1, 2) });
  expect(await knowledge.all()).toEqual([both, seen('old', 10)]);
  expect(await knowledge.recall('new')).toMatchObject({ lost: 'rewound' });
  expect(await knowledge.recall('both')).toEqual(both);
});

it('a check drops sightings that it does not confirm', async () => {
  const { knowledge } = open();
  await knowledge.record([seen('a'), seen('b')]);
  expect(await knowledge.verify(async ({ key }) => key === 'a')).toEqual({ kept: 1, dropped: 1 });
  expect((await knowledge.all()).map(({ key }) => key)).toEqual(['a']);
  expect(await knowledge.recall('b')).toMatchObject({ lost: 'forgotten' });
});

it('a fork begins with the sightings of its parent, and is independent afterwards', async () => {
  const { knowledge, store } = open();
  await knowledge.record([seen('a')]);
  await store.record(await knowledge.forkWrites('s2'));
  const fork = open({ store, session: 's2' }).knowledge;
  await fork.record([seen('b')]);
  expect((await fork.all()).map(({ key }) => key)).toEqual(['a', 'b']);
  expect((await knowledge.all()).map(({ key }) => key)).toEqual(['a']);
});

describe('a bounded knowledge', () => {
  it('evicts the oldest sighting, never the newest, and leaves a stub', async () => {
    const { knowledge } = open({ maxSightings: 10 });
    for (let i = 1; i <= 10; i++) await knowledge.record([seen(`f${i}`, 100 - i)]);
    expect(await knowledge.all()).toHaveLength(10);
    await knowledge.record([seen('f11', 0)]);
    expect((await knowledge.all()).map(({ key }) => key).toSorted()).toEqual([
      'f1',
      'f11',
      'f2',
      'f3',
      'f4',
      'f5',
      'f6',
      'f7',
      'f8',
    ]);
    expect(await knowledge.recall('f10')).toMatchObject({ lost: 'evicted', fingerprint: undefined });
  });

  it('stays within its limit over many files, even across knowledge of one session', async () => {
    const store = empty;
    for (let round = 0; round < 20; round++) {
      const { knowledge } = open({ store, maxSightings: 10 });
      for (let i = 0; i < 7; i++) await knowledge.record([seen(`f${round}-${i}`, round * 7 + i)]);
    }
    const all = await store.sightings('s1');
    expect(all.filter((sighting) => !isStub(sighting)).length).toBeLessThanOrEqual(10);
    expect((await open({ store }).knowledge.recall('f19-6'))?.coverage).toEqual(WHOLE);
  });

  it('exceeds its limit by about a tenth at most if every record comes from another knowledge', async () => {
    const store = empty;
    for (let i = 0; i < 1500; i++)
      await open({ store, maxSightings: 700 }).knowledge.record([seen(`/repo/src/file-${i}.ts`, i)]);
    const live = await open({ store }).knowledge.all();
    expect(live.length).toBeGreaterThan(500);
    expect(live.length).toBeLessThan(900);
  });

  it('counts again after a failure, because nothing was evicted', async () => {
    const store = empty;
    const healthy = open({ store, maxSightings: 10 }).knowledge;
    for (let i = 0; i < 10; i++) await healthy.record([seen(`f${i}`, i)]);
    const broken = failing(store, 10);
    await expect(broken.knowledge.record([seen('new')])).rejects.toThrow('disk full');
    broken.heal();
    await broken.knowledge.record([seen('new', 99)]);
    expect((await healthy.all()).length).toBeLessThanOrEqual(10);
  });

  it('does not count another view of a known file', async () => {
    const { knowledge } = open({ maxSightings: 2 });
    await knowledge.record([seen('a'), seen('b')]);
    for (let i = 0; i < 9; i++) await knowledge.record([seen('a', 2 + i)]);
    expect(await knowledge.all()).toHaveLength(2);
  });
});

describe('export and import', () => {
  it('transfers sightings without stamps, if the check confirms them', async () => {
    const from = open().knowledge;
    const stamp = { dev: 1n, ino: 2n, size: 3n, mtimeNs: 4n, ctimeNs: 5n };
    await from.record([
      seen('a', 1, { stamp, flags: flags({ clamped: true }) }),
      seen('b', 2, { coverage: lines(2, 3) }),
      seen('changed'),
      seen('page', 3, { fingerprint: undefined, stamp, pages: [{ from: 1, to: 3, sha256: 'p' }] }),
    ]);
    await from.forget('changed');
    await from.record([seen('changed', 9)]);

    const to = open({ session: 's2' }).knowledge;
    const checked = await to.importJson(await from.exportJson(), async ({ key }) => key !== 'changed');
    expect(checked).toEqual({ kept: 2, dropped: 1 });
    expect(await to.recall('a')).toEqual(seen('a', 1, { flags: flags({ clamped: true }) }));
    expect(await to.recall('b')).toEqual(seen('b', 2, { coverage: lines(2, 3) }));
    expect(await to.recall('changed')).toBeUndefined();
  });

  it('transfers baselines that remain after a compaction', async () => {
    const from = open().knowledge;
    await from.record([seen('a')]);
    await from.compacted();
    const to = open().knowledge;
    await to.importJson(await from.exportJson(), async () => true);
    expect(await to.recall('a')).toMatchObject({ coverage: NOTHING, lost: 'compacted' });
  });

  it.each([
    ['text that is not JSON', '{'],
    ['JSON of another kind', '{"version":1,"sightings":[]}'],
    ['a later version', '{"lookfirst":"sightings","version":2,"sightings":[]}'],
    ['a missing list', '{"lookfirst":"sightings","version":1}'],
    ['a sighting without a fingerprint', exportOf({ fingerprint: undefined })],
    ['a reversed range', exportOf({ coverage: { kind: 'lines', ranges: [{ from: 5, to: 1 }] } })],
    ['an unknown coverage', exportOf({ coverage: { kind: 'most' } })],
    ['invalid flags', exportOf({ flags: { clamped: 'no' } })],
    ['an unknown `how`', exportOf({ how: 'guess' })],
    ['a tombstone as coverage', exportOf({ coverage: null })],
  ])('refuses %s', async (_what, text) => {
    const { knowledge } = open();
    await expect(knowledge.importJson(text, async () => true)).rejects.toThrow(Fault);
    expect(await knowledge.all()).toEqual([]);
  });
});

function exportOf(changes: object): string {
  const { stamp: _, ...plain } = sighting();
  return JSON.stringify({ lookfirst: 'sightings', version: 1, sightings: [{ ...plain, ...changes }] });
}

/** A knowledge on a store whose `method` fails until `heal` is called. */
function failing(
  store: Store,
  maxSightings = 100,
  method: 'record' | 'recallMany' = 'record',
): { knowledge: Knowledge; heal: () => void } {
  let broken = true;
  const faulty: Store = new Proxy(store, {
    get: (target, name) => {
      if (name === method && broken) return () => Promise.reject(new Fault('STORE_FAILED', 'disk full'));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return {
    knowledge: open({ store: faulty, maxSightings }).knowledge,
    heal: () => {
      broken = false;
    },
  };
}

it.each([
  ['numbered files', (i: number) => `/repo/src/file-${i}.ts`],
  ['one name in many folders', (i: number) => `/repo/packages/p${i}/index.ts`],
])('about one key in 64 is sampled, always the same: %s', (_what, name) => {
  const keys = Array.from({ length: 64_000 }, (_, i) => name(i));
  const sampled = keys.filter(isSampled);
  expect(sampled.length).toBeGreaterThan((keys.length / SAMPLE) * 0.7);
  expect(sampled.length).toBeLessThan((keys.length / SAMPLE) * 1.3);
  expect(sampled.every(isSampled)).toBe(true);
});
