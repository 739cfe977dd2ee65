import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, it, onTestFinished, vi } from 'vitest';
import { verifyChain } from '../../src/journal/verify.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { openState } from '../../src/store/open-state.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import type { Store } from '../../src/store/store.ts';
import { isSampled } from '../../src/views/sightings.ts';
import { startRelay } from '../postgres/relay.mjs';
import { readEntry } from '../store/samples.ts';
import { ok } from '../support/desk.ts';
import { describePostgres } from '../support/postgres.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const COMMAND = join(import.meta.dirname, '../../dist/bin/lookfirst.js');
const TEN = Array.from({ length: 10 }, (_, n) => `f${n}.txt`);
const OLD = [...TEN, 'unread.txt', 'undone.txt'];
const EDIT = [{ oldString: 'two', newString: 'zwei' }];
/** After this time, everything that an operation sends in the background has been sent. */
const QUIET_MS = 300;

/**
 * A scratch folder in which no file's key is in the knowledge's sample. For one key in 64, the knowledge
 * counts all sightings, which takes another round trip.
 */
function unsampled(): Scratch {
  for (;;) {
    const places = scratch();
    if (![...OLD, 'new.txt'].some((name) => isSampled(join(places.root, name)))) return places;
  }
}

await describePostgres('round trips to PostgreSQL', (server) => {
  type Run = (session: GatedSession) => Promise<unknown>;
  const batch: Run = (session) => ok(session.apply(TEN.map((path) => ({ kind: 'edit', path, edits: EDIT }))));
  it.each<[string, number, Run, before?: Run]>([
    ['a read', 0, (session) => ok(session.read('f0.txt'))],
    ['a first read', 0, (session) => ok(session.read('unread.txt'))],
    ['an edit', 3, (session) => ok(session.edit('f0.txt', EDIT))],
    [
      'an edit right after a read',
      3,
      async (session) => {
        await ok(session.read('f1.txt'));
        await ok(session.edit('f1.txt', EDIT));
      },
    ],
    ['a creation', 3, (session) => ok(session.write('new.txt', 'new\n'))],
    ['a batch of ten edits', 3, batch],
    ['an undo', 5, (session) => ok(session.undo())],
    ['an undo of ten files', 5, (session) => ok(session.undo()), batch],
    ['the status of eleven files', 2, (session) => ok(session.status())],
  ])('that %s waits for are at most %i', async (_what, most, run, before) => {
    // Keep other round trips out of the count. The store polls about once a second, and an
    // operation reads facts again that are older than that. So stop the polls, and let the clock
    // advance by only a microsecond per call.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    let now = performance.now();
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 0.001));
    onTestFinished(() => {
      vi.useRealTimers();
      clock.mockRestore();
    });
    const { root, home } = unsampled();
    for (const name of OLD) writeFileSync(join(root, name), `one\ntwo ${name}\nthree\n`);
    // Without a delay, the answer to the first part of a message may overtake the second part. The
    // relay would then count two round trips.
    const relay = await startRelay(server.socket, 30);
    onTestFinished(() => relay.close());
    const schema = new URL(server.url()).searchParams.get('schema');
    const store = `postgres://lookfirst@127.0.0.1:${relay.port}/postgres?schema=${schema}`;
    const sessions = await Sessions.open({ roots: [root], home, store });
    onTestFinished(() => sessions.close());
    const session = await sessions.session('agent');
    for (const path of [...TEN, 'undone.txt']) await ok(session.read(path));
    await ok(session.edit('undone.txt', EDIT));
    await before?.(session);
    await setTimeout(QUIET_MS);
    const tripsBefore = relay.trips;
    await run(session);
    expect(relay.trips - tripsBefore).toBeLessThanOrEqual(most);
  });

  it('of an opened workspace are two, and three with a workspace name', async () => {
    const url = server.url();
    await (await openPostgresStore(url)).close();
    const relay = await startRelay(server.socket);
    onTestFinished(() => relay.close());
    const schema = new URL(url).searchParams.get('schema');
    const store = `postgres://lookfirst@127.0.0.1:${relay.port}/postgres?schema=${schema}`;
    for (const [workspace, most] of [
      [undefined, 2],
      ['project', 3],
    ] as const) {
      const before = relay.trips;
      const { root, home } = scratch();
      const durability = 'none';
      const fleet = { roots: [root], workspace, imageSecrets: 'here' } as const;
      const state = await openState(store, { home, durability, fleet });
      onTestFinished(() => state.close());
      // Subtract one round trip for connecting.
      expect(relay.trips - before - 1).toBeLessThanOrEqual(most);
    }
  });

  // Each limit includes opening the store and closing it twice: `status` opens the records first, and
  // then the workspaces that the records name. `sessions` lists what `status` lists.
  it.each([
    [['status', 'f0.txt'], 13],
    [['sessions'], 15],
    // Retries are safe: on a busy machine, late queries and polls can add round trips, but not hide
    // any.
  ])(
    'of the command %j are at most %i, whatever the number of sessions',
    { retry: 4 },
    async (args, most) => {
      const { root, home } = scratch();
      writeFileSync(join(root, 'f0.txt'), 'one\ntwo\n');
      const url = server.url();
      const sessions = await Sessions.open({ roots: [root], home, store: url });
      for (const id of ['a', 'b', 'c', 'd', 'e']) {
        const session = await sessions.session(id);
        await ok(session.read('f0.txt'));
        await ok(session.edit('f0.txt', [{ oldString: 'two', newString: `two ${id}` }]));
        await session.checkpoint(`turn of ${id}`);
      }
      await sessions.close();
      // Delay each answer. Otherwise an answer may arrive before the last of several queries is
      // sent, and that query would count as another round trip.
      const relay = await startRelay(server.socket, 50);
      onTestFinished(() => relay.close());
      const schema = new URL(url).searchParams.get('schema');
      const store = `postgres://lookfirst@127.0.0.1:${relay.port}/postgres?schema=${schema}`;
      const env = { ...process.env, LOOKFIRST_HOME: home, LOOKFIRST_STORE: store };
      const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, ...args], { cwd: root, env });
      for (const id of ['a', 'b', 'c', 'd', 'e']) expect(stdout).toMatch(new RegExp(`\\b${id}\\b`));
      expect(relay.trips).toBeLessThanOrEqual(most);
    },
  );

  it('of `log --verify` do not grow with the number of links between chains', async () => {
    const relay = await startRelay(server.socket);
    onTestFinished(() => relay.close());
    const schema = new URL(server.url()).searchParams.get('schema');
    const url = `postgres://lookfirst@127.0.0.1:${relay.port}/postgres?schema=${schema}`;
    const stores: Store[] = [];
    for (let n = 0; n < 8; n++) {
      const store = await openPostgresStore(url);
      onTestFinished(() => store.close());
      stores.push(store);
      // Each store has its own hash chain. Let all stores append an entry, so that the chain of the
      // next store links to a new end of every earlier chain.
      for (const each of stores) await each.record({ entries: [readEntry()] });
    }
    const [first] = stores;
    const before = relay.trips;
    expect(first && (await verifyChain(first))).toMatchObject({ ok: true, entries: 36 });
    expect(relay.trips - before).toBeLessThanOrEqual(8 + 3);
  });
});
