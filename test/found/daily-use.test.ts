import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Answer, Served } from '../support/served.ts';
import { treeOf } from '../support/tree.ts';
import { done, prepared, refused, table } from './table.ts';

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');

describe('26. a drop-in for the official server', () => {
  const FILESYSTEM = { args: ['--dialect', 'filesystem'] };
  const edit = (oldText: string, newText: string, more: object = {}) => ({
    path: 'a.txt',
    edits: [{ oldText, newText }],
    ...more,
  });

  it("serves the client's roots if no folder is given", async () => {
    const t = prepared({ 'where.txt': 'in the root\n' });
    writeFileSync(join(t.base, 'where.txt'), 'in the current folder\n');
    const server = Served.launch(t, ['serve']);
    const { client } = server;
    void client
      .next(({ method }) => method === 'roots/list')
      .then(({ id }) => {
        const roots = [{ uri: pathToFileURL(t.root).href }];
        client.send({ jsonrpc: '2.0', id, result: { roots } });
      });
    await client.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { roots: { listChanged: true } },
      clientInfo: { name: 'test', version: '1' },
    });
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect(await client.text('read_file', { path: 'where.txt' })).toContain('in the root');
  });

  it('expands ~ to the home folder', async () => {
    const t = prepared({ 'a.txt': 'one\n' });
    const server = await Served.start(t, FILESYSTEM.args);
    const read = await server.call('read_text_file', { path: '~/root/a.txt' });
    expect(read).toMatchObject({ ok: true, text: expect.stringContaining('one') });
  });

  it('omits links that lead outside or nowhere from search_files', async () => {
    const t = prepared({ 'found.txt': 'x\n' });
    symlinkSync('/etc', t.path('found-outside'));
    symlinkSync('nowhere', t.path('found-nowhere'));
    const server = await Served.here(t, FILESYSTEM.args);
    const found = await server.call('search_files', { path: t.root, pattern: 'found*' });
    expect(found.text.split('\n')).toEqual([t.path('found.txt')]);
  });

  it('ignores unknown arguments', async () => {
    const t = await table({ 'a.txt': 'one\n' }, FILESYSTEM);
    expect(await t.call('read_text_file', { path: 'a.txt', colour: 'blue' })).toMatchObject({ ok: true });
  });

  it('accepts an edit that changes nothing', async () => {
    const t = await table({ 'a.txt': 'one\n' }, FILESYSTEM);
    await t.call('read_text_file', { path: 'a.txt' });
    const { outcome } = done(await t.call('edit_file', edit('one', 'one')));
    expect(outcome).toMatchObject({ changed: false });
  });

  it('allows a dry run of an edit of an unread file', async () => {
    const t = await table({ 'a.txt': 'one\n' }, FILESYSTEM);
    const tried = done(await t.call('edit_file', edit('one', 'two', { dryRun: true })));
    expect(tried.text).toContain('+two');
    expect(t.text('a.txt')).toBe('one\n');
  });
});

describe('27. small changes', () => {
  it('an append needs no read, creates a missing file, and shows nothing', async () => {
    const t = await table({ 'a.txt': 'one' });
    done(await t.call('insert_lines', { path: 'a.txt', content: 'two' }));
    expect(t.text('a.txt')).toBe('one\ntwo\n');
    refused(await t.call('write_file', { path: 'a.txt', content: 'x\n' }), 'NOT_READ');
    done(await t.call('insert_lines', { path: 'new/b.txt', content: 'first' }));
    expect(t.text('new/b.txt')).toBe('first\n');
  });

  it.each([
    [
      'deleting whole lines removes their line ending',
      'one\ntwo\nthree\n',
      { old_string: 'two', new_string: '' },
      'one\nthree\n',
    ],
    [
      'a final newline in old_string that the file lacks is ignored',
      'one\ntwo',
      { old_string: 'two\n', new_string: 'TWO\n' },
      'one\nTWO',
    ],
  ])('%s', async (_, before, change, after) => {
    const t = await table({ 'a.txt': before });
    done(await t.call('read_file', { path: 'a.txt' }));
    done(await t.call('edit_file', { path: 'a.txt', ...change }));
    expect(t.text('a.txt')).toBe(after);
  });
});

describe('28. arguments as models send them', () => {
  it.each<[string, string, object]>([
    ['null for an optional argument', 'read_file', { path: 'a.txt', offset: null, limit: null }],
    ['a number as a string', 'read_file', { path: 'a.txt', limit: '2' }],
    ['an array as JSON', 'apply_changes', { changes: '[{"path":"b.txt","content":"new"}]' }],
  ])('accepts %s', async (_, tool, args) => {
    const t = await table({ 'a.txt': numbered(5) });
    done(await t.call(tool, args));
  });

  it('suggests the right argument and the nearest tool', async () => {
    const t = await table({ 'a.txt': 'one\n' });
    const { text: argument } = refused(await t.call('read_file', { file_path: 'a.txt' }), 'INVALID_ARGUMENT');
    expect(argument).toContain('did you mean "path"');
    const tool = await t.server.client.request('tools/call', { name: 'readfile', arguments: {} });
    expect(JSON.stringify(tool)).toContain('did you mean');
  });
});

it('29. a folder of any size can be listed in pages, and then deleted', async () => {
  const names = Array.from({ length: 1200 }, (_, index) => `f${String(index).padStart(4, '0')}`);
  const t = await table(Object.fromEntries(names.map((name) => [`d/${name}`, ''])));
  let listed = '';
  let page: Answer | undefined;
  do {
    const after = page === undefined ? {} : { after: /\b(f\d{4})\b(?!.*\bf\d{4}\b)/s.exec(page.text)?.[1] };
    page = done(await t.call('list_directory', { path: 'd', ...after }));
    listed += page.text;
  } while (page.outcome['more'] === true);
  expect(names.filter((name) => !listed.includes(name))).toEqual([]);
  done(await t.call('delete_path', { path: 'd', recursive: true }));
  expect(existsSync(t.path('d'))).toBe(false);
});

describe('30. one batch', () => {
  it.each<[string, object[], string[]]>([
    [
      'edits and moves one file',
      [{ path: 'a', edits: [{ old_string: 'a', new_string: 'A' }], move_to: 'in/d' }],
      ['b: b', 'c: c', 'in/d: A'],
    ],
    [
      'exchanges two files',
      [
        { path: 'a', move_to: 'b' },
        { path: 'b', move_to: 'a' },
      ],
      ['a: b', 'b: a', 'c: c'],
    ],
    [
      'moves a chain of files',
      [
        { path: 'a', move_to: 'b' },
        { path: 'b', move_to: 'c' },
        { path: 'c', move_to: 'd' },
      ],
      ['b: a', 'c: b', 'd: c'],
    ],
  ])('%s', async (_, changes, after) => {
    const t = await table({ a: 'a', b: 'b', c: 'c' });
    for (const path of ['a', 'b', 'c']) done(await t.call('read_file', { path }));
    done(await t.call('apply_changes', { changes }));
    expect(treeOf(t.root)).toEqual(after);
  });
});

describe('32. the form of a file', () => {
  it.each([
    ['a byte order mark', Buffer.from('\ufeffone\n'), Buffer.from('\ufefftwo\n')],
    ['UTF-16', Buffer.from('\ufeffone\n', 'utf16le'), Buffer.from('\ufefftwo\n', 'utf16le')],
    ['CRLF', Buffer.from('one\r\n1\r\n'), Buffer.from('two\r\n')],
  ])('%s is kept when the whole file is written', async (_, before, after) => {
    const t = await table({ 'a.txt': before });
    done(await t.call('read_file', { path: 'a.txt' }));
    done(await t.call('write_file', { path: 'a.txt', content: 'two\n' }));
    expect(readFileSync(t.path('a.txt'))).toEqual(after);
  });
});
