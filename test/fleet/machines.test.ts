import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { verifyChain } from '../../src/journal/verify.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { PostgresConnection } from '../../src/store/postgres/connection.ts';
import { openPostgresRecords } from '../../src/store/postgres/open.ts';
import { countTogether } from '../support/counters.ts';
import { ok, refusal } from '../support/desk.ts';
import { describePostgres, type PostgresServer } from '../support/postgres.ts';
import { scratch } from '../support/tree.ts';

/** A machine: its own folder, state folder and process. */
interface Machine {
  readonly root: string;
  readonly sessions: Sessions;
  session(): Promise<GatedSession>;
  text(name: string): string;
}

async function machine(
  store: string,
  options: { workspace?: string; files?: Readonly<Record<string, string>> } = {},
): Promise<Machine> {
  const { root, home } = scratch();
  for (const [name, text] of Object.entries(options.files ?? {})) {
    mkdirSync(join(root, name, '..'), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const { workspace } = options;
  const sessions = await Sessions.open({ roots: [root], home, store, workspace });
  onTestFinished(() => sessions.close());
  return {
    root,
    sessions,
    session: () => sessions.session('agent'),
    text: (name) => readFileSync(join(root, name), 'utf8'),
  };
}

const EDIT = [{ oldString: 'two', newString: 'zwei' }];

await describePostgres('machines on one PostgreSQL', (server: PostgresServer) => {
  it('a session continues on another machine with its sightings, and undoes there a change it made here', async () => {
    const store = server.url();
    const files = { 'a.txt': 'one\ntwo\n', 'seen.txt': 'seen\n', 'other.txt': 'first bytes\n' };
    const here = await machine(store, { workspace: 'project', files });
    const before = await here.session();
    for (const name of Object.keys(files)) await ok(before.read(name));
    const { change } = await ok(before.edit('a.txt', EDIT));
    await here.sessions.close();

    const there = await machine(store, {
      workspace: 'project',
      files: { ...files, 'a.txt': 'one\nzwei\n', 'other.txt': 'other bytes\n' },
    });
    const after = await there.session();
    await ok(after.write('seen.txt', 'written without reading again\n'));
    await refusal(after.write('other.txt', 'lost\n'), 'STALE');
    await ok(after.undo({ change: change ?? '' }));
    expect(there.text('a.txt')).toBe('one\ntwo\n');
    expect(here.text('a.txt')).toBe('one\nzwei\n');
  });

  it('a change is judged by the stored session, even if this process still remembers reads that another process cleared', async () => {
    const store = server.url();
    const files = { 'a.txt': 'one\ntwo\n', 'b.txt': 'one\ntwo\n' };
    const here = await machine(store, { workspace: 'project', files });
    const session = await here.session();
    for (const name of Object.keys(files)) await ok(session.read(name));
    await ok(session.edit('a.txt', EDIT));
    await ok(session.write('a.txt', 'written from memory\n'));

    const there = await machine(store, { workspace: 'project', files });
    await (await there.session()).compacted();
    // After this read, this process is the last one that wrote to the session in the store. But it
    // still remembers a.txt, which the compaction on the other machine has cleared.
    await ok(session.read('b.txt', { offset: 1, limit: 1 }));
    await refusal(session.write('a.txt', 'forgotten\n'), 'NOT_READ');
    expect(here.text('a.txt')).toBe('written from memory\n');
  });

  it('equal paths on two machines are two workspaces unless --workspace gives them one name', async () => {
    const store = server.url();
    const files = { 'a.txt': 'one\ntwo\n' };
    const [one, two] = [await machine(store, { files }), await machine(store, { files })];
    await ok((await one.session()).read('a.txt'));
    await one.sessions.world.store.state();
    await refusal((await two.session()).write('a.txt', 'lost\n'), 'NOT_READ');
  });

  it('a workspace may have several folders with the same name; a session that read each of them may write each', async () => {
    const store = server.url();
    const { root, home } = scratch();
    const roots = ['main', 'a/src', 'b/src', 'c/src'].map((name) => join(root, name));
    for (const each of roots) {
      mkdirSync(each, { recursive: true });
      writeFileSync(join(each, 'a.txt'), `${each}\n`);
    }
    const agent = async (): Promise<{ sessions: Sessions; session: GatedSession }> => {
      const sessions = await Sessions.open({ roots, home, store, workspace: 'project' });
      onTestFinished(() => sessions.close());
      return { sessions, session: await sessions.session('agent') };
    };
    const { sessions, session } = await agent();
    for (const each of roots) await ok(session.read(join(each, 'a.txt')));
    await sessions.close();
    const { session: later } = await agent();
    for (const each of roots) await ok(later.write(join(each, 'a.txt'), 'written\n'));
  });

  it('a workspace whose folder was moved keeps what was seen and changed there', async () => {
    const store = server.url();
    const { root, home } = scratch();
    const [old, moved] = [join(root, 'with a long name'), join(root, 'short')];
    mkdirSync(old);
    for (const name of ['a.txt', 'b.txt']) writeFileSync(join(old, name), 'one\ntwo\n');
    const at = async (folder: string): Promise<Sessions> => {
      const sessions = await Sessions.open({ roots: [folder], home, store, workspace: 'project' });
      onTestFinished(() => sessions.close());
      return sessions;
    };
    const before = await at(old);
    const session = await before.session('agent');
    for (const name of ['a.txt', 'b.txt']) await ok(session.read(name));
    const { change = '' } = await ok(session.edit('a.txt', EDIT));
    await before.close();
    renameSync(old, moved);
    const later = await (await at(moved)).session('agent');
    await ok(later.write('b.txt', 'written without reading again\n'));
    await ok(later.undo({ change }));
    expect(readFileSync(join(moved, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
    const { store: records } = await openPostgresRecords(store, home, { folders: [join(moved, 'sub')] });
    onTestFinished(() => records.close());
    expect((await records.entries({ kinds: ['change'] })).map((entry) => entry.root)).toEqual(
      Array(3).fill(moved),
    );
  });

  it.each([
    ['inside a folder', '.', 'inner'],
    ['around a folder', 'inner', '.'],
  ])('a named workspace %s belongs to the records of that folder', async (_, near, served) => {
    const store = server.url();
    const { root, home } = scratch();
    mkdirSync(join(root, 'inner'));
    await (await Sessions.open({ roots: [join(root, 'inner')], home, store, workspace: 'inner' })).close();
    const sessions = await Sessions.open({ roots: [join(root, served)], home, store });
    onTestFinished(() => sessions.close());
    await ok((await sessions.session('agent')).write('a.txt', 'written\n'));
    const entries = await sessions.world.store.entries({ near: [join(root, near)], kinds: ['change'] });
    expect(entries.map((entry) => entry.root)).toEqual([join(root, served)]);
  });

  it('a shell command sends only the bytes that it destroys, and can be undone on another machine', async () => {
    const store = server.url();
    const files = { 'a.txt': 'one\n', 'b.txt': 'two\n' };
    const here = await machine(store, { workspace: 'project', files });
    const session = await here.session();
    for (const name of Object.keys(files)) await ok(session.read(name));
    const db = await PostgresConnection.open(store);
    onTestFinished(() => db.close());
    const stored = async (): Promise<unknown> =>
      (await db.query(`select body from ${db.schema}.images`)).map(({ body }) => String(body));
    const change = await session.announceCommand('sed -i s/one/eins/ a.txt', { writes: ['a.txt'] });
    expect(await stored()).toEqual([]);
    writeFileSync(join(here.root, 'a.txt'), 'eins\n');
    await ok(session.settle(change, 'done'));
    expect(await stored()).toEqual(['one\n']);
    const there = await machine(store, { workspace: 'project', files: { ...files, 'a.txt': 'eins\n' } });
    await ok((await there.session()).undo({ change }));
    expect(there.text('a.txt')).toBe('one\n');
  });

  it('entries of another machine name that machine, and every machine can verify every chain', async () => {
    const store = server.url();
    const files = { 'a.txt': 'one\ntwo\n' };
    const one = await machine(store, { workspace: 'w', files });
    await ok((await one.session()).read('a.txt'));
    await ok((await one.session()).edit('a.txt', EDIT));
    const two = await machine(store, { workspace: 'w', files });
    await ok((await two.session()).read('a.txt'));
    await ok((await two.session()).edit('a.txt', EDIT));
    const entries = await two.sessions.world.store.entries({ kinds: ['change'], order: 'oldest' });
    expect(entries.map(({ machine: at }) => typeof at)).toEqual(['string', 'undefined']);
    expect(entries.map(({ root }) => root)).toEqual([two.root, two.root]);
    expect(await verifyChain(two.sessions.world.store)).toMatchObject({ ok: true });
    // Each of the two writers has a hash chain of its own.
    expect((await two.sessions.world.store.state()).chains).toHaveLength(2);
  });

  it('machines that write to one shared folder lose no edit', async () => {
    const machines = { store: server.url(), workspace: 'shared', sharedWorkspace: true };
    const run = { processes: 3, edits: 25 };
    const { refusals: _, ...counted } = await countTogether({ ...run, files: ['a.txt'], machines });
    const all = run.processes * run.edits;
    expect(counted).toEqual({
      acknowledged: all,
      counted: all,
      changes: all,
      sessions: 3,
      pending: 0,
      chain: true,
    });
  });
});
