import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import type { Store } from '../../src/store/store.ts';
import { ok } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';

/**
 * Calls that need no round trip, because they are answered from memory: a synchronous call cannot
 * wait for a network.
 */
const FREE: ReadonlySet<string> = new Set(['changesSince']);
const WRITES: ReadonlySet<string> = new Set(['record', 'note', 'prune']);

/** Names of the calls that a store received, in order. */
type Calls = string[];

/**
 * A store that logs its calls, except those in `FREE`. A store behind a network needs a round trip
 * for each logged call.
 */
function counted(store: Store, calls: Calls): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...values: unknown[]) => {
        const answer = Reflect.apply(member, target, values) as unknown;
        if (!FREE.has(String(name)) || answer instanceof Promise) calls.push(String(name));
        return answer;
      };
    },
  });
}

async function countedSessions(
  claims: 'notice' | 'off' = 'notice',
): Promise<{ sessions: Sessions; calls: Calls }> {
  const { root, home } = scratch();
  for (let n = 0; n < 10; n++) writeFileSync(join(root, `f${n}.txt`), `one\ntwo ${n}\nthree\n`);
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:', policy: { claims } });
  onTestFinished(() => sessions.close());
  const calls: Calls = [];
  Object.assign(sessions.world, { store: counted(sessions.world.store, calls) });
  return { sessions, calls };
}

const TEN = Array.from({ length: 10 }, (_, n) => `f${n}.txt`);
const EDIT = [{ oldString: 'two', newString: 'zwei' }];

describe('calls to the store', () => {
  it.each<[string, { reads: number; writes: number }, (session: GatedSession) => Promise<unknown>]>([
    ['a read', { reads: 1, writes: 1 }, (session) => ok(session.read('f0.txt'))],
    ['an edit', { reads: 3, writes: 2 }, (session) => ok(session.edit('f0.txt', EDIT))],
    ['a creation', { reads: 3, writes: 2 }, (session) => ok(session.write('new.txt', 'new\n'))],
    [
      'a batch of ten edits',
      { reads: 3, writes: 2 },
      (session) => ok(session.apply(TEN.map((path) => ({ kind: 'edit', path, edits: EDIT })))),
    ],
    ['a refused overwrite', { reads: 4, writes: 2 }, (session) => session.write('unread.txt', 'new\n')],
  ])('of %s are at most %j', async (_what, most, run) => {
    const { sessions, calls } = await countedSessions();
    writeFileSync(join(sessions.world.workspace.roots[0] ?? '', 'unread.txt'), 'unread\n');
    const session = await sessions.session('agent');
    for (const path of TEN) await ok(session.read(path));
    calls.length = 0;
    await run(session);
    const writes = calls.filter((name) => WRITES.has(name)).length;
    expect(writes, calls.join(' ')).toBeLessThanOrEqual(most.writes);
    expect(calls.length - writes, calls.join(' ')).toBeLessThanOrEqual(most.reads);
  });

  it("of an edit do not increase because of its claim or another session's claims", async () => {
    const run = async (policy: 'notice' | 'off'): Promise<string> => {
      const { sessions, calls } = await countedSessions(policy);
      const other = await sessions.session('other');
      await ok(other.read('f1.txt'));
      await ok(other.edit('f1.txt', EDIT));
      const session = await sessions.session('agent');
      await session.beginTurn({ turn: 'p1' });
      await ok(session.read('f0.txt'));
      calls.length = 0;
      await ok(session.edit('f0.txt', EDIT));
      await ok(session.read('f0.txt'));
      expect((await sessions.world.claims.inFamily()).length).toBeGreaterThan(1);
      return calls.filter((name) => name !== 'session').join(' ');
    };
    expect(await run('notice')).toBe(await run('off'));
  });

  it('of opening a session do not fetch sessions of other workspaces', async () => {
    const { sessions, calls } = await countedSessions();
    await sessions.session('agent');
    expect(calls).toEqual(['sessions', 'session', 'record', 'session']);
  });
});
