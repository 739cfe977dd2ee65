import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BARE_SIGHTING, readEntry } from '../../test/store/samples.ts';
import { scratch } from '../../test/support/tree.ts';
import { Fault } from '../model/fault.ts';
import { LateNotes } from './late-notes.ts';
import { openMemoryStore, openSqliteStore } from './sqlite/sqlite-store.ts';
import type { Notes, Store, Writes } from './store.ts';

const NEVER_MS = 2 ** 30;
const NOTE: Notes = { sightings: [{ session: 's', sighting: BARE_SIGHTING }], entries: [readEntry()] };

/** A store that counts its transactions. Tests can make it fail, or delay one transaction. */
interface Probe extends Store {
  records: number;
  failing: boolean;
  /** The store rejects every record that says a session has read this file. */
  rejects: string | undefined;
  hold: Promise<void> | undefined;
  /** Each record takes the first of these promises and waits for it. */
  readonly holds: Promise<void>[];
}

async function openProbe(): Promise<Probe> {
  const inner = await openMemoryStore();
  const probe = {
    records: 0,
    failing: false,
    rejects: undefined as string | undefined,
    hold: undefined as Promise<void> | undefined,
    holds: [] as Promise<void>[],
    async record(writes: Writes): Promise<void> {
      probe.records += 1;
      await (probe.holds.shift() ?? probe.hold);
      if (probe.failing) throw new Fault('STORE_FAILED', 'the disk is full');
      if (writes.sightings?.some(({ sighting }) => sighting.key === probe.rejects))
        throw new Fault('STORE_FAILED', 'the value is too odd', { reason: 'rejected' });
      return inner.record(writes);
    },
  };
  // The cast is safe: what the probe lacks comes from the store.
  return new Proxy(probe as unknown as Probe, {
    get: (target, name) => {
      if (name in target) return Reflect.get(target, name);
      const value: unknown = Reflect.get(inner, name);
      return typeof value === 'function' ? value.bind(inner) : value;
    },
  });
}

describe('notes', () => {
  it('share one transaction, which is written before the next query', async () => {
    const probe = await openProbe();
    const store = new LateNotes(probe, { withinMs: NEVER_MS });
    for (let n = 0; n < 20; n++) await store.note(NOTE);
    expect(probe.records).toBe(0);
    expect(await store.entries({})).toHaveLength(20);
    expect(probe.records).toBe(1);
    await store.close();
  });

  it('are written when more than 128 are waiting', async () => {
    const probe = await openProbe();
    const store = new LateNotes(probe, { withinMs: NEVER_MS });
    for (let n = 0; n < 300; n++) await store.note(NOTE);
    expect(probe.records).toBe(2);
    await store.close();
    expect(probe.records).toBe(3);
  });

  it('are written after a short time, so that other processes see them', async () => {
    const { home } = scratch();
    const file = join(home, 'state.db');
    // Another path of the same file: this process treats it as another store.
    symlinkSync(home, `${home}-2`);
    const [one, other] = [await openSqliteStore(file), await openSqliteStore(join(`${home}-2`, 'state.db'))];
    await one.note(NOTE);
    await expect.poll(() => other.recall('s', BARE_SIGHTING.key)).toEqual(BARE_SIGHTING);
    await Promise.all([one.close(), other.close()]);
  });

  it('are visible at once to other instances of the store in this process', async () => {
    const file = join(scratch().home, 'state.db');
    const [one, other] = [await openSqliteStore(file), await openSqliteStore(file)];
    await one.note(NOTE);
    expect(await other.recall('s', BARE_SIGHTING.key)).toEqual(BARE_SIGHTING);
    expect(await other.entries({})).toHaveLength(1);
    await one.close();
    await other.note(NOTE);
    expect(await other.entries({})).toHaveLength(2);
    await other.close();
  });

  it('of several instances: the newest is recalled, and all are written before a later record', async () => {
    const peers = new Set<LateNotes>();
    const probe = await openProbe();
    const options = { withinMs: NEVER_MS, peers };
    const [one, other] = [new LateNotes(probe, options), new LateNotes(probe, options)];
    const at = (atMs: number): Notes => ({
      sightings: [{ session: 's', sighting: { ...BARE_SIGHTING, atMs } }],
      entries: [],
    });
    await other.note(at(3));
    await one.note(at(2));
    expect(await one.recall('s', BARE_SIGHTING.key)).toMatchObject({ atMs: 3 });
    await one.record({ sightings: at(4).sightings });
    await other.sessions();
    expect(await one.recall('s', BARE_SIGHTING.key)).toMatchObject({ atMs: 4 });
    await other.close();
    expect(peers).toEqual(new Set([one]));
  });

  it('are written when the store is closed', async () => {
    const file = join(scratch().home, 'state.db');
    const store = await openSqliteStore(file);
    await store.note(NOTE);
    await store.close();
    const again = await openSqliteStore(file);
    expect(await again.sightings('s')).toEqual([BARE_SIGHTING]);
    await again.close();
  });

  it('can be recalled while they are being written, and later ones are written after them', async () => {
    const probe = await openProbe();
    const store = new LateNotes(probe, { withinMs: NEVER_MS });
    await store.note(NOTE);
    let release = (): void => {};
    probe.hold = new Promise((resolve) => {
      release = resolve;
    });
    const looked = store.entries({});
    expect(await store.recall('s', BARE_SIGHTING.key)).toEqual(BARE_SIGHTING);
    await store.note({ ...NOTE, sightings: [{ session: 't', sighting: BARE_SIGHTING }] });
    const lookedAgain = store.sightings('t');
    release();
    expect(await looked).toHaveLength(1);
    expect(await lookedAgain).toEqual([BARE_SIGHTING]);
    await store.close();
  });

  it.each(['wait', 'overlap'] as const)(
    'that the store always rejects are left out, journalled, and count as unread (%s)',
    async (records) => {
      const probe = await openProbe();
      const store = new LateNotes(probe, { withinMs: NEVER_MS, records, patienceMs: NEVER_MS });
      const noteOf = (key: string): Notes => ({
        sightings: [{ session: 's', sighting: { ...BARE_SIGHTING, key } }],
        entries: [readEntry({ path: key })],
      });
      // This earlier read of the file must be forgotten when the store rejects the newer read.
      await store.record(noteOf('/odd'));
      probe.rejects = '/odd';
      for (const key of ['/a', '/odd', '/b', '/c']) await store.note(noteOf(key));
      await store.note(noteOf('/d'));
      await store.record({ entries: [readEntry({ path: 'later' })] });
      expect((await store.sightings('s')).map(({ key }) => key)).toEqual(['/a', '/b', '/c', '/d']);
      expect(await store.recall('s', '/odd')).toBeUndefined();
      const kinds = (await store.entries({})).map(({ kind, path }) => path ?? kind);
      expect(kinds.sort()).toEqual(['/a', '/b', '/c', '/d', '/odd', '/odd', 'later', 'notice']);
      await store.close();
    },
  );

  it('that were rejected do not bring back what a later record forgot', async () => {
    const probe = await openProbe();
    const store = new LateNotes(probe, { withinMs: NEVER_MS, records: 'overlap', patienceMs: NEVER_MS });
    probe.rejects = '/odd';
    await store.note({
      sightings: ['/a', '/odd'].map((key) => ({ session: 's', sighting: { ...BARE_SIGHTING, key } })),
      entries: [],
    });
    await store.record({ forget: [{ session: 's' }] });
    expect(await store.sightings('s')).toEqual([]);
    await store.close();
  });

  it('that could not be written do not replace what a later record has written', async () => {
    const probe = await openProbe();
    const store = new LateNotes(probe, { withinMs: NEVER_MS, records: 'overlap', patienceMs: NEVER_MS });
    const seen = (atMs: number) => [{ session: 's', sighting: { ...BARE_SIGHTING, atMs } }];
    await store.note({ sightings: seen(1), entries: [] });
    const ends: ((error?: Fault) => void)[] = [];
    for (let n = 0; n < 3; n++)
      probe.holds.push(
        new Promise((resolve, reject) => ends.push((error) => (error ? reject(error) : resolve()))),
      );
    const recorded = store.record({ sightings: seen(2) });
    ends[0]?.(new Fault('STORE_FAILED', 'two processes blocked each other', { reason: 'busy' }));
    await setImmediate();
    const looked = store.sightings('s').catch(() => undefined);
    ends[1]?.();
    await recorded;
    ends[2]?.();
    await looked;
    expect(await store.sightings('s')).toMatchObject([{ atMs: 2 }]);
    await store.close();
  });

  it('that cannot be written make the next calls fail, and are kept until they can be written', async () => {
    const probe = await openProbe();
    const store = new LateNotes(probe, { withinMs: NEVER_MS });
    await store.note(NOTE);
    probe.failing = true;
    for (const next of [() => store.entries({}), () => store.note(NOTE), () => store.record({})])
      await expect(next()).rejects.toMatchObject({ code: 'STORE_FAILED' });
    probe.failing = false;
    await store.note(NOTE);
    expect(await store.entries({})).toHaveLength(2);
    expect(await store.sightings('s')).toEqual([BARE_SIGHTING]);
    await store.close();
  });

  it('that cannot be written at closing are a fault, and the store is closed nevertheless', async () => {
    const probe = await openProbe();
    const store = new LateNotes(probe, { withinMs: NEVER_MS });
    await store.note(NOTE);
    probe.failing = true;
    await expect(store.close()).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await expect(probe.pending()).rejects.toMatchObject({ code: 'MISUSE' });
  });
});
