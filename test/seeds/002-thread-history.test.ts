import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HistoryIndex } from '../../src/index.ts';
import { currentSession, runInSession } from '../../src/session/ambient.ts';
import { openSession } from '../../src/session/sessions.ts';
import { lookfirst } from '../support/command-line.ts';
import { desk, ok, refusal } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';
import { allowed, openScene, refused, type SceneOptions, through } from './doors.ts';

type Options = ConstructorParameters<typeof HistoryIndex>[0];

/**
 * A conversation (thread) as a list of events, in the form that requirements document 002
 * describes.
 */
class Thread {
  readonly events: object[] = [];

  call(name: string, path: string, isError = false): void {
    const id = `call_${this.events.length}`;
    this.events.push(
      { type: 'TOOL_CALL', data: { id, name, arguments: { path, content: 'text\n' } } },
      { type: 'TOOL_RESULT', data: { id, isError, content: [{ type: 'text', text: 'text\n' }] } },
    );
  }

  hasFileBeenRead(path: string, options: Partial<Options> = {}): boolean {
    const index = new HistoryIndex({ format: 'thread-events', paths: 'exact', ...options });
    index.add(this.events);
    return index.hasFileBeenRead(path);
  }
}

/**
 * Requirements document 002 describes system C, which accepts a change if the conversation since
 * its last compaction shows the file. The numbers in titles are rows of the audit of these
 * requirements.
 */
describe('002 Read-before-write from thread history', () => {
  const C: SceneOptions = { preset: 'thread-history', dialect: 'lace' };
  const LOCAL = ['library', 'server'] as const;

  it('2.1 API design: hasFileBeenRead knows reads that succeeded, by their exact paths', () => {
    const thread = new Thread();
    expect(thread.hasFileBeenRead('/p/a.txt')).toBe(false);
    thread.call('file_read', '/p/a.txt');
    thread.call('file_read', '/p/b.txt', true);
    thread.events.push({
      type: 'TOOL_CALL',
      data: { id: 'x', name: 'file_read', arguments: { path: '/p/c.txt' } },
    });
    const known = ['/p/a.txt', '/p/b.txt', '/p/c.txt', '/p/A.txt', '/p/./a.txt'];
    expect(known.map((path) => thread.hasFileBeenRead(path))).toEqual([true, false, false, false, false]);
  });

  it('2.2 API design: an option counts file_read only', () => {
    const thread = new Thread();
    thread.call('file_write', '/p/a.txt');
    expect(thread.hasFileBeenRead('/p/a.txt')).toBe(true);
    expect(thread.hasFileBeenRead('/p/a.txt', { counts: 'reads' })).toBe(false);
    thread.call('file_read', '/p/a.txt');
    expect(thread.hasFileBeenRead('/p/a.txt', { counts: 'reads' })).toBe(true);
  });

  through('2.3 Phase 2: three gates, three sentences', { ...C, doors: LOCAL }, async (t) => {
    t.put('a.txt', 'one\n');
    const tool = t.door === 'library' ? 'read_file' : 'file_read';
    const use = `been read in this conversation. Use ${tool} to examine the current contents before`;
    expect(await refused(t.write('a.txt', 'x'), 'NOT_READ')).toContain(
      `File a.txt exists but hasn't ${use} overwriting.`,
    );
    expect(await refused(t.insert('a.txt', 'x', 1), 'NOT_READ')).toContain(
      `File a.txt hasn't ${use} inserting.`,
    );
    expect(await refused(t.edit('a.txt', 'one', 'x'), 'NOT_READ')).toContain(
      `File a.txt hasn't ${use} editing.`,
    );
  });

  through(
    '2.3 Phase 2: the gates that the server behind the proxy has',
    { ...C, doors: ['proxy'] },
    async (t) => {
      t.put('a.txt', 'one\n');
      expect(await refused(t.write('a.txt', 'x'), 'NOT_READ')).toContain("exists but hasn't been read");
      expect(await refused(t.edit('a.txt', 'one', 'x'), 'NOT_READ')).toContain("hasn't been read");
    },
  );

  through('2.4 Phase 2: an append is an insert', { ...C, doors: LOCAL }, async (t) => {
    t.put('a.txt', 'one\n');
    await refused(t.insert('a.txt', 'two\n'), 'NOT_READ');
    await allowed(t.read('a.txt'));
    await allowed(t.insert('a.txt', 'two\n'));
    expect(t.text('a.txt')).toBe('one\ntwo\n');
  });

  through('2.5 Phase 3: new files are free, a failed read does not count', C, async (t) => {
    await allowed(t.write('new.txt', 'x'));
    await t.read('later.txt');
    t.put('later.txt', 'x');
    await refused(t.write('later.txt', 'y'), 'NOT_READ');
  });

  // Row 2.6 requires this of the library, row 2.7 of the command that users run.
  through('2.6, 2.7 Phase 3: read, write, compact, write refused', C, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    await allowed(t.write('a.txt', 'two\n'));
    await t.compacted();
    await refused(t.write('a.txt', 'three\n'), 'NOT_READ');
    await allowed(t.read('a.txt'));
    await allowed(t.write('a.txt', 'three\n'));
  });

  it('2.7 Phase 3: a compaction that only the command line reports', async () => {
    const t = await openScene('server', C);
    t.put('a.txt', 'one\n');
    const agent = await t.as('thread-1');
    await allowed(agent.read('a.txt'));
    expect(await lookfirst(t, ['sessions', 'compacted', 'thread-1'])).toMatchObject({ code: 0 });
    await refused(agent.write('a.txt', 'two\n'), 'NOT_READ');
  });

  through('2.8 Success criteria: works across agent recreations', C, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed((await t.as('thread-1')).read('a.txt'));
    await allowed((await t.restarted('thread-1')).write('a.txt', 'two\n'));
  });

  through(
    '2.9 Clear error messages: the tool that is named exists',
    { ...C, dialect: 'lookfirst' },
    async (t) => {
      t.put('a.txt', 'one\n');
      const text = await refused(t.write('a.txt', 'x'), 'NOT_READ');
      expect(text).not.toContain('file_read');
      const tools = {
        library: 'read_file',
        server: 'read_file',
        proxy: 'read_text_file',
        hooks: 'Use read ',
      };
      expect(text).toContain(tools[t.door]);
    },
  );

  // Requirements document 002 treats two spellings of a path as two files. The gate follows links
  // before it compares paths, so both spellings are one file.
  it('2.10 Security considerations: exact paths in the history, canonical ones in the gate', async () => {
    const thread = new Thread();
    thread.call('file_read', 'link.txt');
    expect(thread.hasFileBeenRead('real.txt')).toBe(false);
    const t = await desk({ preset: 'thread-history' });
    await t.put('real.txt', 'one\n');
    symlinkSync('real.txt', join(t.root, 'link.txt'));
    await ok(t.session.read('link.txt'));
    await ok(t.session.write('real.txt', 'two\n'));
  });

  it('2.11 Security considerations: no force flag', async () => {
    const t = await openScene('server', C);
    t.put('a.txt', 'one\n');
    const { Served } = await import('../support/served.ts');
    const served = await Served.here(t, ['--preset', 'thread-history', '--dialect', 'lace']);
    const schemas = JSON.stringify(await served.tools());
    expect(schemas).not.toMatch(/force|bypass|skip/i);
    const forced = await served.call('file_write', { path: 'a.txt', content: 'x', force: true });
    expect(forced.outcome['code']).toBe('INVALID_ARGUMENT');
  });

  it('2.12 ToolContext: workingDirectory, toolTempDir and the agent of a call', async () => {
    const places = scratch();
    mkdirSync(join(places.root, 'deep'));
    const session = await openSession({ roots: [places.root], home: places.home, cwd: 'deep' });
    onTestFinished(() => session.close());
    await ok(session.write('a.txt', 'one\n'));
    expect(readFileSync(join(places.root, 'deep/a.txt'), 'utf8')).toBe('one\n');
    // The document's `toolTempDir` is our state folder, which keeps the whole output of a command.
    const run = await ok(session.run('pwd; seq 100000'));
    expect(run.output.head).toMatch(/^.*\/deep\n/);
    const last = await ok(session.read(run.output.path ?? expect.fail('all is shown'), { offset: 100_001 }));
    expect(last.text).toContain('100000');
    // And the agent of a call is the session in which it runs.
    expect(await runInSession(session.id, async () => currentSession().id)).toBe(session.id);
  });

  it('2.14 Future 1: an index of reads, fed with events as they arrive', () => {
    const index = new HistoryIndex({ format: 'thread-events', paths: 'exact' });
    const thread = new Thread();
    thread.call('file_read', '/p/a.txt');
    for (const event of thread.events) index.add([event]);
    expect(index.hasFileBeenRead('/p/a.txt')).toBe(true);
  });

  it('2.15 Future 2: line ranges', async () => {
    const t = await desk();
    const lines = Array.from({ length: 40 }, (_, n) => `line ${n + 1}`).join('\n');
    await t.put('a.txt', `${lines}\n`);
    await ok(t.session.read('a.txt', { limit: 5 }));
    await refusal(t.session.write('a.txt', 'x\n'), 'PARTIALLY_READ');
  });

  it('2.16 Future 3: reads expire', async () => {
    let nowMs = Date.now();
    const t = await desk({ preset: 'thread-history', policy: { ttlMs: 1000 }, now: () => nowMs });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    nowMs += 1001;
    await refusal(t.session.edit('a.txt', [{ oldString: 'one', newString: 'x' }]), 'READ_EXPIRED');
  });

  it('2.17 Future 4: listing a folder counts as reading it', async () => {
    const t = await desk();
    await t.put('d/a.txt', 'one\n');
    await refusal(t.session.delete('d', { recursive: true }), 'NOT_READ');
    await ok(t.session.list('d'));
    await ok(t.session.delete('d', { recursive: true }));
  });

  it('2.18 Performance considerations: a check does not scan the events', () => {
    const index = new HistoryIndex({ format: 'thread-events', paths: 'exact' });
    const thread = new Thread();
    for (let n = 0; n < 1000; n += 1) thread.call('file_read', `/p/${n}.txt`);
    let looks = 0;
    const watched = thread.events.map(
      (event) =>
        new Proxy(event, {
          get: (target, name) => {
            looks += 1;
            return Reflect.get(target, name);
          },
        }),
    );
    index.add(watched);
    expect(looks).toBeGreaterThanOrEqual(watched.length);
    looks = 0;
    for (let n = 0; n < 1000; n += 1) expect(index.hasFileBeenRead(`/p/${n}.txt`)).toBe(true);
    expect(index.hasFileBeenRead('/p/none.txt')).toBe(false);
    expect(looks).toBe(0);
  });
});
