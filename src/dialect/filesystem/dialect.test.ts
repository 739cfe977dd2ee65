import { describe, expect, it } from 'vitest';
import { RENDER_CONTEXT as W } from '../../../test/support/render-context.ts';
import type { ListedEntry } from '../../model/results.ts';
import type { Refusal } from '../../model/verdict.ts';
import { FILESYSTEM, jsonTree, matchingPaths, mediaBlock } from './dialect.ts';
import { diffText, formatSize, infoText, officialListing, sizesText } from './shapes.ts';

function call(name: string, args: Record<string, unknown>) {
  const tool = FILESYSTEM.tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool.call(args);
}

const WHOLE = { limit: Number.MAX_SAFE_INTEGER, maxBytes: 64 << 20 };

describe('read_text_file', () => {
  it.each([
    [{}, WHOLE],
    [{ head: 0 }, WHOLE],
    [{ head: 2 }, { limit: 2 }],
    [{ head: 1.5 }, { limit: 2 }],
    [{ tail: 3 }, { last: 3 }],
  ])('with %j reads %j', (args, operation) => {
    const asked = call('read_text_file', { path: 'a', ...args });
    expect(asked).toMatchObject({ kind: 'read', operation: { path: 'a', raw: true, ...operation } });
  });

  it.each([
    [{ head: 1, tail: 1 }, 'Cannot specify both head and tail parameters simultaneously'],
    [{ head: -1 }, 'head and tail must not be negative'],
  ])('refuses %j', (args, reason) => {
    expect(call('read_text_file', { path: 'a', ...args })).toEqual({ kind: 'problem', reason });
  });
});

describe('tools that change files', () => {
  it('create no parent folders, and do not move onto an existing file', () => {
    expect(call('write_file', { path: 'a', content: '' })).toMatchObject({
      operation: { makeParents: false },
    });
    expect(call('move_file', { source: 'a', destination: 'b' })).toMatchObject({
      operation: { makeParents: false, overwrite: false },
    });
  });

  it('show a dry run and an edit as the same fenced diff', () => {
    const edits = [{ oldText: 'a', newText: 'b' }];
    const edit = call('edit_file', { path: 'f', edits });
    const dry = call('edit_file', { path: 'f', edits, dryRun: true });
    if (edit.kind !== 'edit' || dry.kind !== 'apply') throw new Error('not an edit');
    const change = {
      path: 'f',
      changed: true,
      created: false,
      sizeBytes: 1,
      notices: [],
      diff: '@@ -1 +1,2 @@\n-a\n+b',
    };
    const header = `Index: /root/f\n${'='.repeat(67)}\n--- /root/f\toriginal\n+++ /root/f\tmodified\n`;
    const text = `\`\`\`diff\n${header}@@ -1,1 +1,2 @@\n-a\n+b\n\`\`\`\n\n`;
    expect(edit.render?.(change, W)).toBe(text);
    expect(dry.render?.({ dryRun: true, results: [change] }, W)).toBe(text);
  });

  it('fence a diff with more backticks than it contains', () => {
    expect(diffText('f', '+```js', { roots: ['/w'] })).toMatch(/^````diff\n[\s\S]*\n````\n\n$/);
  });
});

describe('the official message before our own', () => {
  const refusal = (more: Partial<Refusal>): Refusal =>
    ({ code: 'NOT_FOUND', action: 'read', path: 'd/a.txt', next: 'list', ...more }) as Refusal;
  it.each([
    ['read_file', { path: 'd/a.txt' }, {}, "ENOENT: no such file or directory, open '/root/d/a.txt'"],
    [
      'read_file',
      { path: '/x' },
      { code: 'OUTSIDE_WORKSPACE', path: '/x' },
      'Access denied - path outside allowed directories: /x not in /root, /other',
    ],
    [
      'write_file',
      { path: 'd/a.txt', content: '' },
      {},
      "ENOENT: no such file or directory, open '/root/d/a.txt'",
    ],
    ['write_file', { path: 'd/a.txt', content: '' }, { code: 'NOT_READ' }, undefined],
    [
      'read_file',
      { path: 'd' },
      { code: 'DELETED' },
      "ENOENT: no such file or directory, open '/root/d/a.txt'",
    ],
    [
      'edit_file',
      {
        path: 'a',
        edits: [
          { oldText: 'x', newText: '' },
          { oldText: 'two\nlines', newText: '' },
        ],
      },
      { code: 'NO_MATCH', detail: { index: 1 } },
      'Could not find exact match for edit:\ntwo\nlines',
    ],
    [
      'move_file',
      { source: 'a', destination: 'b' },
      { code: 'ALREADY_EXISTS', path: 'b' },
      'Destination already exists: /root/b',
    ],
    [
      'move_file',
      { source: 'a', destination: 'b' },
      { path: 'a' },
      "ENOENT: no such file or directory, rename '/root/a' -> '/root/b'",
    ],
    [
      'move_file',
      { source: 'a', destination: 'a' },
      { code: 'INVALID_ARGUMENT', path: 'a' },
      'Destination already exists: /root/a',
    ],
    [
      'read_text_file',
      { path: 'd' },
      { code: 'NOT_A_FILE', detail: { kind: 'directory' } },
      'EISDIR: illegal operation on a directory, read',
    ],
    ['read_text_file', { path: 'p' }, { code: 'NOT_A_FILE', detail: { kind: 'fifo' } }, undefined],
    [
      'list_directory',
      { path: 'a' },
      { code: 'NOT_A_FILE', path: 'a' },
      "ENOTDIR: not a directory, scandir '/root/a'",
    ],
    [
      'create_directory',
      { path: 'a' },
      { code: 'ALREADY_EXISTS', path: 'a' },
      "EEXIST: file already exists, mkdir '/root/a'",
    ],
    [
      'read_file',
      { path: './/a/../b/c' },
      { code: 'NOT_A_FILE', path: './/a/../b/c', detail: { errno: 'ENOTDIR' } },
      "ENOTDIR: not a directory, realpath '/root/b/c'",
    ],
    ['list_directory', { path: 'd' }, { path: 'd' }, "ENOENT: no such file or directory, scandir '/root/d'"],
    ['get_file_info', { path: 'd' }, { path: 'd' }, "ENOENT: no such file or directory, stat '/root/d'"],
  ] as const)('%s %j refused as %j', (name, args, more, text) => {
    const asked = call(name, args);
    if (asked.kind === 'problem') throw new Error(asked.reason);
    expect(asked.foreword?.(refusal(more), W)).toBe(text);
  });
});

describe('read_multiple_files', () => {
  it('shows every file, and errors among them', () => {
    const many = call('read_multiple_files', { paths: ['a', 'b'] });
    if (many.kind !== 'read-many') throw new Error('not a read');
    const read = { text: 'x\n', from: 1, to: 1, totalLines: 1, sizeBytes: 2, encoding: 'utf-8', clamped: [] };
    const files = [
      { path: 'a', outcome: { ok: true as const, path: 'a', complete: true, ...read } },
      {
        path: 'b',
        outcome: {
          ok: false as const,
          refusal: { code: 'NOT_FOUND', action: 'read', path: 'b', next: 'list' } as const,
        },
      },
    ];
    expect(many.render?.({ files }, W)).toBe(
      'a:\nx\n\n\n---\nb: Error - ENOENT: no such file or directory, open \'/root/b\'\nrefusing to read b: there is nothing at that path [NOT_FOUND]\nNext: list_directory {"path":"."} shows what is there.',
    );
  });
});

const entries: ListedEntry[] = [
  { path: 'b.txt', kind: 'file', sizeBytes: 2048 },
  { path: 'dir', kind: 'directory' },
  { path: 'dir/.x.txt', kind: 'file', sizeBytes: 1 },
  { path: 'dir/sub', kind: 'directory' },
  { path: 'dir/sub/c.txt', kind: 'file', sizeBytes: 1 },
  { path: 'l', kind: 'link', target: 'b.txt' },
];
const listed = {
  path: '.',
  entries: entries.filter(({ path }) => !path.includes('/')),
  cut: 0,
  more: false,
  complete: true,
};

describe('folders', () => {
  it('are listed by kind and name', () => {
    expect(officialListing(listed)).toBe('[FILE] b.txt\n[DIR] dir\n[FILE] l');
  });

  it('are listed with sizes and totals', () => {
    const rows = [
      `[FILE] ${'b.txt'.padEnd(30)}    2.00 KB`,
      `[DIR] ${'dir'.padEnd(30)} `,
      `[FILE] ${'l'.padEnd(30)}        0 B`,
    ];
    const totals = ['', 'Total: 2 files, 1 directories', 'Combined size: 2.00 KB'];
    expect(sizesText(listed, 'name')).toBe([...rows, ...totals].join('\n'));
    expect(sizesText(listed, 'size').split('\n')[0]).toBe(rows[0]);
  });

  it('count with their own size in the order by size, but not in the total', () => {
    const sized = listed.entries.map((entry) =>
      entry.path === 'dir' ? { ...entry, sizeBytes: 4096 } : entry,
    );
    const text = sizesText({ ...listed, entries: sized }, 'size');
    expect(text).toMatch(/^\[DIR\] dir/);
    expect(text).toContain('Combined size: 2.00 KB');
  });

  it.each([
    ['*.txt', [], ['b.txt']],
    ['**/*.txt', [], ['b.txt', 'dir/.x.txt', 'dir/sub/c.txt']],
    ['**/*.txt', ['dir/sub'], ['b.txt', 'dir/.x.txt']],
    ['**/*.txt', ['dir'], ['b.txt']],
    ['dir/*', [], ['dir/.x.txt', 'dir/sub']],
    ['*.md', [], []],
  ])('are searched for %s without %j', (pattern, excludes, paths) => {
    expect(matchingPaths(entries, pattern, excludes)).toEqual(paths);
  });

  it.each([
    ['list_directory', {}],
    ['list_directory_with_sizes', {}],
    ['search_files', { pattern: '**' }],
    ['search_files', { pattern: '*.none' }],
  ])('that %s %j shows only in part are marked as incomplete', (name, args) => {
    const asked = call(name, { path: '.', ...args });
    if (asked.kind !== 'list') throw new Error('not a list');
    const whole = asked.render?.(listed, W);
    expect(asked.render?.({ ...listed, cut: 7 }, W)).toBe(
      `${whole}\n[incomplete: 7 or more entries are not shown]`,
    );
    expect(asked.render?.({ ...listed, cut: undefined }, W)).toBe(
      `${whole}\n[incomplete: some folders could not be listed]`,
    );
  });

  it('are a tree of names, kinds and children', () => {
    expect(JSON.parse(jsonTree({ entries, cut: 0 }, []))).toEqual([
      { name: 'b.txt', type: 'file' },
      {
        name: 'dir',
        type: 'directory',
        children: [
          { name: '.x.txt', type: 'file' },
          { name: 'sub', type: 'directory', children: [{ name: 'c.txt', type: 'file' }] },
        ],
      },
      { name: 'l', type: 'file' },
    ]);
    expect(JSON.parse(jsonTree({ entries, cut: 0 }, ['sub', '*.txt']))).toEqual([
      { name: 'dir', type: 'directory', children: [{ name: '.x.txt', type: 'file' }] },
      { name: 'l', type: 'file' },
    ]);
    expect(jsonTree({ entries, cut: 0 }, [])).toMatch(/^\[\n {2}\{/);
    expect(JSON.parse(jsonTree({ entries, cut: undefined }, [])).at(-1)).toEqual({
      name: '[incomplete: some folders could not be listed]',
      type: 'note',
    });
  });
});

describe('a file', () => {
  it.each([
    ['file:///a/p.PNG', { type: 'image', data: 'AA', mimeType: 'image/png' }],
    ['file:///a/s.mp3', { type: 'audio', data: 'AA', mimeType: 'audio/mpeg' }],
    [
      'file:///a/d.bin',
      {
        type: 'resource',
        resource: { uri: 'file:///a/d.bin', mimeType: 'application/octet-stream', blob: 'AA' },
      },
    ],
    [
      'file:///a/d.constructor',
      {
        type: 'resource',
        resource: { uri: 'file:///a/d.constructor', mimeType: 'application/octet-stream', blob: 'AA' },
      },
    ],
    [
      'file:///a.d/none',
      {
        type: 'resource',
        resource: { uri: 'file:///a.d/none', mimeType: 'application/octet-stream', blob: 'AA' },
      },
    ],
  ])('at %s becomes a block of the type that its extension names', (uri, block) => {
    expect(mediaBlock({ path: 'x', uri, base64: 'AA' })).toEqual(block);
  });

  it('is described by its size, times, kind and permissions', () => {
    const info = infoText({
      path: 'a',
      absolute: '/a',
      kind: 'file',
      sizeBytes: 3,
      createdMs: 0,
      modifiedMs: 0,
      accessedMs: 0,
      mode: 0o44,
    });
    expect(info.split('\n').map((row) => row.split(':')[0])).toEqual([
      'size',
      'created',
      'modified',
      'accessed',
      'isDirectory',
      'isFile',
      'permissions',
    ]);
    expect(info).toMatch(/^size: 3\n/);
    expect(info).toMatch(/isDirectory: false\nisFile: true\npermissions: 044$/);
  });

  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.00 KB'],
    [1_572_864, '1.50 MB'],
  ])('of %i bytes is %s long', (bytes, text) => {
    expect(formatSize(bytes)).toBe(text);
  });
});
