import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Intent } from '../../src/model/intent.ts';
import type { CallOptions, Session } from '../../src/model/session.ts';
import { openJournal } from '../../src/records/open-journal.ts';
import { openSession } from '../../src/session/sessions.ts';
import { toolset } from '../../src/tools/toolset.ts';
import { desk, ok, refusal } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';
import { treeOf } from '../support/tree-of.ts';

const WRITE: Intent = { kind: 'write', path: 'n.txt', content: 'x' };

/** Every method that takes a signal. */
const CALLS: Readonly<Record<string, (session: Session, options: CallOptions) => Promise<unknown>>> = {
  read: (s, o) => s.read('a.txt', o),
  readMany: (s, o) => s.readMany(['a.txt'], o),
  write: (s, o) => s.write('n.txt', 'x', o),
  edit: (s, o) => s.edit('a.txt', [{ oldString: 'one', newString: 'x' }], o),
  append: (s, o) => s.append('a.txt', 'x', o),
  insert: (s, o) => s.insert('a.txt', 'x', o),
  apply: (s, o) => s.apply([WRITE], o),
  patch: (s, o) =>
    s.patch({ format: 'v4a', text: '*** Begin Patch\n*** Add File: n.txt\n+x\n*** End Patch' }, o),
  delete: (s, o) => s.delete('a.txt', o),
  move: (s, o) => s.move('a.txt', 'm.txt', o),
  copy: (s, o) => s.copy('a.txt', 'c.txt', o),
  mkdir: (s, o) => s.mkdir('new', o),
  list: (s, o) => s.list('.', o),
  find: (s, o) => s.find('*', o),
  search: (s, o) => s.search('one', o),
  status: (s, o) => s.status('a.txt', o),
  info: (s, o) => s.info('a.txt', o),
  resolve: (s, o) => s.resolve('a.txt', o),
  undo: (s, o) => s.undo({}, o),
  run: (s, o) => s.run('true', o),
  vet: (s, o) => s.vet(WRITE, o),
  perform: (s, o) => s.perform(WRITE, o),
  announce: (s, o) => s.announce([WRITE], o),
  settle: (s, o) => s.settle('c', 'done', o),
  witness: (s, o) => s.witness({ kind: 'read', path: 'a.txt' }, o),
  beginTurn: (s, o) => s.beginTurn({ turn: 't' }, o),
  checkpoint: (s, o) => s.checkpoint('t', o),
  compacted: (s, o) => s.compacted(o),
  resumed: (s, o) => s.resumed(o),
  rewound: (s, o) => s.rewound(0, o),
  fork: (s, o) => s.fork(undefined, o),
  child: (s, o) => s.child(undefined, o),
};
const NAMES = Object.keys(CALLS);

async function open() {
  const t = await desk();
  await t.put('a.txt', 'one\ntwo\n');
  await ok(t.session.read('a.txt'));
  await ok(t.session.write('mine.txt', 'mine\n'));
  return t;
}

describe('a signal', () => {
  it.each(NAMES)('that has already fired prevents %s', async (name) => {
    const t = await open();
    const before = treeOf(t.root);
    const signal = AbortSignal.abort(new Error('stop'));
    await expect(CALLS[name]?.(t.session, { signal })).rejects.toThrow('stop');
    expect(treeOf(t.root)).toEqual(before);
  });

  it('that fires while another session holds the lock leaves the file unchanged', async () => {
    const t = await open();
    const held = await ok(t.session.announce([{ kind: 'write', path: 'a.txt', content: 'held\n' }]));
    const other = await t.session.fork();
    const abort = new AbortController();
    const edit = other.edit('a.txt', [{ oldString: 'two', newString: 'zwei' }], { signal: abort.signal });
    abort.abort(new Error('stop'));
    await t.session.settle(held.change, 'failed');
    await expect(edit).rejects.toThrow('stop');
    expect(t.text('a.txt')).toBe('one\ntwo\n');
  });

  it('that fires after the change has no effect', async () => {
    const t = await open();
    const abort = new AbortController();
    await ok(t.session.append('a.txt', 'three', { signal: abort.signal }));
    abort.abort();
    expect(t.text('a.txt')).toBe('one\ntwo\nthree\n');
  });

  it('of the wrong type is refused', async () => {
    const t = await open();
    const wrong = { signal: 'now' } as unknown as CallOptions;
    await refusal(t.session.write('n.txt', 'x', wrong), 'INVALID_ARGUMENT');
    await refusal(t.session.info('a.txt', { cwd: 5 } as unknown as CallOptions), 'INVALID_ARGUMENT');
  });
});

describe('an option that is undefined', () => {
  it.each(NAMES.filter((name) => !['run', 'settle'].includes(name)))(
    'is treated as absent by %s',
    async (name) => {
      const t = await open();
      const outcome = await CALLS[name]?.(t.session, { signal: undefined, cwd: undefined });
      expect(outcome).not.toMatchObject({ ok: false });
    },
  );

  it('is treated as absent for every single option', async () => {
    const { session: s } = await open();
    const none = undefined;
    await ok(
      s.read('a.txt', {
        offset: none,
        limit: none,
        last: none,
        maxBytes: none,
        raw: none,
        credit: none,
        onProgress: none,
      }),
    );
    await ok(s.write('b.txt', 'b\n', { expectedRevision: none, makeParents: none }));
    const edit = {
      oldString: 'b',
      newString: 'c',
      replaceAll: none,
      lines: none,
      occurrences: none,
      mayBeSame: none,
    };
    await ok(s.edit('b.txt', [edit], { expectedRevision: none, withDiff: none }));
    await ok(s.insert('b.txt', 'd', { afterLine: none, expectedRevision: none }));
    await ok(s.apply([{ kind: 'insert', path: 'b.txt', content: 'e', afterLine: none }], { dryRun: none }));
    await ok(s.list('.', { depth: none, limit: none, after: none, as: none, links: none, onProgress: none }));
    await ok(s.find('*', { path: none, limit: none, onProgress: none }));
    const search = {
      path: none,
      glob: none,
      exclude: none,
      mode: none,
      context: none,
      ignoreCase: none,
      literal: none,
    };
    await ok(s.search('one', { ...search, limit: none, onProgress: none }));
    await ok(s.move('b.txt', 'new/c.txt', { makeParents: none, overwrite: none }));
    await ok(s.undo({ change: none, path: none, session: none, sinceMs: none, preview: none, merge: none }));
    await ok(s.delete('b.txt', { recursive: none }));
    await ok(s.announce([WRITE], { hold: none, tool: none, call: none, tell: none }));
  });
});

describe('cwd', () => {
  it('resolves relative paths of a call, and results use paths relative to it', async () => {
    const t = await open();
    await t.put('src/deep/b.ts', 'const b = 1;\n');
    const cwd = 'src/deep';
    const blind = await refusal(t.session.write('b.ts', 'x', { cwd }), 'NOT_READ');
    expect(blind.path).toBe('b.ts');
    expect(await ok(t.session.read('b.ts', { cwd }))).toMatchObject({ path: 'b.ts', complete: true });
    await ok(t.session.edit('./b.ts', [{ oldString: '1', newString: '2' }], { cwd }));
    expect(t.text('src/deep/b.ts')).toBe('const b = 2;\n');
    expect(await ok(t.session.find('*.ts', { cwd }))).toMatchObject({ paths: ['b.ts'] });
    expect(await ok(t.session.search('const', { cwd, path: '..' }))).toMatchObject({
      hits: [{ path: 'b.ts' }],
    });
    expect(await ok(t.session.find('a.txt', { cwd, path: '../..' }))).toMatchObject({
      paths: ['../../a.txt'],
    });
    const list = await ok(t.session.list(undefined, { cwd }));
    expect(list.entries.map(({ path }) => path)).toEqual(['b.ts']);
    await refusal(t.session.read('../../../out', { cwd }), 'OUTSIDE_WORKSPACE');
    await refusal(t.session.read('x', { cwd: '/etc' }), 'OUTSIDE_WORKSPACE');
    await ok(
      t.session.patch(
        { format: 'v4a', text: '*** Begin Patch\n*** Add File: n.ts\n+n\n*** End Patch' },
        { cwd },
      ),
    );
    expect(t.text('src/deep/n.ts')).toBe('n\n');
    await ok(t.session.undo({ path: 'n.ts' }, { cwd: join(t.root, cwd) }));
    expect(existsSync(join(t.root, 'src/deep/n.ts'))).toBe(false);
  });

  it('of a session applies to its tools, forks and children, and a call may give another one relative to it', async () => {
    const { root, home } = scratch();
    mkdirSync(join(root, 'pkg/lib'), { recursive: true });
    writeFileSync(join(root, 'pkg/a.txt'), 'one\n');
    const session = await openSession({ roots: [root], home, store: 'memory:', cwd: 'pkg' });
    onTestFinished(() => session.close());
    expect(await ok(session.read('a.txt'))).toMatchObject({ path: 'a.txt' });
    const child = await session.child();
    await ok(child.write('lib/c.txt', 'c\n'));
    await ok(child.write('d.txt', 'd\n', { cwd: 'lib' }));
    expect(readFileSync(join(root, 'pkg/lib/c.txt'), 'utf8')).toBe('c\n');
    expect(readFileSync(join(root, 'pkg/lib/d.txt'), 'utf8')).toBe('d\n');
    const read = toolset(session).tools.find(({ name }) => name === 'read_file');
    expect((await read?.call({ path: 'a.txt' }))?.text).toContain('[read a.txt lines 1-1 of 1');
    const virtual = toolset(session, { virtualRoot: '/' }).tools;
    const find = virtual.find(({ name }) => name === 'find_files');
    expect((await find?.call({ pattern: 'c.txt' }))?.text).toContain('/pkg/lib/c.txt');
    await expect(openSession({ roots: [root], home, store: 'memory:', cwd: '/etc' })).rejects.toMatchObject({
      code: 'MISUSE',
    });
  });
});

describe('read({ credit: false })', () => {
  it('shows the bytes and licenses nothing', async () => {
    const t = await open();
    await t.put('b.txt', 'b\n');
    const read = await ok(t.session.read('b.txt', { credit: false }));
    expect(read).toMatchObject({ text: 'b', complete: false });
    expect(read).not.toHaveProperty('revision');
    await refusal(t.session.write('b.txt', 'x'), 'NOT_READ');
    await refusal(t.session.edit('b.txt', [{ oldString: 'b', newString: 'x' }]), 'NOT_READ');
    expect(await ok(t.session.status('b.txt'))).toMatchObject({ files: [{ freshness: 'unseen' }] });
  });

  it('does not refresh a stale sighting', async () => {
    const t = await open();
    await t.put('a.txt', 'other\n');
    await ok(t.session.read('a.txt', { credit: false }));
    await refusal(t.session.write('a.txt', 'x'), 'STALE');
  });

  it('leaves no entry in the journal', async () => {
    const t = await open();
    await t.put('b.txt', 'b\n');
    await ok(t.session.read('b.txt', { credit: false }));
    await t.session.close();
    const journal = await openJournal({ home: t.home });
    onTestFinished(() => journal.close());
    const read: (string | undefined)[] = [];
    for await (const { path } of journal.entries({ kinds: ['read'] })) read.push(path);
    expect(read).toEqual(['a.txt']);
  });
});

describe('copy', () => {
  it('needs no read of the source, keeps its mode, and shows nothing of it', async () => {
    const t = await open();
    await t.put('run.sh', '#!/bin/sh\n');
    chmodSync(join(t.root, 'run.sh'), 0o755);
    expect(await ok(t.session.copy('run.sh', 'bin/run.sh'))).toMatchObject({
      created: true,
      path: 'bin/run.sh',
    });
    expect(t.text('bin/run.sh')).toBe('#!/bin/sh\n');
    expect(statSync(join(t.root, 'bin/run.sh')).mode & 0o777).toBe(0o755);
    await refusal(t.session.write('bin/run.sh', 'x'), 'NOT_READ');
    await ok(t.session.undo({}));
    expect(existsSync(join(t.root, 'bin'))).toBe(false);
  });

  it('of a seen file counts as seen', async () => {
    const t = await open();
    expect(await ok(t.session.copy('a.txt', 'b.txt'))).toHaveProperty('revision');
    await ok(t.session.write('b.txt', 'x'));
  });

  it('overwrites only a file that may be overwritten', async () => {
    const t = await open();
    await t.put('b.txt', 'b\n');
    await refusal(t.session.copy('a.txt', 'b.txt'), 'NOT_READ');
    await ok(t.session.read('b.txt'));
    await refusal(t.session.copy('a.txt', 'b.txt', { overwrite: false }), 'ALREADY_EXISTS');
    await refusal(t.session.copy('a.txt', 'no/b.txt', { makeParents: false }), 'NOT_FOUND');
    await t.put('unseen.txt', 'u\n');
    await ok(t.session.copy('unseen.txt', 'b.txt'));
    expect(t.text('b.txt')).toBe('u\n');
    await refusal(t.session.write('b.txt', 'x'), 'NOT_READ');
  });

  it('refuses folders, missing files, paths outside, and secrets that the copy would show', async () => {
    const t = await open();
    await t.put('src/x', 'x');
    await t.put('.env', 'KEY=value\n');
    await refusal(t.session.copy('src', 'b'), 'NOT_A_FILE');
    await refusal(t.session.copy('gone', 'b'), 'NOT_FOUND');
    await refusal(t.session.copy('/etc/passwd', 'b'), 'OUTSIDE_WORKSPACE');
    await refusal(t.session.copy('a.txt', '../b'), 'OUTSIDE_WORKSPACE');
    await refusal(t.session.copy('.env', 'env.txt'), 'PROTECTED');
  });
});
