import { mkdirSync, statSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { setUp } from '../../test/support/tool-calls.ts';
import { formatSize } from '../dialect/filesystem/shapes.ts';

describe('the filesystem dialect', () => {
  it('returns text twice, and refusals once, after the official message', async () => {
    const { call, put, root } = await setUp({ dialect: 'filesystem' });
    put('a.txt', '\ufeffone\r\ntwo');
    mkdirSync(join(root, 'sub'));
    const read = await call('read_text_file', { path: join(root, 'a.txt') });
    expect(read.text).toBe('\ufeffone\r\ntwo');
    expect(read.result).toMatchObject({ structuredContent: { content: '\ufeffone\r\ntwo' } });
    expect((await call('read_text_file', { path: 'a.txt', tail: 1 })).text).toBe('two');
    const moved = await call('move_file', { source: 'a.txt', destination: 'sub' });
    expect(moved.text).toContain(
      `Destination already exists: ${join(root, 'sub')}\nrefusing to move a.txt to sub: something is already there [ALREADY_EXISTS]\n`,
    );
    expect(moved.result).not.toHaveProperty('structuredContent');
    expect((await call('write_file', { path: 'no/b.txt', content: '' })).text).toContain(
      `ENOENT: no such file or directory, open '${join(root, 'no/b.txt')}'\n`,
    );
    expect((await call('search_files', { path: '.', pattern: '*.txt' })).text).toBe(join(root, 'a.txt'));
    expect((await call('list_allowed_directories')).text).toBe(`Allowed directories:\n${root}`);
    expect((await call('get_file_info', { path: 'sub' })).text).toContain('isDirectory: true');
    const media = await call('read_media_file', { path: 'a.txt' });
    expect(media.result).toMatchObject({
      content: [
        {
          type: 'resource',
          resource: { uri: `file://${root}/a.txt`, blob: Buffer.from('\ufeffone\r\ntwo').toString('base64') },
        },
      ],
    });
    expect(media.result).toMatchObject({ structuredContent: { content: media.result['content'] } });
  });

  it('a file read in parts or as media may not be overwritten; one read whole may', async () => {
    const { call, put, text } = await setUp({ dialect: 'filesystem' });
    put('a.txt', 'one\ntwo\nthree\n');
    const write = () => call('write_file', { path: 'a.txt', content: 'x\n' });
    await call('read_text_file', { path: 'a.txt', head: 1 });
    expect(await write()).toMatchObject({ outcome: { code: 'PARTIALLY_READ' } });
    await call('read_multiple_files', { paths: ['a.txt', 'missing'] });
    expect(await write()).toMatchObject({ outcome: { ok: true } });
    const edit = await call('edit_file', { path: 'a.txt', edits: [{ oldText: 'x', newText: 'y' }] });
    expect(edit.text).toMatch(
      /^```diff\nIndex: (\/.*\/a\.txt)\n={67}\n--- \1\toriginal\n\+\+\+ \1\tmodified\n@@ -1,1 \+1,1 @@\n-x\n\+y\n```\n\n$/,
    );
    expect(text('a.txt')).toBe('y\n');
  });
});

describe('a binary file', () => {
  it('is an error of the tools that read text, which names the tool for it', async () => {
    const { call, put } = await setUp({ dialect: 'filesystem' });
    put('a.bin', Buffer.from([0, 1, 2, 3]));
    for (const [name, args] of [
      ['read_text_file', {}],
      ['read_text_file', { head: 1 }],
      ['read_file', { tail: 1 }],
    ] as const) {
      const read = await call(name, { path: 'a.bin', ...args });
      expect(read).toMatchObject({ isError: true, outcome: { ok: false, code: 'NOT_TEXT' } });
      expect(read.text).toBe(
        'refusing to read a.bin: it is not text [NOT_TEXT]\n' +
          'Its type is application/octet-stream (4 B).\n' +
          'Next: read_media_file {"path":"a.bin"} shows it.',
      );
    }
    expect((await call('read_media_file', { path: 'a.bin' })).isError).toBe(false);
    const many = await call('read_multiple_files', { paths: ['a.bin'] });
    expect(many.text).toMatch(/^a\.bin: Error - a\.bin is not text/);
  });
});

describe('list_directory_with_sizes', () => {
  it('shows the size of a link by its target, unless the target is outside or missing', async () => {
    const { call, put, root } = await setUp({ dialect: 'filesystem' });
    put('a.txt', 'fourteen bytes');
    mkdirSync(join(root, 'sub'));
    symlinkSync('a.txt', join(root, 'file-link'));
    symlinkSync('sub', join(root, 'folder-link'));
    symlinkSync('/etc/passwd', join(root, 'outside-link'));
    symlinkSync('missing', join(root, 'dangling-link'));
    const { text } = await call('list_directory_with_sizes', { path: '.' });
    const sizeOf = (name: string) => new RegExp(`\\[FILE\\] ${name} +(.*)`).exec(text)?.[1];
    expect(sizeOf('file-link')).toBe('14 B');
    expect(sizeOf('folder-link')).toBe(formatSize(statSync(join(root, 'sub')).size));
    expect(sizeOf('outside-link')).toBe('0 B');
    expect(sizeOf('dangling-link')).toBe('0 B');
  });
});

describe('the filesystem dialect accepts what the official server accepts', () => {
  it('an edit that changes nothing, and unknown arguments', async () => {
    const { call, put, text } = await setUp({ dialect: 'filesystem' });
    put('a.txt', 'one\ntwo\n');
    expect((await call('read_text_file', { path: 'a.txt', bytes: 7 })).isError).toBe(false);
    const same = { path: 'a.txt', edits: [{ oldText: 'one', newText: 'one', more: 1 }] };
    expect((await call('edit_file', same)).outcome).toMatchObject({ ok: true, changed: false });
    const missing = { path: 'a.txt', edits: [{ oldText: 'no such text', newText: 'no such text' }] };
    expect((await call('edit_file', missing)).outcome).toMatchObject({ code: 'NO_MATCH' });
    const both = {
      path: 'a.txt',
      edits: [
        { oldText: 'one', newText: 'one' },
        { oldText: 'two', newText: 'zwei' },
      ],
    };
    expect((await call('edit_file', both)).outcome).toMatchObject({ ok: true, changed: true });
    expect(text('a.txt')).toBe('one\nzwei\n');
  });

  it('the home folder as ~', async () => {
    const { call, put, root } = await setUp({ dialect: 'filesystem' });
    vi.stubEnv('HOME', root);
    onTestFinished(() => void vi.unstubAllEnvs());
    put('a.txt', 'one\n');
    expect((await call('read_text_file', { path: '~/a.txt' })).text).toBe('one\n');
    expect((await call('read_multiple_files', { paths: ['~/a.txt'] })).text).toContain('one');
    expect((await call('list_directory', { path: '~' })).text).toContain('a.txt');
  });

  it('only links to targets inside the workspace among the files found', async () => {
    const { call, put, root } = await setUp({ dialect: 'filesystem' });
    put('a.txt', 'one\n');
    symlinkSync('a.txt', join(root, 'inside.txt'));
    symlinkSync('/etc/hostname', join(root, 'outside.txt'));
    symlinkSync('nowhere', join(root, 'dangling.txt'));
    const found = (await call('search_files', { path: root, pattern: '*.txt' })).text;
    expect(
      found
        .split('\n')
        .map((path) => basename(path))
        .sort(),
    ).toEqual(['a.txt', 'inside.txt']);
  });
});
