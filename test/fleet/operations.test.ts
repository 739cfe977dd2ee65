import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { verifyChain } from '../../src/journal/verify.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { PostgresConnection } from '../../src/store/postgres/connection.ts';
import { openPostgresRecords } from '../../src/store/postgres/open.ts';
import { ok } from '../support/desk.ts';
import { describePostgres } from '../support/postgres.ts';
import { scratch } from '../support/tree.ts';
import { opened } from './killed.ts';
import { printedOn } from './machine.ts';

const run = promisify(execFile);

/**
 * Opens the workspace as another process would, edits a file and closes the workspace. Returns the
 * id of the change.
 */
async function edited({
  root,
  home,
  store,
  workspace,
  id = 'agent',
}: {
  root: string;
  home: string;
  store: string;
  workspace?: string;
  id?: string;
}): Promise<string> {
  writeFileSync(join(root, 'a.txt'), 'one\ntwo\n');
  const sessions = await Sessions.open({ roots: [root], home, store, workspace });
  const session = await sessions.session(id);
  await ok(session.read('a.txt'));
  const { change = '' } = await ok(session.edit('a.txt', [{ oldString: 'two', newString: 'zwei' }]));
  await sessions.close();
  return change;
}

await describePostgres('the command line on a fleet', (server) => {
  it('shows and undoes changes that another machine made in the same workspace', async () => {
    const store = server.url();
    const [one, two] = [scratch(), scratch()];
    for (const { root } of [one, two]) writeFileSync(join(root, 'a.txt'), 'one\ntwo\n');
    const sessions = await Sessions.open({ roots: [one.root], home: one.home, store, workspace: 'project' });
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    const { change = '' } = await ok(session.edit('a.txt', [{ oldString: 'two', newString: 'zwei' }]));
    await sessions.close();
    const there = await Sessions.open({ roots: [two.root], home: two.home, store, workspace: 'project' });
    await there.close();
    const at = { ...two, store };
    const [entry] = (await printedOn(at, 'log', '--kind', 'change', '--json')).trim().split('\n');
    expect(JSON.parse(entry ?? '')).toMatchObject({
      change,
      workspace: 'project',
      machine: expect.any(String),
      root: two.root,
    });
    expect(await printedOn(at, 'log')).toMatch(/MACHINE\s+WORKSPACE[\s\S]*project/);
    const machine = String(JSON.parse(entry ?? '').machine);
    for (const command of ['sessions', 'status'])
      expect(await printedOn(at, command), command).toMatch(
        new RegExp(`SESSION\\s+WORKSPACE\\s+MACHINE[^]*agent\\s+project\\s+${machine}\\s`),
      );
    const [found] = (await printedOn(at, 'sessions', '--json')).trim().split('\n');
    expect(JSON.parse(found ?? '')).toMatchObject({ id: 'agent', workspace: 'project', machine });
    expect(await printedOn(at, 'log', '--verify')).toContain('unbroken chain');
    writeFileSync(join(two.root, 'a.txt'), 'one\nzwei\n');
    expect(await printedOn(at, 'undo', change)).toContain('a.txt');
    expect(await printedOn(at, 'doctor')).toMatch(/fleet\s+PostgreSQL/);
  });

  it('a machine that never served a workspace reads and undoes its changes under the name of the workspace', async () => {
    const store = server.url();
    const [one, two] = [scratch(), scratch()];
    const change = await edited({ ...one, store, workspace: 'project' });
    writeFileSync(join(two.root, 'a.txt'), 'one\nzwei\n');
    const at = { ...two, store };
    const named = ['--workspace', 'project'];
    expect(await printedOn(at, 'log')).toContain('--workspace NAME');
    expect(await printedOn(at, 'log', ...named)).toMatch(/edit\s+a\.txt\s.*project/);
    expect(await printedOn(at, 'status', ...named)).toMatch(
      /last change\s+edit a\.txt[\s\S]*agent\s+project/,
    );
    expect(await printedOn(at, 'diff', ...named)).toContain('-two\n+zwei');
    expect(await printedOn(at, 'undo', '--session', 'agent', ...named)).toContain('took back 1 change');
    expect(readFileSync(join(two.root, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
    expect(await printedOn(at, 'log', '--kind', 'change')).toContain(change.slice(0, 8));
  });

  it('undo says why it cannot take back a change of a workspace that this machine does not have', async () => {
    const store = server.url();
    const [one, two, three] = [scratch(), scratch(), scratch()];
    const named = await edited({ ...one, store, workspace: 'project' });
    const unnamed = await edited({ ...two, store });
    const at = { ...three, store };
    expect(await printedOn(at, 'undo', named)).toContain(
      'the workspace project has no folder on this machine: run the command in a copy of it, with --workspace project',
    );
    expect(await printedOn(at, 'undo', unnamed)).toMatch(
      new RegExp(`this was recorded in ${two.root} on the machine \\S+: run the command there`),
    );
    expect(await printedOn(at, 'diff', unnamed)).toContain(`this was recorded in ${two.root}`);
  });

  it('a command leaves the names of workspaces that it was not given', async () => {
    const store = server.url();
    const [one, two] = [scratch(), scratch()];
    await edited({ ...one, store, workspace: 'project' });
    const change = await edited({ ...two, home: one.home, store, workspace: 'other' });
    const at = { ...one, store };
    for (const command of [['status', '--all'], ['gc'], ['undo', change]])
      expect(
        await printedOn({ ...at, root: tmpdir() }, ...command, '--workspace', 'project'),
        command[0],
      ).not.toBe('');
    const db = await PostgresConnection.open(store);
    onTestFinished(() => db.close());
    expect(await db.query(`select root, workspace from ${db.schema}.places order by workspace`)).toEqual([
      { root: two.root, workspace: 'other' },
      { root: one.root, workspace: 'project' },
    ]);
  });

  it.each([
    ['both', ['a.txt', 'b.txt']],
    ['both, the second one first', ['b.txt', 'a.txt']],
    ['the second one', ['b.txt']],
  ])(
    'undo of a change in %s of two roots names them in the order in which the user gives them',
    async (_, names) => {
      const store = server.url();
      const [one, two] = [scratch(), scratch()];
      const pair = ({ root }: { root: string }) => ({
        'a.txt': join(root, 'first'),
        'b.txt': join(root, 'second'),
      });
      for (const roots of [pair(one), pair(two)])
        for (const [name, root] of Object.entries(roots)) {
          mkdirSync(root);
          writeFileSync(join(root, name), 'one\n');
        }
      const served = { roots: Object.values(pair(one)), home: one.home, store, workspace: 'project' };
      const sessions = await Sessions.open(served);
      const session = await sessions.session('agent');
      const paths = names.map((name) =>
        join(name === 'a.txt' ? pair(one)['a.txt'] : pair(one)['b.txt'], name),
      );
      for (const path of paths) await ok(session.read(path));
      await ok(session.apply(paths.map((path) => ({ kind: 'write', path, content: 'two\n' }))));
      await sessions.close();
      for (const path of paths) writeFileSync(path.replace(one.root, two.root), 'two\n');
      const at = { ...two, store };
      const folders = Object.values(pair(two)).flatMap((root) => ['--root', root]);
      const undone = await printedOn(at, 'undo', '--workspace', 'project', ...folders);
      expect(undone).toContain('took back 1 change');
      for (const path of paths) expect(readFileSync(path.replace(one.root, two.root), 'utf8')).toBe('one\n');
      const db = await PostgresConnection.open(store);
      onTestFinished(() => db.close());
      const rows = await db.query(
        `select workspace from ${db.schema}.places where root like $1 order by root`,
        [`${two.root}%`],
      );
      expect(rows).toEqual([{ workspace: 'project' }, { workspace: 'project+second' }]);
    },
  );

  it('status saves no name, and finds the sessions of folders inside and of other worktrees', async () => {
    const store = server.url();
    const [one, two, other] = [scratch(), scratch(), scratch()];
    const change = await edited({ ...one, store, workspace: 'project' });
    mkdirSync(join(one.root, 'sub'));
    await edited({ root: join(one.root, 'sub'), home: one.home, store, id: 'other' });
    mkdirSync(join(two.root, 'sub'));
    const git = (...args: string[]) =>
      run('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: two.root });
    await git('init', '-q');
    await git('commit', '-q', '--allow-empty', '-m', 'first');
    await git('worktree', 'add', '-q', join(other.root, 'tree'));
    const at = { ...two, store };
    const shown = await printedOn(at, 'status', 'a.txt', '--workspace', 'project');
    expect(shown).toContain(`last change ${change}`);
    expect(await printedOn(at, 'status', '--workspace', 'project')).toMatch(/last change\s+edit sub\/a\.txt/);
    const db = await PostgresConnection.open(store);
    onTestFinished(() => db.close());
    expect(await db.query(`select root from ${db.schema}.places`)).toEqual([{ root: one.root }]);
  });

  it('the writer role can record changes and cannot alter recorded entries', async () => {
    const url = server.url();
    const owner = await opened(url, scratch());
    await owner.close();
    const db = await PostgresConnection.open(url);
    onTestFinished(() => db.close());
    const role = `writer_${process.pid}`;
    for (const statement of [
      `create role ${role} login`,
      `grant usage on schema S to ${role}`,
      `grant select on all tables in schema S to ${role}`,
      `grant execute on all functions in schema S to ${role}`,
    ])
      await db.query(statement.replace('S', db.schema));
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\ntwo\n');
    const asWriter = url.replace('lookfirst@', `${role}@`);
    const sessions = await opened(asWriter, places);
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    await ok(session.edit('a.txt', [{ oldString: 'two', newString: 'zwei' }]));
    await ok(session.undo());
    await expect(sessions.world.store.prune(1)).rejects.toMatchObject({ reason: 'read-only' });
    const writer = await PostgresConnection.open(asWriter);
    onTestFinished(() => writer.close());
    await expect(writer.query(`delete from ${db.schema}.entries`)).rejects.toMatchObject({
      reason: 'read-only',
    });
  });

  it('the reader role can read the journal and cannot record anything', async () => {
    const url = server.url();
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\ntwo\n');
    const owner = await opened(url, places);
    const session = await owner.session('agent');
    await ok(session.read('a.txt'));
    await ok(session.edit('a.txt', [{ oldString: 'two', newString: 'zwei' }]));
    const db = await PostgresConnection.open(url);
    onTestFinished(() => db.close());
    const role = `reader_${process.pid}`;
    for (const statement of [
      `create role ${role} login`,
      `grant usage on schema S to ${role}`,
      `grant select on all tables in schema S to ${role}`,
    ])
      await db.query(statement.replace('S', db.schema));
    const asReader = url.replace('lookfirst@', `${role}@`);
    const { store } = await openPostgresRecords(asReader, scratch().home);
    onTestFinished(() => store.close());
    expect(await store.entries({ kinds: ['change'] })).toHaveLength(1);
    expect(await verifyChain(store)).toMatchObject({ ok: true });
    await expect(store.record({ settle: ['c1'] })).rejects.toMatchObject({ reason: 'read-only' });
    const at = { ...places, store: asReader };
    expect(await printedOn(at, 'log', '--kind', 'change')).toContain('a.txt');
    const elsewhere = scratch();
    const unserved = { ...elsewhere, store: asReader };
    const named = ['--workspace', 'project'];
    await edited({ ...scratch(), store: url, workspace: 'project' });
    expect(await printedOn(unserved, 'status', ...named)).toMatch(
      /last change\s+edit a\.txt[\s\S]*agent\s+project/,
    );
    expect(await printedOn(unserved, 'undo', ...named)).toContain('give it the rights of a writer');
    const reading = await Sessions.open({ roots: [at.root], home: at.home, store: at.store });
    await expect(reading.session('agent')).rejects.toMatchObject({ reason: 'read-only' });
    await expect(reading.session('agent')).rejects.toMatchObject({ reason: 'read-only' });
    await reading.close();
    expect(await printedOn(at, 'doctor')).toMatch(/warn\s+fleet\s+this user can read the journal/);
    const standby = `${url}&options=${encodeURIComponent('-c default_transaction_read_only=on')}`;
    expect(await printedOn({ ...at, store: standby }, 'doctor')).toMatch(
      /fail\s+fleet\s+the server is read-only/,
    );
    expect(await printedOn({ ...at, store: url }, 'doctor')).toMatch(/ok\s+fleet\s+changes can be recorded/);
  });
});
