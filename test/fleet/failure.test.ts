import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { verifyChain } from '../../src/journal/verify.ts';
import { Fault } from '../../src/model/fault.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { openState } from '../../src/store/open-state.ts';
import { ok } from '../support/desk.ts';
import { describePostgres, type PostgresServer } from '../support/postgres.ts';
import { type Relay, startRelay } from '../support/relay.ts';
import { type Scratch, scratch } from '../support/tree.ts';

/** Longer than the deadline of a call, with time for a loaded machine. */
const ANSWERED_MS = 20_000;

async function through(server: PostgresServer, url: string): Promise<{ relay: Relay; url: string }> {
  const relay = await startRelay(server.socket);
  onTestFinished(() => relay.close());
  const schema = new URL(url).searchParams.get('schema');
  return { relay, url: `postgres://lookfirst@127.0.0.1:${relay.port}/postgres?schema=${schema}` };
}

async function opened(store: string, { root, home }: Scratch): Promise<Sessions> {
  const sessions = await Sessions.open({ roots: [root], home, store });
  onTestFinished(() => sessions.close().catch(() => undefined));
  return sessions;
}

/** The fault of a call that must not hang. */
async function faultOf(call: Promise<unknown>): Promise<Fault> {
  const late = new Promise((resolve) => setTimeout(resolve, ANSWERED_MS).unref());
  const ended = await Promise.race([call.catch((error: unknown) => error), late]);
  if (!(ended instanceof Fault)) expect.fail(`expected a fault, not ${JSON.stringify(ended)}`);
  return ended;
}

const WRITTEN = 'written while the server was away\n';

await describePostgres('a PostgreSQL that fails', (server) => {
  it('frozen: changes are refused within the deadline, reads go on, and their notes arrive later', async () => {
    const places = scratch();
    for (const name of ['a.txt', 'b.txt']) writeFileSync(join(places.root, name), `${name}\n`);
    const { relay, url } = await through(server, server.url());
    const sessions = await opened(url, places);
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    relay.frozen = true;
    const fault = await faultOf(session.write('a.txt', WRITTEN));
    expect(fault).toMatchObject({ code: 'STORE_FAILED', unchanged: true });
    expect(fault.message).toContain('fleet store');
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('a.txt\n');
    expect((await ok(session.read('b.txt'))).text).toContain('b.txt');
    relay.frozen = false;
    relay.cut();
    await expect
      .poll(() =>
        session.write('b.txt', WRITTEN).then(
          (outcome) => outcome.ok,
          () => false,
        ),
      )
      .toBe(true);
    await ok(session.write('a.txt', WRITTEN));
  });

  it('unreachable at the start: nothing is opened, and no other store takes its place', async () => {
    const { home } = scratch();
    const url = 'postgres://lookfirst@127.0.0.1:9/postgres';
    await expect(openState(url, { home, durability: 'none' })).rejects.toMatchObject({
      code: 'STORE_FAILED',
      reason: 'unsent',
    });
  });

  it('connection cut between two changes: the next one goes through on a new connection', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'a.txt\n');
    const { relay, url } = await through(server, server.url());
    const session = await (await opened(url, places)).session('agent');
    await ok(session.read('a.txt'));
    for (let n = 0; n < 5; n++) {
      relay.cut();
      await ok(session.write('a.txt', `${n}\n`));
    }
  });

  it('an answer that is lost: the record is sent again and counts once', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), '0\n');
    const { relay, url } = await through(server, server.url());
    const sessions = await opened(url, places);
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    const cutting = setInterval(() => relay.cut(), 120);
    let done = 0;
    for (let n = 1; n <= 60; n++) {
      // Three cuts in a row are a fault; what became of the change is seen below.
      const outcome = await session.write('a.txt', `${n}\n`).catch(() => undefined);
      if (outcome?.ok === true) done += 1;
      else await session.read('a.txt').catch(() => undefined);
    }
    clearInterval(cutting);
    expect(done).toBeGreaterThan(0);
    await agrees(server, sessions, places, 'a.txt');
  });

  it.each([[40]])(
    'killed in the middle of %i edits: every file is old or new, and the journal agrees',
    async (edits) => {
      await killedInTheMiddle(server, edits);
    },
  );
});

/** Edits files one after the other while the server dies and comes back. */
async function killedInTheMiddle(server: PostgresServer, edits: number): Promise<void> {
  const places = scratch();
  const names = Array.from({ length: edits }, (_, n) => `f${n}.txt`);
  for (const name of names) writeFileSync(join(places.root, name), 'old\n');
  const sessions = await opened(server.url(), places);
  const session = await sessions.session('agent');
  for (const name of names) await ok(session.read(name));
  const refused: string[] = [];
  let killed: Promise<void> | undefined;
  for (const [index, name] of names.entries()) {
    if (index === Math.floor(edits / 3)) killed = server.kill();
    if (index === Math.floor((2 * edits) / 3)) {
      await killed;
      await server.start();
      // A server that was not there is not tried again at once.
      await expect
        .poll(() =>
          sessions.world.store.state().then(
            () => true,
            () => false,
          ),
        )
        .toBe(true);
    }
    const edit = session.edit(name, [{ oldString: 'old', newString: 'new' }]);
    const outcome = await edit.catch((error: unknown) => error);
    if (!(outcome instanceof Object && 'ok' in outcome && outcome.ok === true)) refused.push(name);
  }
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(edits);
  for (const name of names)
    expect(['old\n', 'new\n']).toContain(readFileSync(join(places.root, name), 'utf8'));
  await sessions.close();
  const later = await opened(sessions.world.store.url, places);
  for (const name of names) await agrees(server, later, places, name);
}

/** What the journal says last about a file is what the file holds, after a look by one who settles what was left. */
async function agrees(
  server: PostgresServer,
  sessions: Sessions,
  { root }: Scratch,
  name: string,
): Promise<void> {
  expect(server.socket).toBeTruthy();
  const { store } = sessions.world;
  const witness = await sessions.session('witness');
  await ok(witness.read(name));
  const text = readFileSync(join(root, name), 'utf8');
  // Writing is what settles the change that a lost answer has left.
  await ok(witness.write(name, `${text}end\n`));
  const entries = await store.entries({ key: join(root, name), kinds: ['change'], order: 'oldest' });
  const sides = entries.flatMap(({ effects = [] }) => effects.filter(({ key }) => key === join(root, name)));
  for (const [index, { before }] of sides.entries()) {
    const previous = sides[index - 1];
    if (previous !== undefined) expect(before).toMatchObject({ fingerprint: fingerprintIn(previous.after) });
  }
  expect(await store.pending({ here: true })).toEqual([]);
  expect(await verifyChain(store)).toMatchObject({ ok: true });
}

function fingerprintIn(side: object): unknown {
  return 'fingerprint' in side ? side.fingerprint : undefined;
}
