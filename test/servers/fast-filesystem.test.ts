import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TestGate } from '../proxy/gate.ts';
import { scratch, startProxy } from '../proxy/harness.ts';
import { EXAMPLE_SERVERS } from '../support/server-tables.ts';
import { toolIn } from '../support/tools.mjs';
import { ON_DISK } from '../support/tree.ts';

/**
 * A third-party filesystem server. Its tools differ from those of the official server, and it
 * answers in JSON.
 */
const SERVER = await toolIn('servers', 'fast-filesystem-mcp/dist/index.js');
const read = (path: string) => readFileSync(path, 'utf8');

async function open() {
  // The server accepts only a few folders. The folder for temporary files on the disk is one of
  // them.
  const root = scratch(ON_DISK);
  const path = join(root, 'a.txt');
  writeFileSync(path, 'one\ntwo\nthree\n');
  const running = await startProxy(root, {
    command: process.execPath,
    args: [SERVER, root],
    tables: EXAMPLE_SERVERS,
  });
  await running.client.initialize();
  return { ...running, root, path };
}

describe('fast-filesystem-mcp behind the gate', () => {
  it('refuses blind and stale writes; other writes pass and can be undone', async () => {
    const { client, path, gate } = await open();
    const write = (content: string) => client.call('fast_write_file', { path, content });
    expect(await write('x')).toMatchObject({ ok: false, code: 'NOT_READ' });
    expect((await client.call('fast_read_file', { path })).ok).toBe(true);
    expect((await write('mine\n')).ok).toBe(true);
    writeFileSync(path, 'theirs\n');
    expect(await write('mine again\n')).toMatchObject({ code: 'STALE' });
    expect(read(path)).toBe('theirs\n');
    await client.call('fast_read_file', { path });
    const edit = { path, old_text: 'theirs', new_text: 'ours' };
    expect((await client.call('fast_edit_block', edit)).ok).toBe(true);
    expect(read(path)).toBe('ours\n');
    await gate.library.undo({});
    expect(read(path)).toBe('theirs\n');
  });

  it('counts the lines that were delivered as read, not those that were requested', async () => {
    const { client, path } = await open();
    await client.call('fast_read_file', { path, line_start: 1, line_count: 1 });
    expect(await client.call('fast_write_file', { path, content: 'x' })).toMatchObject({
      code: 'PARTIALLY_READ',
    });
    await client.call('fast_read_multiple_files', { paths: [path] });
    expect((await client.call('fast_write_file', { path, content: 'x' })).ok).toBe(true);
  });

  it('refuses to copy over or delete an unread file, and allows both after a read', async () => {
    const { client, root, path, gate } = await open();
    const other = join(root, 'b.txt');
    writeFileSync(other, 'other\n');
    const copy = { source: path, destination: other, overwrite: true };
    expect(await client.call('fast_copy_file', copy)).toMatchObject({ code: 'NOT_READ' });
    expect(await client.call('fast_delete_file', { path: other })).toMatchObject({ code: 'NOT_READ' });
    await client.call('fast_read_file', { path: other });
    expect((await client.call('fast_copy_file', copy)).ok).toBe(true);
    expect(read(other)).toBe('one\ntwo\nthree\n');
    await client.call('fast_read_file', { path: other });
    // The answer only asks for confirmation; nothing was deleted, and nothing is recorded.
    expect((await client.call('fast_delete_file', { path: other })).ok).toBe(true);
    expect(existsSync(other)).toBe(true);
    const sure = { path: other, confirm_delete: false };
    expect((await client.call('fast_delete_file', sure)).ok).toBe(true);
    expect(existsSync(other)).toBe(false);
    expect((await gate.log()).filter((line) => line.startsWith('change'))).toEqual([
      'change edit b.txt',
      'change delete b.txt',
    ]);
  });

  it('changes nothing under --read-only, not even through a tool that no table describes', async () => {
    const root = scratch(ON_DISK);
    const home = scratch();
    mkdirSync(join(root, 'd'));
    writeFileSync(join(root, 'a.txt'), 'one\n');
    const gate = await TestGate.open(root, home, { policy: { readOnly: true } });
    onTestFinished(() => gate.close());
    const { client } = await startProxy(root, {
      command: process.execPath,
      args: [SERVER, root],
      session: gate.session,
      tables: EXAMPLE_SERVERS,
    });
    await client.initialize();
    const sync = { source_dir: join(root, 'd'), target_dir: root, delete_extra: true };
    const synced = await client.call('fast_sync_directories', sync);
    expect(synced).toMatchObject({ code: 'READ_ONLY' });
    expect(synced.text).toContain('this session is read-only');
    const copy = { source: join(root, 'a.txt'), destination: join(root, 'b.txt') };
    expect((await client.call('fast_copy_file', copy)).text).toContain('this session is read-only');
    expect(readdirSync(root).sort()).toEqual(['a.txt', 'd']);
    expect((await client.call('fast_sync_directories', { ...sync, dry_run: true })).ok).toBe(true);
  });

  it('undoes the copy of a folder with all its files, and the move of a folder', async () => {
    const { client, root, gate } = await open();
    const from = join(root, 'from');
    mkdirSync(join(from, 'deep'), { recursive: true });
    writeFileSync(join(from, 'deep/b.txt'), 'b\n');
    const to = { source: from, destination: join(root, 'to') };
    expect((await client.call('fast_copy_file', to)).ok).toBe(true);
    expect(read(join(root, 'to/deep/b.txt'))).toBe('b\n');
    expect(await gate.library.undo({})).toMatchObject({ ok: true });
    expect(readdirSync(root).sort()).toEqual(['a.txt', 'from']);
    // Put a protected folder into `from`. Lookfirst may not look at its files, so it records only
    // the copied folder.
    mkdirSync(join(from, '.git'));
    expect((await client.call('fast_copy_file', to)).ok).toBe(true);
    expect(await gate.pending()).toBe(0);
    rmSync(to.destination, { recursive: true });
    rmSync(join(from, '.git'), { recursive: true });
    expect((await client.call('fast_move_file', to)).ok).toBe(true);
    expect(await gate.library.undo({})).toMatchObject({ ok: true });
    expect(readdirSync(root).sort()).toEqual(['a.txt', 'from']);
    expect(read(join(from, 'deep/b.txt'))).toBe('b\n');
  });

  it('gets the path that was judged, even if it works in another folder than the one it was started in', async () => {
    const base = scratch(ON_DISK);
    const [root, other] = [join(base, 'ours'), join(base, 'other')];
    for (const folder of [root, other]) {
      mkdirSync(folder);
      writeFileSync(join(folder, 'a.txt'), `in ${folder}\n`);
    }
    const args = ['-c', `cd ${other} && exec ${process.execPath} ${SERVER} ${other} ${root}`];
    const { client } = await startProxy(root, { command: 'sh', args, tables: EXAMPLE_SERVERS });
    await client.initialize();
    expect((await client.call('fast_read_file', { path: 'a.txt' })).text).toContain(`in ${root}`);
    expect((await client.call('fast_write_file', { path: 'a.txt', content: 'mine\n' })).ok).toBe(true);
    expect(read(join(root, 'a.txt'))).toBe('mine\n');
    expect(read(join(other, 'a.txt'))).toBe(`in ${other}\n`);
  });

  it('refuses paths outside the root', async () => {
    const { client } = await open();
    expect(await client.call('fast_read_file', { path: '/etc/hostname' })).toMatchObject({
      code: 'OUTSIDE_WORKSPACE',
    });
  });
});
