import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { desk, ok, refusal } from '../../test/support/desk.ts';
import { scratch } from '../../test/support/tree.ts';
import type { Session } from '../model/session.ts';
import { currentSession, runInSession } from './ambient.ts';
import { openSession, type SessionOptions, Sessions } from './sessions.ts';

const MISUSE = expect.objectContaining({ code: 'MISUSE' });
const INVALID = expect.objectContaining({ code: 'CONFIG_INVALID' });

async function workspace(): Promise<Sessions> {
  const { root, home } = scratch();
  const sessions = await Sessions.open({ roots: [root], home });
  onTestFinished(() => sessions.close());
  return sessions;
}

describe('a session whose opening failed', () => {
  it.each(['sessions', 'record'] as const)(
    'because of the store (%s) can be opened again',
    async (method) => {
      const sessions = await workspace();
      const { store } = sessions.world;
      const works = store[method];
      Object.assign(store, { [method]: () => Promise.reject(new Error('no answer')) });
      await expect(sessions.session('a')).rejects.toThrow('no answer');
      await expect(sessions.session('a')).rejects.toThrow('no answer');
      Object.assign(store, { [method]: works });
      expect(await (await sessions.session('a')).write('a.txt', 'one\n')).toMatchObject({ ok: true });
    },
  );
});

describe('opening', () => {
  it.each<[object | null | undefined, unknown]>([
    [undefined, MISUSE],
    [null, MISUSE],
    [{ roots: undefined }, INVALID],
    [{ roots: '/' }, INVALID],
    [{ roots: [5] }, INVALID],
    [{ roots: ['.'] }, INVALID],
    [{ presett: 'strict' }, MISUSE],
    [{ readOnly: true }, MISUSE],
    [{ store: 5 }, MISUSE],
    [{ now: 5 }, MISUSE],
    [{ workspace: 5 }, MISUSE],
    [{ sharedWorkspace: 'yes' }, MISUSE],
    [{ policyFile: 5 }, INVALID],
    [{ session: null }, MISUSE],
    [{ session: 5 }, MISUSE],
    [{ session: '' }, MISUSE],
    [{ session: 'a\nb' }, MISUSE],
    [{ session: '\u001b[31mred' }, MISUSE],
    [{ session: '\u202eabc' }, MISUSE],
  ])('with %j is a fault', async (wrong, fault) => {
    const { root, home } = scratch();
    const options = wrong && { roots: [root], home, store: 'memory:', ...wrong };
    // The cast lets the test pass wrong values, as an untyped caller may.
    await expect(openSession(options as SessionOptions)).rejects.toEqual(fault);
  });

  it('suggests the option that was probably meant', async () => {
    const options = { roots: [], presett: 'strict' } as SessionOptions;
    await expect(openSession(options)).rejects.toThrow('unknown option "presett"; did you mean "preset"?');
  });
});

describe('forks and children', () => {
  it('have an id of their own, not that of an open session', async () => {
    const sessions = await workspace();
    const parent = await sessions.session('parent');
    for (const id of ['parent', 5, ''] as string[]) {
      await expect(parent.child(id)).rejects.toEqual(MISUSE);
      await expect(parent.fork(id)).rejects.toEqual(MISUSE);
    }
    await ok(parent.list('.'));
  });

  it('a child starts without sightings, a fork with those of its parent, even under a name that was used before', async () => {
    const t = await desk({ session: 'parent' });
    await t.put('a.txt', 'one\n');
    await t.put('b.txt', 'one\n');
    for (const name of ['kid', 'twin']) {
      const before = await t.open({ session: name });
      await ok(before.read('a.txt'));
      await before.close();
    }
    await ok(t.session.read('b.txt'));
    const child = await t.session.child('kid');
    await refusal(child.write('a.txt', 'x'), 'NOT_READ');
    const fork = await t.session.fork('twin');
    await refusal(fork.write('a.txt', 'x'), 'NOT_READ');
    await ok(fork.write('b.txt', 'x'));
    await Promise.all([child.close(), fork.close()]);
  });
});

describe('closing', () => {
  it.each(['memory:', undefined])('waits for running operations (store %s)', async (store) => {
    const t = await desk(store === undefined ? {} : { store });
    const names = Array.from({ length: 20 }, (_, index) => `f${index}.txt`);
    for (const name of names) await t.put(name, 'one\n');
    await Promise.all(names.map((name) => ok(t.session.read(name))));
    const edits = names.map((name) => t.session.edit(name, [{ oldString: 'one', newString: 'two' }]));
    const found = t.session.search('one');
    await Promise.all([t.session.close(), t.session.close()]);
    await Promise.all(edits.map((edit) => ok(edit)));
    await ok(found);
    expect(names.map((name) => t.text(name))).toEqual(names.map(() => 'two\n'));
  });

  it('of all sessions at once closes the workspace once, after the last session', async () => {
    const t = await desk({ session: 'parent' });
    const others = [await t.session.fork('fork'), await t.session.child('child'), await t.session.child()];
    await Promise.all([t.session, ...others].map((session) => session.close()));
    const again = await t.open({ session: 'child' });
    await ok(again.list('.'));
  });

  it('of a workspace may be repeated; afterwards it opens no session', async () => {
    const sessions = await workspace();
    await sessions.session('a');
    await Promise.all([sessions.close(), sessions.close()]);
    await sessions.close();
    await expect(sessions.session('b')).rejects.toEqual(MISUSE);
  });

  it('succeeds even if the shelf cannot be read', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    await ok(t.session.write('a', 'two\n'));
    rmSync(join(t.home, 'retained'), { recursive: true });
    writeFileSync(join(t.home, 'retained'), 'no folder');
    await t.session.close();
  });

  it('makes every later call reject; none throws synchronously', async () => {
    const { session } = await desk();
    await session.close();
    const calls: (() => Promise<unknown>)[] = [
      () => session.read('a'),
      () => session.write('a', 'x'),
      () => session.apply([]),
      () => session.perform({ kind: 'mkdir', path: 'a' }),
      () => session.vet({ kind: 'mkdir', path: 'a' }),
      () => session.witness({ kind: 'command', command: 'x' }),
      () => session.undo(),
      () => session.child(),
      () => session.fork(),
      () => session.compacted(),
      () => session.exportSightings(),
      () => session.importSightings('{}'),
      () => session.resumeFrom([]),
    ];
    for (const call of calls) await expect(call()).rejects.toEqual(MISUSE);
  });
});

describe('runInSession', () => {
  it('finds a session by its id while one with that id is open', async () => {
    const t = await desk({ session: 'twice' });
    const second = await t.open({ session: 'twice' });
    const current = (): Session => runInSession('twice', () => currentSession());
    expect(current()).toBe(second);
    await second.close();
    expect(current()).toBe(t.session);
    await t.session.close();
    expect(current).toThrow(MISUSE);
  });

  it('finds the sessions of a workspace by their ids', async () => {
    const sessions = await workspace();
    const session = await sessions.session('one');
    expect(runInSession('one', currentSession)).toBe(session);
    await session.close();
    expect(() => runInSession('one', currentSession)).toThrow(MISUSE);
  });

  it('opens a session of a workspace on demand, and keeps it across awaits', async () => {
    const sessions = await workspace();
    const later = async (): Promise<string> => {
      await new Promise(setImmediate);
      return currentSession().id;
    };
    expect(await Promise.all([sessions.run('a', later), sessions.run('b', later)])).toEqual(['a', 'b']);
    expect(await sessions.run('a', currentSession)).toBe(await sessions.session('a'));
    expect(currentSession).toThrow(MISUSE);
  });

  it.each([[null], [5], [{}]])('rejects %j, which is not a session', (session) => {
    expect(() => runInSession(session as unknown as Session, () => 1)).toThrow(MISUSE);
  });

  it('needs a function', async () => {
    const { session } = await desk();
    expect(() => runInSession(session, undefined as unknown as () => void)).toThrow(MISUSE);
  });
});

describe('the path of a refusal in the journal', () => {
  it('is below its root, however the caller wrote it, so that it can be found by its path', async () => {
    const sessions = await workspace();
    const session = await sessions.session('a');
    const [root = ''] = sessions.world.workspace.roots;
    writeFileSync(join(root, 'a.txt'), 'one\n');
    for (const path of ['a.txt', './a.txt', join(root, 'a.txt')])
      expect(await session.write(path, 'two\n')).toMatchObject({ ok: false, refusal: { path } });
    const found = await sessions.world.store.entries({ kinds: ['refusal'], key: join(root, 'a.txt') });
    expect(found.map(({ path }) => path)).toEqual(['a.txt', 'a.txt', 'a.txt']);
  });

  it('outside all roots is as the caller wrote it', async () => {
    const sessions = await workspace();
    const session = await sessions.session('a');
    for (const path of ['/elsewhere/a.txt', '../a.txt'])
      expect(await session.write(path, 'two\n')).toMatchObject({ ok: false });
    const found = await sessions.world.store.entries({ kinds: ['refusal'], order: 'oldest' });
    expect(found.map(({ path }) => path)).toEqual(['/elsewhere/a.txt', '../a.txt']);
  });

  it('is cut to the maximum length of a path', async () => {
    const sessions = await workspace();
    const session = await sessions.session('a');
    const sent = 'x'.repeat(1_000_000);
    expect(await session.read(sent)).toMatchObject({ ok: false, refusal: { path: sent } });
    const [entry] = await sessions.world.store.entries({ kinds: ['refusal'] });
    expect(entry?.path).toMatch(/^x+…$/);
    expect(entry?.path).toHaveLength(4096);
  });
});
