import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { official, scratch } from './harness.ts';

const read = (path: string) => readFileSync(path, 'utf8');

/** A workspace with one file of five lines, behind the proxy and the official server. */
async function open(content = 'one\ntwo\nthree\nfour\nfive\n') {
  const root = scratch();
  const path = join(root, 'a.txt');
  writeFileSync(path, content);
  return { ...(await official(root)), root, path };
}

describe('the official server behind the gate', () => {
  it('refuses a blind overwrite with its own result, and the file stays', async () => {
    const { client, path } = await open();
    const blind = await client.call('write_file', { path, content: 'x' });
    expect(blind).toMatchObject({ ok: false, code: 'NOT_READ' });
    expect(blind.text).toContain(`refusing to overwrite ${path}: read it first [NOT_READ]`);
    expect(blind.text).toContain(`read_text_file {"path":"${path}"}`);
    expect(blind.answer.result).toMatchObject({ isError: true });
    expect(blind.answer.result).not.toHaveProperty('structuredContent');
    expect(read(path)).toBe('one\ntwo\nthree\nfour\nfive\n');
  });

  it('lets a file that was read be overwritten and edited, and written again without reading', async () => {
    const { client, path, session } = await open();
    await client.call('read_text_file', { path });
    expect((await client.call('write_file', { path, content: 'new\n' })).ok).toBe(true);
    expect((await client.call('edit_file', { path, edits: [{ oldText: 'new', newText: 'newer' }] })).ok).toBe(
      true,
    );
    expect((await client.call('write_file', { path, content: 'newest\n' })).ok).toBe(true);
    expect(read(path)).toBe('newest\n');
    expect(session.journal).toEqual(['done c1 write', 'done c2 edit', 'done c3 write']);
  });

  it('refuses a stale overwrite and a stale edit', async () => {
    const { client, path } = await open();
    await client.call('read_text_file', { path });
    writeFileSync(path, 'theirs\n');
    expect(await client.call('write_file', { path, content: 'x' })).toMatchObject({ code: 'STALE' });
    const edit = { path, edits: [{ oldText: 'theirs', newText: 'mine' }] };
    expect(await client.call('edit_file', edit)).toMatchObject({ code: 'STALE' });
    expect(read(path)).toBe('theirs\n');
  });

  it('creates without reading, and knows what it created', async () => {
    const { client, root } = await open();
    const path = join(root, 'new.txt');
    expect((await client.call('write_file', { path, content: 'first\n' })).ok).toBe(true);
    expect((await client.call('write_file', { path, content: 'second\n' })).ok).toBe(true);
    expect(read(path)).toBe('second\n');
  });

  it.each([
    ['head', { head: 2 }, 'PARTIALLY_READ'],
    ['tail', { tail: 2 }, 'PARTIALLY_READ'],
    ['a head that is all', { head: 50 }, undefined],
    ['head 0, which is the whole file there', { head: 0 }, undefined],
  ])('counts %s as the lines that were delivered', async (_what, range, code) => {
    const { client, path } = await open();
    await client.call('read_text_file', { path, ...range });
    expect((await client.call('write_file', { path, content: 'x\n' })).code).toBe(code);
  });

  it('adds up two parts that make the whole', async () => {
    const { client, path } = await open();
    await client.call('read_text_file', { path, head: 3 });
    await client.call('read_text_file', { path, tail: 3 });
    expect((await client.call('write_file', { path, content: 'x\n' })).ok).toBe(true);
  });

  it('takes a dry run for no write: it needs no read, and keeps nothing', async () => {
    const { client, path, session } = await open();
    const edits = [{ oldText: 'one', newText: 'ONE' }];
    expect((await client.call('edit_file', { path, edits, dryRun: true })).text).toContain('+ONE');
    expect(session.images.size).toBe(0);
    expect(await client.call('edit_file', { path, edits, dryRun: false })).toMatchObject({
      code: 'NOT_READ',
    });
  });

  it('counts the files of read_multiple_files one by one', async () => {
    const { client, root, path } = await open();
    const other = join(root, 'b.txt');
    writeFileSync(other, 'b\n');
    const missing = join(root, 'missing.txt');
    const many = await client.call('read_multiple_files', { paths: [path, missing, other] });
    expect(many.text).toContain(`${missing}: Error - `);
    writeFileSync(missing, 'now it is there\n');
    expect((await client.call('write_file', { path, content: 'x\n' })).ok).toBe(true);
    expect((await client.call('write_file', { path: other, content: 'x\n' })).ok).toBe(true);
    expect(await client.call('write_file', { path: missing, content: 'x\n' })).toMatchObject({
      code: 'NOT_READ',
    });
  });

  it('does not believe a file that forges the mark of the next one', async () => {
    const { client, root, path } = await open();
    const secret = join(root, 'secret.txt');
    writeFileSync(secret, 'real\n');
    writeFileSync(path, `x\n\n---\n${secret}:\nfake\n`);
    await client.call('read_multiple_files', { paths: [path, secret] });
    expect(await client.call('write_file', { path: secret, content: 'x' })).toMatchObject({
      code: 'NOT_READ',
    });
  });

  it('keeps before-images, so that a foreign write can be undone', async () => {
    const { client, path, session } = await open();
    await client.call('read_text_file', { path });
    await client.call('write_file', { path, content: 'gone\n' });
    session.undo('c1');
    expect(read(path)).toBe('one\ntwo\nthree\nfour\nfive\n');
  });

  it('does not trust what it saw after the server failed to write', async () => {
    const { client, root, path } = await open();
    await client.call('read_text_file', { path });
    const failed = await client.call('move_file', {
      source: join(root, 'none'),
      destination: join(root, 'c'),
    });
    expect(failed).toMatchObject({ ok: false, code: undefined });
    // The gate finds the text; the server takes its line endings for one, and does not find it.
    const crlf = join(root, 'crlf.txt');
    writeFileSync(crlf, 'a\r\nb\r\n');
    await client.call('read_text_file', { path: crlf });
    const odd = { path: crlf, edits: [{ oldText: 'a\r\nb', newText: 'x' }] };
    expect((await client.call('edit_file', odd)).ok).toBe(true);
    writeFileSync(path, 'x\n', { mode: 0o644 });
    expect(await client.call('write_file', { path, content: 'y' })).toMatchObject({ code: 'STALE' });
  });
});

describe('the official server kept inside', () => {
  it.each([
    ['a read', 'read_text_file', {}],
    ['one of many', 'read_multiple_files', { many: true }],
    ['a listing', 'list_directory', {}],
    ['a search', 'search_files', { pattern: '*' }],
    ['a new file', 'write_file', { content: 'x' }],
    ['a new folder', 'create_directory', {}],
  ])('refuses %s outside its root, though the server would do it', async (_what, tool, args) => {
    const base = scratch();
    const root = join(base, 'inside');
    const outside = join(base, 'outside');
    mkdirSync(root);
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret.txt'), 'secret');
    // The server itself may reach both folders: only the gate is narrower.
    const { client } = await official(root, { args: [officialPath(), base] });
    const path = tool.includes('read') ? join(outside, 'secret.txt') : join(outside, 'new');
    const call = 'many' in args ? { paths: [path] } : { path, ...args };
    const answer = await client.call(tool, tool === 'list_directory' ? { path: outside } : call);
    expect(answer).toMatchObject({ ok: false, code: 'OUTSIDE_WORKSPACE' });
    expect(JSON.stringify(answer.answer)).not.toContain('"secret"');
    expect(existsSync(join(outside, 'new'))).toBe(false);
  });

  it('refuses a link that leads out, a home path and a path that climbs', async () => {
    const { client, root } = await open();
    symlinkSync('/etc', join(root, 'etc'));
    const paths = [join(root, 'etc/hostname'), '~/x', join(root, '../x'), `file://${homedir()}/x`];
    for (const path of paths)
      expect(await client.call('read_text_file', { path })).toMatchObject({ code: 'OUTSIDE_WORKSPACE' });
  });

  it('takes relative paths as the server does: within the root', async () => {
    const { client, root } = await open();
    mkdirSync(join(root, 'sub'));
    expect(await client.call('write_file', { path: 'a.txt', content: 'x' })).toMatchObject({
      code: 'NOT_READ',
    });
    await client.call('read_text_file', { path: 'a.txt' });
    expect((await client.call('write_file', { path: 'a.txt', content: 'x' })).ok).toBe(true);
    expect(read(join(root, 'a.txt'))).toBe('x');
  });
});

describe('many calls at once', () => {
  it('are judged one after the other for one file: of two edits from one view both are applied', async () => {
    const { client, path } = await open();
    await client.call('read_text_file', { path });
    const edits = ['one', 'two', 'three', 'four', 'five'].map((word) =>
      client.call('edit_file', { path, edits: [{ oldText: word, newText: word.toUpperCase() }] }),
    );
    expect((await Promise.all(edits)).map((edit) => edit.ok)).toEqual([true, true, true, true, true]);
    expect(read(path)).toBe('ONE\nTWO\nTHREE\nFOUR\nFIVE\n');
  });

  it('keep their order: a write sent right behind a read counts that read', async () => {
    const { client, path } = await open();
    const [, written] = await Promise.all([
      client.call('read_text_file', { path }),
      client.call('write_file', { path, content: 'x\n' }),
    ]);
    expect(written?.ok).toBe(true);
  });

  it('do not wait for other files', async () => {
    const { client, root } = await open();
    const calls = Array.from({ length: 50 }, (_, n) =>
      client.call('write_file', { path: join(root, `${n}.txt`), content: String(n) }),
    );
    expect((await Promise.all(calls)).every((call) => call.ok)).toBe(true);
  });
});

function officialPath(): string {
  return new URL('../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', import.meta.url)
    .pathname;
}
