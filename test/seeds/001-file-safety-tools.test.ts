import { chmodSync, rmSync, statSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BATCH_FILES } from '../../src/disk/context.ts';
import { explain } from '../../src/report/explain.ts';
import { currentSession, runInSession } from '../../src/session/ambient.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { toolset } from '../../src/tools/toolset.ts';
import { lookfirst, objects } from '../support/command-line.ts';
import { desk, ok, refusal } from '../support/desk.ts';
import { OFFICIAL } from '../support/official-server.ts';
import { attackSaves } from '../support/save-attack.ts';
import { Served } from '../support/served.ts';
import { scratch } from '../support/tree.ts';
import { allowed, DOORS, HttpDoor, openScene, refused, type SceneOptions, through } from './doors.ts';

/**
 * Requirements document 001 describes an existing system (called system B), which records a
 * modification time per read and session. The numbers in titles are rows of the audit of these
 * requirements.
 */
describe('001 File safety tools', () => {
  const B: SceneOptions = { preset: 'file-time' };
  const HOUR_MS = 3_600_000;

  through('1.1 Error messages: a file that was not read', B, async (t) => {
    t.put('a.txt', 'one\n');
    const text = await refused(t.write('a.txt', 'two\n'), 'NOT_READ');
    const tool = { library: 'read_file', server: 'read_file', proxy: 'read_text_file', hooks: 'read' }[
      t.door
    ];
    expect(text).toContain(
      `File ${t.named('a.txt')} has not been read in this session. You MUST use the ${tool} tool first before writing to existing files`,
    );
    expect(t.text('a.txt')).toBe('one\n');
  });

  through('1.2 Error messages: a file that was modified', B, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    t.put('a.txt', 'theirs\n');
    utimesSync(join(t.root, 'a.txt'), new Date(), new Date(Date.now() + HOUR_MS));
    const text = await refused(t.write('a.txt', 'two\n'), 'STALE');
    expect(text).toContain(`File ${t.named('a.txt')} has been modified since it was last read.`);
    expect(text).toMatch(/Please use the \w+ tool again to get the latest contents/);
    expect(t.text('a.txt')).toBe('theirs\n');
  });

  through('1.3 Writing files: any other time is a change, an older one too', B, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    t.put('a.txt', 'theirs\n');
    utimesSync(join(t.root, 'a.txt'), new Date(), new Date(Date.now() - HOUR_MS));
    await refused(t.write('a.txt', 'two\n'), 'STALE');
    expect(t.text('a.txt')).toBe('theirs\n');
  });

  through('1.2, 1.3 Writing files: the time alone is a change, and so are the bytes', B, async (t) => {
    const since = new Date(Date.now() - HOUR_MS);
    for (const [path, shiftMs, content] of [
      ['newer.txt', HOUR_MS, 'one\n'],
      ['older.txt', -HOUR_MS, 'one\n'],
      ['same-time.txt', 0, 'two\n'],
    ] as const) {
      t.put(path, 'one\n');
      utimesSync(join(t.root, path), since, since);
      await allowed(t.read(path));
      t.put(path, content);
      const now = new Date(since.getTime() + shiftMs);
      utimesSync(join(t.root, path), now, now);
      await refused(t.write(path, 'mine\n'), 'STALE');
      expect(t.text(path)).toBe(content);
    }
  });

  it('1.4 Option 2, proxy: a save right after the read is never overwritten', async () => {
    expect(await attackSaves({ guard: 'file-time', pausesMs: [0, 1, 2, 5, 10, 50], tries: 30 })).toBe(0);
    expect(await attackSaves({ guard: 'none', pausesMs: [0], tries: 3 }), 'the control loses').toBe(3);
  });

  through('1.5 Error messages: after "modified" a new Read is needed', B, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    t.put('a.txt', 'theirs\n');
    await refused(t.write('a.txt', 'two\n'), 'STALE');
    await refused(t.write('a.txt', 'three\n'), 'STALE');
    await refused(t.write('a.txt', 'three\n'), 'STALE');
  });

  through('1.6 Error messages: and a new Read is enough', B, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    t.put('a.txt', 'theirs\n');
    await refused(t.write('a.txt', 'two\n'), 'STALE');
    await allowed(t.read('a.txt'));
    await allowed(t.write('a.txt', 'two\n'));
  });

  it('1.6 Helper functions: a witnessed read counts as a read', async () => {
    const t = await desk({ preset: 'file-time' });
    await t.put('a.txt', 'one\n');
    await ok(t.session.witness({ kind: 'read', path: 'a.txt' }));
    await t.put('a.txt', 'theirs\n');
    await refusal(t.session.write('a.txt', 'two\n'), 'STALE');
    await ok(t.session.witness({ kind: 'read', path: 'a.txt' }));
    await ok(t.session.write('a.txt', 'two\n'));
  });

  through('1.7 Testing: rapid cycles, and own writes update the time', B, async (t) => {
    t.put('a.txt', '0\n');
    await allowed(t.read('a.txt'));
    for (let n = 1; n <= 20; n += 1) await allowed(t.write('a.txt', `${n}\n`));
    await allowed(t.edit('a.txt', '20', 'end'));
    expect(t.text('a.txt')).toBe('end\n');
  });

  through('1.8 New files: one that was deleted after its read may be written', B, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    rmSync(join(t.root, 'a.txt'));
    await allowed(t.write('a.txt', 'two\n'));
  });

  through(
    '1.9 Testing: permissions; a file that may be written and not read is replaced, and comes back',
    { ...B, user: 'ordinary', doors: ['server', 'proxy'] },
    async (t) => {
      t.put('a.txt', 'one\n');
      await allowed(t.read('a.txt'));
      chmodSync(join(t.root, 'a.txt'), 0o200);
      await allowed(t.write('a.txt', 'two\n'));
      expect(statSync(join(t.root, 'a.txt')).mode & 0o777).toBe(0o200);
      if (t.door === 'proxy') return;
      await allowed(t.call('undo_change', {}));
      chmodSync(join(t.root, 'a.txt'), 0o600);
      expect(t.text('a.txt')).toBe('one\n');
    },
  );

  through(
    '1.9 Testing: permissions; a batch replaces a file that may be written and not read, and its undo does too',
    { ...B, user: 'ordinary', doors: ['server'] },
    async (t) => {
      // Change as many files as are needed for the batch to sync them together.
      const names = Array.from({ length: BATCH_FILES }, (_, n) => `${n}.txt`);
      for (const name of names) {
        t.put(name, 'one\n');
        await allowed(t.read(name));
      }
      chmodSync(join(t.root, '0.txt'), 0o200);
      const changes = names.map((path) => ({ path, content: 'two\n' }));
      await allowed(t.call('apply_changes', { changes }));
      expect(statSync(join(t.root, '0.txt')).mode & 0o777).toBe(0o200);
      await allowed(t.call('undo_change', {}));
      chmodSync(join(t.root, '0.txt'), 0o600);
      expect(names.map((name) => t.text(name))).toEqual(names.map(() => 'one\n'));
    },
  );

  through(
    '1.10 Testing: relative, absolute and linked forms meet',
    { ...B, doors: ['library', 'server'] },
    async (t) => {
      t.put('d/a.txt', 'one\n');
      symlinkSync('d/a.txt', join(t.root, 'link'));
      await allowed(t.read('./d/../d/a.txt'));
      await allowed(t.write(join(t.root, 'link'), 'two\n'));
      expect(t.text('d/a.txt')).toBe('two\n');
    },
  );

  through('1.11 Why session-scoped: a tracker for each id, made on demand', B, async (t) => {
    t.put('a.txt', 'one\n');
    const [one, two] = [await t.as('session-1'), await t.as('session-2')];
    await allowed(one.read('a.txt'));
    await refused(two.write('a.txt', 'x\n'), 'NOT_READ');
    await allowed(one.write('a.txt', 'two\n'));
  });

  it('1.12 Why context variables: the session id passes through async calls, and the session opens on demand', async () => {
    const places = scratch();
    const sessions = await Sessions.open({ roots: [places.root], home: places.home, preset: 'file-time' });
    onTestFinished(() => sessions.close());
    const later = async (): Promise<string> => {
      await new Promise((resolve) => setImmediate(resolve));
      return currentSession().id;
    };
    expect(await Promise.all([sessions.run('web-1', later), sessions.run('web-2', later)])).toEqual([
      'web-1',
      'web-2',
    ]);
    expect(await runInSession('web-1', later)).toBe('web-1');
  });

  it('1.14 Helper functions: a check changes nothing', async () => {
    const t = await desk({ preset: 'default' });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await t.put('a.txt', 'theirs\n');
    for (const content of ['x', 'y', 'y'])
      await refusal(t.session.vet({ kind: 'write', path: 'a.txt', content }), 'STALE');
  });

  it.each(['serve', 'proxy'] as const)(
    '1.15 Why session-scoped: HTTP clients without a name share no memory (%s)',
    async (command) => {
      const t = await openScene('library', B);
      t.put('a.txt', 'one\n');
      const http = await HttpDoor.open(t, command);
      const [read, write] =
        command === 'serve' ? ['read_file', 'write_file'] : ['read_text_file', 'write_file'];
      const path = join(t.root, 'a.txt');
      expect(await http.call('', read, { path })).toMatchObject({ ok: true });
      expect(await http.call('', write, { path, content: 'x\n' })).toMatchObject({ code: 'NOT_READ' });
      // Each named session remembers only its own reads.
      expect(await http.call('/one', read, { path })).toMatchObject({ ok: true });
      expect(await http.call('/two', write, { path, content: 'x\n' })).toMatchObject({ code: 'NOT_READ' });
      expect(await http.call('/one', write, { path, content: 'x\n' })).toMatchObject({ ok: true });
    },
  );

  it('1.16 Session-scoped tracking: removed when an unnamed session ends, kept for a named one', async () => {
    const places = scratch();
    const served = await Served.here(places, ['--preset', 'file-time']);
    await served.call('list_directory', {});
    await served.call('list_directory', {}, { 'dev.lookfirst/session': 'kept' });
    await served.stop();
    const known = objects(await lookfirst(places, ['sessions', '--json'])).map(
      (row) => row['session'] ?? row['id'],
    );
    expect(known).toEqual(['kept']);
  });

  it('1.17 Option 1: our tools replace the filesystem server, with its names and its results', async () => {
    const t = await openScene('server', { ...B, dialect: 'filesystem' });
    const official = await Served.through(process.execPath, [OFFICIAL, t.root]);
    await official.hello();
    const served = await Served.here(t, ['--preset', 'file-time', '--dialect', 'filesystem']);
    const names = async (server: Served) => (await server.tools()).map(({ name }) => name).sort();
    expect(await names(served)).toEqual(await names(official));
    t.put('a.txt', 'one\n');
    const path = join(t.root, 'a.txt');
    expect(await served.call('write_file', { path, content: 'x' })).toMatchObject({ ok: false });
    const read = await official.call('read_text_file', { path });
    expect((await served.call('read_text_file', { path })).result['content']).toEqual(read.result['content']);
    expect(await served.call('write_file', { path, content: 'x' })).toMatchObject({ ok: true });
  });

  it('1.18 Option 2: the proxy keeps every tool of the server behind it', async () => {
    const t = await openScene('proxy', B);
    t.put('deep/in/needle.txt', 'x');
    expect(await allowed(t.search('**/needle*'))).toContain(join(t.root, 'deep/in/needle.txt'));
  });

  it('1.19 Option 1: tools for a custom agent use the session of the call', async () => {
    const places = scratch();
    const sessions = await Sessions.open({ roots: [places.root], home: places.home, preset: 'file-time' });
    onTestFinished(() => sessions.close());
    const session = await sessions.session('session-123');
    const { tools } = toolset(session, { dialect: 'lookfirst' });
    const write = tools.find(({ name }) => name === 'write_file') ?? expect.fail('no write_file');
    expect(await write.call({ path: 'a.txt', content: 'one\n' })).toMatchObject({ ok: true });
    const other = toolset(await sessions.session('other'), { dialect: 'lookfirst' });
    const blind = other.tools.find(({ name }) => name === 'write_file');
    expect(await blind?.call({ path: 'a.txt', content: 'x\n' })).toMatchObject({
      ok: false,
      outcome: { code: 'NOT_READ' },
    });
  });

  through('1.20 Future 1, conflict resolution: the refusal shows the diff', B, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    t.put('a.txt', 'theirs\n');
    const text = await refused(t.write('a.txt', 'two\n'), 'STALE');
    expect(text).toMatch(/^-one$/m);
    expect(text).toMatch(/^\+theirs$/m);
  });

  through(
    '1.21 Future 2, auto-retry: an edit beside a change is applied',
    { preset: 'default' },
    async (t) => {
      const lines = Array.from({ length: 30 }, (_, n) => `line ${n}`);
      t.put('a.txt', `${lines.join('\n')}\n`);
      await allowed(t.read('a.txt'));
      t.put('a.txt', `${['theirs', ...lines.slice(1)].join('\n')}\n`);
      expect(await allowed(t.edit('a.txt', 'line 20', 'mine'))).toContain('+theirs');
      expect(t.text('a.txt')).toMatch(/^theirs\n(.*\n)*mine\n/);
    },
  );

  it('1.22 Future 3, batch operations: several files in one call', async () => {
    const t = await openScene('server', B);
    t.put('a.txt', 'a\n');
    t.put('b.txt', 'b\n');
    const served = await Served.here(t, ['--preset', 'file-time']);
    const changes = ['a.txt', 'b.txt'].map((path) => ({ path, content: 'new\n' }));
    expect((await served.call('apply_changes', { changes })).outcome['code']).toBe('NOT_READ');
    expect((await served.call('read_file', { paths: ['a.txt', 'b.txt'] })).ok).toBe(true);
    expect((await served.call('apply_changes', { changes })).ok).toBe(true);
    expect(t.text('a.txt') + t.text('b.txt')).toBe('new\nnew\n');
  });

  it('1.23 Future 4, TTL: reads expire after a configurable time', async () => {
    let nowMs = Date.now();
    const t = await desk({ preset: 'file-time', policy: { ttlMs: 1000 }, now: () => nowMs });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    nowMs += 1001;
    await refusal(t.session.write('a.txt', 'two\n'), 'READ_EXPIRED');
  });

  through(
    '1.24 Future 5, bypass mode: for tools and sessions',
    {
      ...B,
      policy: { bypass: [{ sessions: ['trusted'] }, { tools: ['write_file', 'write'], paths: ['gen/**'] }] },
    },
    async (t) => {
      t.put('a.txt', 'one\n');
      t.put('gen/a.txt', 'one\n');
      await refused(t.write('a.txt', 'x\n'), 'NOT_READ');
      await allowed((await t.as('trusted')).write('a.txt', 'x\n'));
      if (t.door === 'library') return;
      await refused(t.edit('gen/a.txt', 'one', 'x'), 'NOT_READ');
      await allowed(t.write('gen/a.txt', 'x\n'));
    },
  );

  it('1.13 Usage examples: mark_file_read and check_file_writable', async () => {
    const t = await desk({ preset: 'file-time' });
    await t.put('file.txt', 'one\n');
    await t.put('other.txt', 'one\n');
    await ok(t.session.witness({ kind: 'read', path: 'file.txt' }));
    await ok(t.session.vet({ kind: 'write', path: 'file.txt', content: 'new content' }));
    const no = await refusal(t.session.vet({ kind: 'write', path: 'other.txt', content: 'x' }), 'NOT_READ');
    expect(explain(no, { wording: 'file-time', nowMs: 0 })).toContain('has not been read in this session');
  });

  it('1.25 Future 6, audit log: a list, a find and a search leave an entry each', async () => {
    const t = await openScene('server', B);
    t.put('a.txt', 'one\n');
    await allowed(t.list('.'));
    await allowed(t.call('find_files', { pattern: '*.txt' }));
    await allowed(t.search('one'));
    const entries = objects(await lookfirst(t, ['log', '--json', '--all', '--kind', 'look']));
    expect(entries.map(({ action, text }) => `${action}: ${text}`).sort()).toEqual([
      'list: 1 entry',
      'search: 1 file',
      'search: 1 match',
    ]);
  });

  it.each(DOORS)('1.25 Future 6, audit log: every file operation leaves an entry (%s)', async (door) => {
    const t = await openScene(door, B);
    t.put('a.txt', 'one\n');
    await t.list('.');
    await t.search('one');
    await t.read('missing.txt');
    await refused(t.write('a.txt', 'x\n'), 'NOT_READ');
    await allowed(t.read('a.txt'));
    await allowed(t.write('a.txt', 'two\n'));
    const entries = objects(await lookfirst(t, ['log', '--json', '--all']));
    const kinds = entries.map(({ kind, code }) => `${kind}${code === undefined ? '' : ` ${code}`}`);
    expect(kinds).toEqual(expect.arrayContaining(['read', 'refusal NOT_READ', 'change']));
    const looks = entries.filter(({ kind }) => kind === 'look').map(({ action }) => action);
    // A list of the program behind hooks is not reported: it shows no file.
    expect(looks.sort()).toEqual(door === 'hooks' ? ['search'] : ['list', 'search']);
  });
});
