import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { ok, refusal } from '../support/desk.ts';
import { openRemote } from '../support/remote.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

function withFiles(...names: readonly string[]): Scratch {
  const places = scratch();
  for (const name of names) writeFileSync(join(places.root, name), `${name}\n`);
  return places;
}

/** Opens the workspace as a further process would, on the same state. */
function start({ root, home }: Scratch, nowMs?: number): Promise<Sessions> {
  return Sessions.open({ roots: [root], home, ...(nowMs === undefined ? {} : { now: () => nowMs }) });
}

async function texts(sessions: Sessions, session: string): Promise<(string | undefined)[]> {
  const entries = await sessions.world.store.entries({ session, kinds: ['session'], order: 'oldest' });
  return entries.map((entry) => entry.text);
}

describe('a named session', () => {
  it.each(['closed', 'killed'] as const)(
    'is resumed with its sightings after its process was %s',
    async (how) => {
      const places = withFiles('a.txt');
      const { root, home } = places;
      const first = await openRemote({ roots: [root], home, session: 'agent' });
      await ok(first.call('read', 'a.txt'));
      // When this query is answered, the store has recorded everything that was shown before.
      await ok(first.call('status'));
      await (how === 'closed' ? first.close() : first.kill());
      const second = await openRemote({ roots: [root], home, session: 'agent' });
      await ok(second.call('write', 'a.txt', 'two\n'));
    },
  );

  it('is one session however often a process opens it', async () => {
    const places = withFiles('a.txt');
    const [one, other] = [await start(places), await start(places)];
    const [first, second] = [await one.session('agent'), await other.session('agent')];
    await ok(first.read('a.txt'));
    await ok(second.write('a.txt', 'two\n'));
    await ok(first.write('a.txt', 'three\n'));
    await Promise.all([one.close(), other.close()]);
  });

  it('drops sightings of changed files when it is resumed', async () => {
    const places = withFiles('same.txt', 'other.txt', 'gone.txt');
    let sessions = await start(places);
    const first = await sessions.session('agent');
    for (const name of ['same.txt', 'other.txt']) await ok(first.read(name));
    await sessions.close();
    writeFileSync(join(places.root, 'other.txt'), 'by hand\n');

    sessions = await start(places);
    const second = await sessions.session('agent');
    await second.resumed();
    await ok(second.write('same.txt', 'two\n'));
    await refusal(second.write('other.txt', 'two\n'), 'NOT_READ');
    expect(await texts(sessions, 'agent')).toEqual(['opened', 'resumed']);
    await sessions.close();
  });

  it('gets STALE with the diff for a changed file if `resumed` was not called', async () => {
    const places = withFiles('a.txt');
    let sessions = await start(places);
    await ok((await sessions.session('agent')).read('a.txt'));
    await sessions.close();
    writeFileSync(join(places.root, 'a.txt'), 'by hand\n');
    sessions = await start(places);
    const { detail } = await refusal((await sessions.session('agent')).write('a.txt', 'two\n'), 'STALE');
    expect(detail?.diff).toContain('+by hand');
    await sessions.close();
  });

  it('stays open in its record if it is opened again while it closes', async () => {
    const sessions = await start(withFiles('a.txt'));
    const first = await sessions.session('agent');
    const writing = first.write('b.txt', 'two\n');
    const closing = first.close();
    const second = await sessions.session('agent');
    await ok(writing);
    await closing;
    expect(await sessions.world.store.session('agent')).not.toHaveProperty('closedMs');
    await second.close();
    expect(await sessions.world.store.session('agent')).toHaveProperty('closedMs');
    await sessions.close();
  });

  it('stays open in its record until every workspace of the process has closed it', async () => {
    const places = withFiles('a.txt');
    const [one, other] = [await start(places), await start(places)];
    const [first, second] = [await one.session('agent'), await other.session('agent')];
    await first.close();
    expect(await one.world.store.session('agent')).not.toHaveProperty('closedMs');
    await second.close();
    expect(await one.world.store.session('agent')).toHaveProperty('closedMs');
    await Promise.all([one.close(), other.close()]);
  });

  it('cannot begin anew as a child while another process has it open', async () => {
    const places = withFiles('a.txt');
    const { root, home } = places;
    const remote = await openRemote({ roots: [root], home, session: 'worker' });
    await ok(remote.call('read', 'a.txt'));
    const sessions = await start(places);
    const parent = await sessions.session('parent');
    await expect(parent.child('worker')).rejects.toThrow('is open in another process');
    await expect(parent.fork('worker')).rejects.toThrow('is open in another process');
    await ok(remote.call('write', 'a.txt', 'two\n'));
    await remote.close();
    await parent.child('worker');
    await sessions.close();
  });

  it('is still a child of its parent after it was resumed by its id', async () => {
    const places = withFiles('a.txt');
    const sessions = await start(places);
    const parent = await sessions.session('parent');
    await (await parent.child('worker')).close();
    await sessions.session('worker');
    expect(await sessions.world.store.session('worker')).toMatchObject({ parent: 'parent' });
    await sessions.close();
  });

  it('has no sightings after it was forgotten', async () => {
    const places = withFiles('a.txt');
    const sessions = await start(places);
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    await session.forget();
    await refusal(session.write('a.txt', 'two\n'), 'NOT_READ');
    await sessions.close();
  });

  it('keeps its record after it was forgotten, and its claims begin anew', async () => {
    const places = withFiles('a.txt');
    const sessions = await start(places);
    const session = await sessions.session('agent');
    await ok(session.write('b.txt', 'one\n'));
    await session.forget();
    expect(await session.claims()).toEqual([]);
    expect(await sessions.world.store.session('agent')).toMatchObject({ id: 'agent' });
    await ok(session.write('c.txt', 'one\n'));
    expect(await session.claims()).toMatchObject([{ session: 'agent', path: 'c.txt' }]);
    await sessions.close();
  });
});

it('an unnamed session is forgotten when it is closed', async () => {
  const places = withFiles('a.txt');
  const { root, home } = places;
  const session = await openRemote({ roots: [root], home });
  await ok(session.call('read', 'a.txt'));
  await session.close();
  const sessions = await start(places);
  expect(await sessions.world.store.sessions()).toEqual([]);
  expect(await sessions.world.store.sightings(session.id)).toEqual([]);
  await sessions.close();
});

describe('a session that was idle for longer than the policy allows', () => {
  const NOW = Date.now();
  const rows = [
    ['named', 'agent', NOW + 8 * DAY_MS, 'NOT_READ'],
    ['named and not yet idle', 'agent', NOW + 6 * DAY_MS, undefined],
  ] as const;

  it.each(rows)('%s', async (_what, name, laterMs, code) => {
    const places = withFiles('a.txt');
    let sessions = await start(places, NOW);
    await ok((await sessions.session(name)).read('a.txt'));
    await sessions.close();
    sessions = await start(places, laterMs);
    const session = await sessions.session(name);
    if (code === undefined) await ok(session.write('a.txt', 'two\n'));
    else await refusal(session.write('a.txt', 'two\n'), code);
    const told = await texts(sessions, name);
    expect(told).toEqual(code === undefined ? ['opened', 'resumed'] : ['opened', 'expired', 'opened']);
    await sessions.close();
  });

  it('is forgotten when another session starts, whether it was named or killed without a name', async () => {
    const places = withFiles('a.txt');
    const { root, home } = places;
    const killed = await openRemote({ roots: [root], home });
    await ok(killed.call('read', 'a.txt'));
    await ok(killed.call('status'));
    await killed.kill();
    const sessions = await start(places, NOW + 30 * DAY_MS);
    await sessions.session('new');
    expect((await sessions.world.store.sessions()).map(({ id }) => id)).toEqual(['new']);
    expect(await sessions.world.store.sightings(killed.id)).toEqual([]);
    await sessions.close();
  });

  it('is kept while it is in use, even if it was opened long ago', async () => {
    const places = withFiles('a.txt');
    let nowMs = NOW;
    const { root, home } = places;
    const long = await Sessions.open({ roots: [root], home, now: () => nowMs });
    const session = await long.session();
    nowMs += 6 * DAY_MS;
    await ok(session.read('a.txt'));
    const other = await start(places, NOW + 12 * DAY_MS);
    await other.session();
    await ok(session.write('a.txt', 'two\n'));
    await other.close();
    await long.close();
  });

  it('is kept if it belongs to another workspace', async () => {
    const [one, two] = [withFiles('a.txt'), withFiles('b.txt')];
    const sessions = await start(one, NOW);
    await sessions.session('agent');
    const other = await Sessions.open({ roots: [two.root], home: one.home, now: () => NOW + 30 * DAY_MS });
    await other.session();
    expect((await sessions.world.store.sessions()).map(({ id }) => id)).toContain('agent');
    await other.close();
    await sessions.close();
  });
});
