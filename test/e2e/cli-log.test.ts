import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open-state.ts';
import { loadSqlite } from '../../src/store/sqlite/driver.ts';
import { environment, lookfirst, objects, PROGRAM, timeless } from '../support/command-line.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';
import { WatchedChild } from '../support/watched-child.ts';

/** A named session with one refusal, one read, one overwrite and a new file in a folder. */
async function busyDesk(): Promise<Desk> {
  const work = await desk({ session: 'agent-7' });
  await work.put('a.txt', 'one\n');
  await refusal(work.session.write('a.txt', 'blind\n'), 'NOT_READ');
  await ok(work.session.read('a.txt'));
  await ok(work.session.write('a.txt', 'two\n'));
  await ok(work.session.write('src/deep/b.ts', 'b\n'));
  return work;
}

const kinds = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map((row) => row['kind']);

describe('lookfirst log', () => {
  it('prints the newest entry first, with the action, the file and the session', async () => {
    const work = await busyDesk();
    const { code, stdout } = await lookfirst(work, ['log']);
    const lines = stdout.trimEnd().split('\n');
    expect(code).toBe(0);
    expect(lines.map(timeless)).toEqual([
      'WHEN|WHAT|PATH|+/-|SESSION|CHANGE',
      'just now|create|src/deep/b.ts|+1 -0|agent-7|ID',
      'just now|overwrite|a.txt|+1 -1|agent-7|ID',
      'just now|read whole|a.txt|agent-7',
      'just now|refused overwrite NOT_READ|a.txt|agent-7',
      'just now|session opened|agent-7',
    ]);
  });

  it('says of a read if lines were cut, secrets were masked, or the file was only described', async () => {
    const work = await desk({ session: 'agent-7' });
    await work.put('long.txt', `${'x'.repeat(100_000)}\n`);
    await work.put('.env', 'TOKEN=abcdefghijklmnop\n');
    await work.put('a.png', Buffer.from('89504e470d0a1a0a0000', 'hex'));
    for (const path of ['long.txt', '.env', 'a.png']) await ok(work.session.read(path));
    await work.session.close();
    const { stdout } = await lookfirst(work, ['log', '--kind', 'read']);
    expect(stdout.trimEnd().split('\n').map(timeless)).toEqual([
      'WHEN|WHAT|PATH|SESSION|CHANGE',
      'just now|read (described, not shown)|a.png|agent-7',
      'just now|read whole (secrets masked)|.env|agent-7',
      'just now|read whole (long lines cut)|long.txt|agent-7',
    ]);
    const rows = objects(await lookfirst(work, ['log', '--kind', 'read', '--json']));
    expect(rows.map(({ shown }) => shown)).toEqual([['described'], ['masked'], ['cut']]);
    expect(await lookfirst(work, ['log', '--verify'])).toMatchObject({ code: 0 });
  });

  it('prints with --json one object per line, with the journal’s fields and an ISO time', async () => {
    const work = await busyDesk();
    const [newest, ...older] = objects(await lookfirst(work, ['log', '--json']));
    expect(Object.keys(newest ?? {})).toEqual([
      'seq',
      'at',
      'atMs',
      'kind',
      'session',
      'root',
      'action',
      'effects',
      'path',
      'change',
      'hash',
    ]);
    expect(newest).toMatchObject({
      kind: 'change',
      session: 'agent-7',
      root: work.root,
      path: 'src/deep/b.ts',
    });
    expect(new Date(String(newest?.['at'])).getTime()).toBe(newest?.['atMs']);
    expect(kinds(older)).toEqual(['change', 'read', 'refusal', 'session']);
  });

  it('shows both names of a move, and absolute times with --date iso', async () => {
    const work = await busyDesk();
    await ok(work.session.move('a.txt', 'moved.txt'));
    const { code, stdout } = await lookfirst(work, ['log', '--date', 'iso', '--limit', '1']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z +move +a\.txt -> moved\.txt +agent-7/m);
  });

  it('names the client, and groups entries by turn with --by-turn', async () => {
    const work = await desk({ session: 'agent-7', client: 'claude-code' });
    await ok(work.session.write('a.txt', 'one\n'));
    await work.session.beginTurn({ turn: 'prompt-2', prompt: 'add a line' });
    await ok(work.session.append('a.txt', 'two\n'));
    const { stdout } = await lookfirst(work, ['log', '--kind', 'change,turn', '--by-turn']);
    expect(stdout.trimEnd().split('\n').map(timeless)).toEqual([
      'WHEN|WHAT|PATH|+/-|SESSION|CHANGE|CLIENT',
      'turn prompt-2 of agent-7: add a line',
      'just now|insert|a.txt|+1 -0|agent-7|ID|claude-code',
      'just now|turn: add a line|agent-7|claude-code',
      'outside of turns',
      'just now|create|a.txt|+1 -0|agent-7|ID|claude-code',
    ]);
    const plain = await lookfirst(work, ['log', '--kind', 'change,turn']);
    expect(plain.stdout).not.toContain('turn prompt-2');
  });

  it('says so if there is no such session', async () => {
    const work = await busyDesk();
    for (const command of ['log', 'diff', 'undo', 'rewind', 'status'])
      expect(await lookfirst(work, [command, '--session', 'nosuch'])).toMatchObject({
        code: 2,
        stdout: '',
        stderr: 'lookfirst: there is no session "nosuch" [NOT_FOUND]\nlookfirst sessions --all lists them.\n',
      });
  });

  it('names a folder that is not there', async () => {
    const work = await busyDesk();
    for (const command of ['log', 'status'])
      expect(await lookfirst(work, [command, '--root', '/nowhere'])).toMatchObject({
        code: 0,
        stdout: '',
        stderr: 'nothing is recorded of /nowhere, and there is no such folder now\n',
      });
  });

  it('filters by kind, path, session and time', async () => {
    const work = await busyDesk();
    const expected = {
      '--kind refusal': ['refusal'],
      '--kind change,read': ['change', 'change', 'read'],
      '--limit 2': ['change', 'change'],
      '--path a.txt': ['change', 'read', 'refusal'],
      '--path src': ['change'],
      '--session agent-7 --kind session': ['session'],
      '--since 1h --limit 1': ['change'],
      '--until 1h': [],
      '--since 2020-01-01 --until 2020-01-02T10:00Z': [],
    };
    const found: Record<string, unknown> = {};
    for (const flags of Object.keys(expected))
      found[flags] = kinds(objects(await lookfirst(work, ['log', '--json', ...flags.split(' ')])));
    expect(found).toEqual(expected);
  });

  it('shows workspaces that equal the folder, contain it or lie in it', async () => {
    const work = await busyDesk();
    const count = async (cwd: string, ...flags: string[]): Promise<number> =>
      objects(await lookfirst(work, ['log', '--json', ...flags], { cwd })).length;
    expect(await count(join(work.root, 'src/deep'))).toBe(5);
    expect(await count(work.base)).toBe(5);
    expect(await count(work.outside)).toBe(0);
    expect(await count(work.outside, '--all')).toBe(5);
    expect(await count(work.outside, '--root', '../root')).toBe(5);
    expect(await count(work.outside, '--root', '.', '--root', work.root)).toBe(5);
  });

  it('finds the files of a folder that is no longer there', async () => {
    const work = await desk({ session: 'agent-7' });
    for (const path of ['dir/a.txt', 'gone/b.txt', 'c.txt']) {
      await work.put(path, 'one\n');
      await ok(work.session.read(path));
      await ok(work.session.write(path, 'two\n'));
    }
    await ok(work.session.list('dir'));
    await ok(work.session.delete('dir', { recursive: true }));
    rmSync(join(work.root, 'gone'), { recursive: true });
    const actions = async (path: string) =>
      objects(await lookfirst(work, ['log', '--json', '--kind', 'change', '--path', path])).map(
        ({ action, path: changed }) => `${action} ${changed}`,
      );
    expect(await actions('dir')).toEqual(['delete dir', 'overwrite dir/a.txt']);
    expect(await actions('dir/')).toEqual(['delete dir', 'overwrite dir/a.txt']);
    // Another program removed the folder `gone`, so only the slash shows that the path was a
    // folder.
    expect(await actions('gone/')).toEqual(['overwrite gone/b.txt']);
  });

  it('shows paths relative to the current folder', async () => {
    const work = await busyDesk();
    const { stdout } = await lookfirst(work, ['log', '--kind', 'change'], { cwd: join(work.root, 'src') });
    expect(stdout).toMatch(/ deep\/b\.ts /);
    expect(stdout).toMatch(/ \.\.\/a\.txt /);
  });

  it('does not create a state folder', async () => {
    const places = scratch();
    const ran = await lookfirst(places, ['log'], { env: { LOOKFIRST_HOME: join(places.base, 'none') } });
    expect(ran).toMatchObject({ code: 0, stdout: '' });
    expect(ran.stderr).toContain('nothing recorded here yet');
    for (const filter of ['--since=1h', '--path=a.txt', '--kind=read'])
      expect((await lookfirst(places, ['log', filter])).stderr).toBe(
        'no entry here matches (--all searches every workspace)\n',
      );
    expect(existsSync(join(places.base, 'none'))).toBe(false);
  });

  it('ends without an error when the reader of its output closes the pipe', async () => {
    const work = scratch();
    const store = await openStore(`sqlite:${join(work.home, 'lookfirst.db')}`);
    const entry = { kind: 'session', atMs: 1, session: 's', root: work.root, text: 'x'.repeat(100) } as const;
    await store.record({ entries: Array.from({ length: 5000 }, () => entry) });
    await store.close();
    const script = `"$@" log --json --limit 0 | head -c 100; exit "\${PIPESTATUS[0]}"`;
    const options = { cwd: work.root, env: environment(work), encoding: 'utf8', stdio: 'pipe' } as const;
    expect(execFileSync('bash', ['-c', script, 'bash', ...PROGRAM], options)).toHaveLength(100);
  });

  it('prints new entries with --follow', async () => {
    const work = await busyDesk();
    const [program = '', ...first] = PROGRAM;
    const child = spawn(program, [...first, 'log', '--json', '--follow', '--limit', '1'], {
      cwd: work.root,
      env: environment(work),
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const lines = createInterface({ input: child.stdout });
    const watched = new WatchedChild(child);
    const [before] = (await watched.whileRunning(once(lines, 'line'))) as [string];
    expect(JSON.parse(before)).toMatchObject({ path: 'src/deep/b.ts' });
    const next = watched.whileRunning(once(lines, 'line')) as Promise<[string]>;
    await ok(work.session.write('later.txt', 'x\n'));
    expect(JSON.parse((await next)[0])).toMatchObject({ kind: 'change', path: 'later.txt' });
  });
});

describe('lookfirst log --follow', () => {
  it('prints each new entry once, oldest first, with control characters in names escaped', async () => {
    const work = await busyDesk();
    const [program = '', ...first] = PROGRAM;
    const child = spawn(program, [...first, 'log', '--follow', '--kind', 'change'], {
      cwd: work.root,
      env: environment(work),
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let shown = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      shown += chunk;
    });
    const watched = new WatchedChild(child);
    const isShown = (text: string) => watched.whileRunning(expect.poll(() => shown).toContain(text));
    await isShown('src/deep/b.ts');
    for (const name of ['new-1', 'new-2\u001b[31m', 'new-3']) await ok(work.session.write(name, 'x\n'));
    await isShown('new-3');
    const { stdout } = await lookfirst(work, ['log', '--json', '--limit', '0', '--kind', 'change']);
    const ids = [...stdout.matchAll(/"change":"(\w{8})/g)].map(([, id]) => id).reverse();
    expect([...shown.matchAll(/ (c[0-9a-f]{7})$/gm)].map(([, id]) => id)).toEqual(ids);
    expect(shown).not.toContain('\u001b');
  });
});

describe('lookfirst log --verify', () => {
  it('reports an unaltered journal as intact', async () => {
    const work = await busyDesk();
    expect(await lookfirst(work, ['log', '--verify'])).toMatchObject({
      code: 0,
      stdout: 'the journal is intact: 5 entries in an unbroken chain\n',
    });
    expect(objects(await lookfirst(work, ['log', '--verify', '--json']))).toMatchObject([
      { ok: true, entries: 5 },
    ]);
  });

  it.each([
    ['altered', "update entries set session = 'someone-else' where seq = 3", 3, 'altered'],
    ['removed', 'delete from entries where seq = 2', 2, 'removed'],
    ['removed at the end', 'delete from entries where seq = 5', 5, 'removed'],
  ])('names the first entry that was %s, and ends with 1', async (_what, sql, seq, problem) => {
    const work = await busyDesk();
    const db = (await loadSqlite())(join(work.home, 'lookfirst.db'));
    db.exec(sql);
    db.close();
    const ran = await lookfirst(work, ['log', '--verify', '--json']);
    expect(ran.code).toBe(1);
    expect(objects(ran)).toEqual([{ ok: false, seq, problem }]);
    const human = await lookfirst(work, ['log', '--verify']);
    expect(human).toMatchObject({ code: 1, stdout: expect.stringContaining(`entry ${seq} `) });
  });

  it('says so if the state cannot be read', async () => {
    const places = scratch();
    mkdirSync(join(places.home, 'lookfirst.db'));
    const ran = await lookfirst(places, ['log']);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain('[STORE_FAILED]');
  });
});
