// Tests of defects 1 to 14, which attacks on version 1 found. See README.md in this folder.
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Served } from '../support/served.ts';
import { entriesBelow, scratch, treeOf } from '../support/tree.ts';
import {
  CAN_MOUNT,
  done,
  moment,
  prepared,
  proxied,
  refused,
  type Table,
  table,
  within,
  withSmallDisk,
} from './table.ts';

const LINES = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join('');
const ODD_SERVER = join(import.meta.dirname, '../children/odd-server.mjs');

describe('1. an empty file that an editor truncated a moment ago, while saving, cannot be changed unread', () => {
  const CHANGES: Readonly<Record<string, [tool: string, args: object]>> = {
    write: ['write_file', { path: 'a.txt', content: 'mine\n' }],
    batch: ['apply_changes', { changes: [{ path: 'a.txt', content: 'mine\n' }] }],
    delete: ['delete_path', { path: 'a.txt' }],
    'move onto it': ['move_path', { source: 'b.txt', destination: 'a.txt' }],
  };

  it.each(Object.entries(CHANGES))('%s', async (_, [tool, args]) => {
    const t = await table({ 'a.txt': 'version 1\n', 'b.txt': 'other\n' });
    done(await t.call('read_file', { path: 'a.txt' }));
    done(await t.call('read_file', { path: 'b.txt' }));
    const editor = openSync(t.path('a.txt'), 'w');
    onTestFinished(() => closeSync(editor));
    refused(await t.call(tool, args), 'STALE');
    writeSync(editor, 'version 2\n');
    expect(t.text('a.txt')).toBe('version 2\n');
  });

  it('control: a file that has been empty for a while needs no read', async () => {
    const t = await table({ 'a.txt': '' });
    utimesSync(t.path('a.txt'), 1_000_000, 1_000_000);
    done(await t.call('write_file', { path: 'a.txt', content: 'mine\n' }));
  });
});

describe('2. a save that a refused edit displaces is kept, journalled and named in the answer', () => {
  it('two saves at the moment of the exchange', async () => {
    const t = prepared({ 'a.txt': 'one\n' });
    const server = await Served.start(t, [], moment('two saves', t.path('a.txt')));
    done(await server.call('read_file', { path: 'a.txt' }));
    const edit = { path: 'a.txt', old_string: 'one', new_string: 'mine' };
    const { text } = refused(await server.call('edit_file', edit), 'STALE');
    // Control: the race happened, so the file does not contain both saves of the other program.
    expect(t.text('a.txt')).not.toContain('theirs 1\ntheirs 2');
    const kept = entriesBelow(t.home).filter(({ path, entry }) => {
      const isKept = /\/(images|retained)\//.test(path) && entry.isFile();
      return isKept && /theirs/.test(readFileSync(path, 'utf8'));
    });
    const saves = [t.text('a.txt'), ...kept.map(({ path }) => readFileSync(path, 'utf8'))].join('');
    expect(saves).toContain('theirs 1\n');
    expect(saves).toContain('theirs 2\n');
    const names = kept.map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
    const { stdout } = await t.run(['log']);
    expect(
      names.some((name) => stdout.includes(name)),
      stdout,
    ).toBe(true);
    expect(
      names.some((name) => text.includes(name)),
      text,
    ).toBe(true);
  });
});

describe('3. all or none holds when descriptors or the disk run out', () => {
  const batch = (count: number, content: string) => ({
    changes: Array.from({ length: count }, (_, index) => ({ path: `d${index % 7}/f${index}`, content })),
  });

  it.each([64, 128, 256])('a batch of creations with %i descriptors', async (limit) => {
    const t = prepared();
    const server = await within(t, `ulimit -n ${limit}; exec "$@"`);
    const answer = await server.call('apply_changes', batch(300, 'new\n'));
    expect(treeOf(t.root), answer.text).toHaveLength(answer.ok ? 300 : 0);
  });

  it.skipIf(!CAN_MOUNT)('a batch of edits on a disk that fills up (needs a mount of its own)', async () => {
    const t = prepared();
    const { server, disk, fill } = await withSmallDisk(t, t.root);
    const names = Array.from({ length: 30 }, (_, index) => `f${index}`);
    const old = `old\n${'x'.repeat(99)}\n`.repeat(80);
    for (const name of names) writeFileSync(join(disk, name), old);
    for (const path of names) done(await server.call('read_file', { path }));
    fill(120_000);
    const changes = names.map((path) => ({ path, content: old.replaceAll('x', 'y') }));
    const answer = await server.call('apply_changes', { changes });
    expect(answer.ok).toBe(false);
    const changed = names.filter((name) => readFileSync(join(disk, name), 'utf8') !== old);
    expect(changed, answer.text).toEqual([]);
  });

  it('a creation whose temporary name cannot be removed', async () => {
    const t = prepared();
    const server = await Served.start(t, [], moment('failing unlink'));
    const answer = await server.call('write_file', { path: 'a.txt', content: 'new\n' });
    expect(existsSync(t.path('a.txt')), answer.text).toBe(answer.ok);
  });
});

it('4. no part of a SHA-256 is accepted as a revision', async () => {
  const t = await table({ 'a.txt': 'unread\n' });
  const sum = createHash('sha256').update('unread\n').digest('hex');
  for (const digits of [12, 16, 32, 64]) {
    const write = { path: 'a.txt', content: 'mine\n', expected_revision: sum.slice(0, digits) };
    refused(await t.call('write_file', write), 'REVISION_MISMATCH');
  }
  expect(t.text('a.txt')).toBe('unread\n');
});

it('5. a folder is not deleted if a file in it was read and has changed since', async () => {
  const t = await table({ 'd/a.txt': 'one\n', 'd/b.txt': 'two\n' });
  done(await t.call('read_file', { path: 'd/a.txt' }));
  done(await t.call('list_directory', { path: 'd' }));
  t.put('d/a.txt', 'by hand\n');
  refused(await t.call('delete_path', { path: 'd', recursive: true }), 'STALE');
  expect(t.text('d/a.txt')).toBe('by hand\n');
});

it('6. another session’s change is not undone by id while its files are unread', async () => {
  const t = await table({ 'a.txt': 'one\n' }, { args: ['--session', 'ann'] });
  done(await t.call('read_file', { path: 'a.txt' }));
  const { outcome } = done(await t.call('write_file', { path: 'a.txt', content: 'two\n' }));
  const bob = await t.another(['--session', 'bob']);
  refused(await bob.call('undo_change', { change: outcome['change'] }), 'NOT_READ');
  expect(t.text('a.txt')).toBe('two\n');
  done(await bob.call('read_file', { path: 'a.txt' }));
  done(await bob.call('undo_change', { change: outcome['change'] }));
  expect(t.text('a.txt')).toBe('one\n');
});

describe('7. a policy file or state folder that a workspace can reach is not obeyed', () => {
  const LOOSE = '{"preset":"staleness"}\n';

  it.each<[string, (t: ReturnType<typeof prepared>) => readonly string[]]>([
    [
      'the policy file is a link',
      (t) => {
        symlinkSync(t.path('policy.json'), join(t.home, 'lookfirst.json'));
        return [];
      },
    ],
    [
      'the policy file has a hard link',
      (t) => {
        linkSync(t.path('policy.json'), join(t.home, 'lookfirst.json'));
        return [];
      },
    ],
    [
      '--policy names a link',
      (t) => {
        symlinkSync(t.path('policy.json'), join(t.outside, 'policy.json'));
        return ['--policy', join(t.outside, 'policy.json')];
      },
    ],
    [
      'the state folder is a link',
      (t) => {
        rmSync(t.home, { recursive: true });
        mkdirSync(t.path('state'));
        symlinkSync(t.path('state'), t.home);
        return [];
      },
    ],
  ])('%s', async (_, arrange) => {
    const t = prepared({ 'policy.json': LOOSE });
    const args = arrange(t);
    const { code, stderr } = await t.run(['serve', t.root, ...args], { input: '' });
    expect([code, stderr]).toEqual([1, expect.stringContaining('CONFIG_INVALID')]);
  });

  it('control: a policy file elsewhere is obeyed', async () => {
    const t = await table({ 'a.txt': 'one\n' }, { policy: { preset: 'staleness' } });
    done(await t.call('write_file', { path: 'a.txt', content: 'two\n' }));
  });
});

describe('8. a read licenses only calls that arrive after its answer', () => {
  const request = (id: string, name: string, args: object) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: args },
  });
  const READ = request('r', 'read_file', { path: 'a.txt' });
  const WRITE = request('w', 'write_file', { path: 'a.txt', content: 'early\n' });
  const inOneChunk = (...messages: readonly object[]): string =>
    messages.map((message) => JSON.stringify(message)).join('\n');

  it('a write that is sent together with the read', async () => {
    const t = await table({ 'a.txt': 'one\n' });
    t.server.client.send(inOneChunk(READ, WRITE));
    const { result } = await t.server.client.next(({ id }) => id === 'w');
    await t.server.client.next(({ id }) => id === 'r');
    expect(JSON.stringify(result)).toContain('NOT_READ');
    expect(t.text('a.txt')).toBe('one\n');
    done(await t.call('write_file', { path: 'a.txt', content: 'later\n' }));
  });

  it('a write after a read that was cancelled and not answered', async () => {
    const t = await table({ 'a.txt': 'one\n' });
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'r' } };
    t.server.client.send(inOneChunk(READ, cancel));
    refused(await t.call('write_file', { path: 'a.txt', content: 'blind\n' }), 'NOT_READ');
    expect(t.text('a.txt')).toBe('one\n');
  });
});

describe('9. the proxy does not believe a server that calls its tool read-only', () => {
  it.each([
    ['--read-only', ['--read-only'], undefined],
    ['a policy that denies unknown tools', [], { proxy: { unknownTools: 'deny' } }],
  ] as const)('under %s', async (_, args, policy) => {
    const t = prepared({ 'a.txt': 'one\n' }, policy);
    const proxy = await proxied(t, [ODD_SERVER], args);
    await proxy.tools();
    const answer = await proxy.call('inspect', { path: t.path('a.txt') });
    expect(answer.ok).toBe(false);
    expect(t.text('a.txt')).toBe('one\n');
    for (let turn = 0; turn < 3; turn += 1) expect((await proxy.call('survey', {})).ok).toBe(false);
  });
});

describe('10. a database that is truncated while it is open is detected', () => {
  const DAMAGES: Readonly<Record<string, (home: string) => void>> = {
    truncated: (home) => truncateSync(join(home, 'lookfirst.db'), 0),
    'without its WAL': (home) => rmSync(join(home, 'lookfirst.db-wal')),
  };

  it.each(Object.entries(DAMAGES))('%s: later changes fail with a fault', async (_, damage) => {
    const t = await table({ 'a.txt': 'one\n' });
    done(await t.call('read_file', { path: 'a.txt' }));
    done(await t.call('write_file', { path: 'a.txt', content: 'two\n' }));
    damage(t.home);
    const answer = await t.call('write_file', { path: 'a.txt', content: 'three\n' });
    expect([answer.ok, answer.text]).toEqual([false, expect.stringContaining('STORE_FAILED')]);
    expect(t.text('a.txt')).toBe('two\n');
  });

  it('`log --verify` detects a shortened journal', async () => {
    const t = await table({ 'a.txt': 'one\n' });
    done(await t.call('read_file', { path: 'a.txt' }));
    done(await t.call('write_file', { path: 'a.txt', content: 'two\n' }));
    expect((await t.run(['log', '--verify'])).code).toBe(0);
    truncateSync(join(t.home, 'lookfirst.db'), 0);
    rmSync(join(t.home, 'lookfirst.db-wal'), { force: true });
    t.server.client.child.kill('SIGKILL');
    await t.server.client.exit();
    const { code, stdout } = await t.run(['log', '--verify']);
    expect([code, stdout]).not.toEqual([0, expect.stringContaining('intact')]);
  });
});

it('11. a server with a damaged database continues with an empty one, and says so', async () => {
  const t = prepared({ 'a.txt': 'one\n' });
  writeFileSync(join(t.home, 'lookfirst.db'), 'not a database '.repeat(500));
  const server = await Served.start(t);
  const { text } = done(await server.call('read_file', { path: 'a.txt' }));
  expect(text).toContain('damaged');
  expect(readdirSync(t.home).some((name) => name.startsWith('lookfirst.db.damaged-'))).toBe(true);
  expect(server.client.errors).toContain('damaged');
});

it('12. names inside a state folder below the root are not listed', async () => {
  const places = scratch();
  const root = places.base;
  const server = Served.launch(places, ['serve', root]);
  await server.hello();
  const listed = await server.call('list_directory', { path: '.', depth: 4 });
  const inside = await server.call('list_directory', { path: 'home' });
  const found = await server.call('find_files', { pattern: '**/*' });
  const searched = await server.call('search_text', { pattern: '.', mode: 'files' });
  expect(readdirSync(places.home)).toContain('lookfirst.db');
  for (const { text } of [listed, inside, found, searched]) expect(text).not.toContain('lookfirst.db');
});

describe('13. `undo --session X --merge` merges around changes of another writer', () => {
  it('the dry run shows the result, and the undo produces it', async () => {
    const t = await table({ 'a.txt': LINES }, { args: ['--session', 'ann'] });
    const bob = await t.another(['--session', 'bob']);
    const edit = async (server: Served, line: number, text: string): Promise<void> => {
      done(await server.call('read_file', { path: 'a.txt' }));
      const change = { path: 'a.txt', old_string: `line ${line}\n`, new_string: `${text}\n` };
      done(await server.call('edit_file', change));
    };
    await edit(t.server, 3, 'ann one');
    await edit(bob, 15, 'bob');
    await edit(t.server, 25, 'ann two');
    const undo = ['undo', '--session', 'ann', '--merge'];
    const preview = await t.run([...undo, '--dry-run']);
    expect(preview.stdout).toContain('-ann one\n+line 3\n');
    expect(preview.stdout).toContain('-ann two\n+line 25\n');
    expect(preview.stdout).not.toContain('-bob');
    expect(await t.run(undo)).toMatchObject({ code: 0 });
    expect(t.text('a.txt')).toBe(LINES.replace('line 15\n', 'bob\n'));
  });
});

describe('14. undo', () => {
  async function withFolder(): Promise<Table> {
    const t = await table({ 'd/e.txt': 'e\n', 'd/in/f.txt': 'f\n' }, { args: ['--session', 'ann'] });
    for (const path of ['d/e.txt', 'd/in/f.txt']) done(await t.call('read_file', { path }));
    done(await t.call('list_directory', { path: 'd', depth: 3 }));
    return t;
  }

  it('of several changes works if a folder became a file in between', async () => {
    const t = await withFolder();
    const before = treeOf(t.root);
    done(await t.call('delete_path', { path: 'd', recursive: true }));
    done(await t.call('write_file', { path: 'd', content: 'a file now\n' }));
    const ran = await t.run(['undo', '--session', 'ann']);
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    expect(treeOf(t.root)).toEqual(before);
  });

  it.each([
    ['delete', 'delete_path', { path: 'd', recursive: true }],
    ['move', 'move_path', { source: 'd', destination: 'm' }],
  ])('of a folder’s %s keeps its sightings', async (_, tool, args) => {
    const t = await withFolder();
    done(await t.call(tool, args));
    done(await t.call('undo_change'));
    done(await t.call('write_file', { path: 'd/e.txt', content: 'changed\n' }));
    done(await t.call('delete_path', { path: 'd', recursive: true }));
  });
});
