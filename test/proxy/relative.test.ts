import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { OFFICIAL_FILESYSTEM } from '../../src/dialect/calls/servers/known-servers.ts';
import type { ProxyOptions } from '../../src/proxy/open-proxy.ts';
import { OFFICIAL, scratch, startProxy } from './harness.ts';

const NAMES = ['a.txt', 'b.txt', 'sub/c.txt'];
const read = (path: string) => readFileSync(path, 'utf8');

/**
 * Creates our root and another folder with the same file names. Each file's text says in which
 * folder it is.
 */
function folders() {
  const base = scratch();
  const [root, other] = [join(base, 'ours'), join(base, 'other')];
  for (const folder of [root, other]) {
    mkdirSync(join(folder, 'sub'), { recursive: true });
    for (const name of NAMES) writeFileSync(join(folder, name), `${name} of ${folder}\n`);
  }
  const untouched = () => {
    for (const name of NAMES) expect(read(join(other, name))).toBe(`${name} of ${other}\n`);
  };
  return { base, root, other, untouched };
}

const ODD = fileURLToPath(new URL('../children/odd-server.mjs', import.meta.url));

/**
 * Starts the proxy in front of a server. By default, this is the official server, which may use our
 * root and the other folder, and resolves relative paths in the other folder.
 */
async function astray(
  launch: (places: { root: string; other: string }) => Partial<ProxyOptions> = ({ root, other }) => ({
    args: [OFFICIAL, other, root],
  }),
  capabilities: object = {},
) {
  const places = folders();
  const running = await startProxy(places.root, { command: process.execPath, ...launch(places) });
  const roots = [places.other, places.root].map((folder) => ({ uri: pathToFileURL(folder).href }));
  running.client.replies.set('roots/list', () => ({ roots }));
  await running.client.initialize(capabilities);
  return { ...running, ...places };
}

type Astray = Awaited<ReturnType<typeof astray>>;

async function writesOurs({ client, root, untouched }: Astray): Promise<void> {
  const write = () => client.call('write_file', { path: 'a.txt', content: 'mine\n' });
  expect(await write()).toMatchObject({ code: 'NOT_READ' });
  expect((await client.call('read_text_file', { path: 'a.txt' })).text).toBe(`a.txt of ${root}\n`);
  expect((await write()).ok).toBe(true);
  expect(read(join(root, 'a.txt'))).toBe('mine\n');
  untouched();
}

describe('a server that starts relative paths elsewhere gets the path that was judged', () => {
  it("a write changes the file that was read, not the one with the same name in the server's folder", async () => {
    const server = await astray();
    const { client, root, other } = server;
    // Repeat the read, because the proxy checks a repeated read on a shorter code path.
    for (const _again of [1, 2, 3])
      expect((await client.call('read_text_file', { path: 'b.txt' })).text).toBe(`b.txt of ${root}\n`);
    expect((await client.call('write_file', { path: './b.txt', content: 'mine\n' })).ok).toBe(true);
    expect((await client.call('write_file', { path: 'new.txt', content: 'x' })).ok).toBe(true);
    expect(existsSync(join(root, 'new.txt'))).toBe(true);
    expect(existsSync(join(other, 'new.txt'))).toBe(false);
    await writesOurs(server);
  });

  it('for edits, moves, folders and lists of paths too, and each file counts as read', async () => {
    const { client, root, other, untouched } = await astray();
    const many = await client.call('read_multiple_files', { paths: ['a.txt', 'sub/c.txt', 'no.txt'] });
    expect(many.text).toContain(`sub/c.txt of ${root}`);
    const edits = [{ oldText: 'sub/c.txt of', newText: 'edited' }];
    expect((await client.call('edit_file', { path: 'sub/c.txt', edits })).ok).toBe(true);
    expect(read(join(root, 'sub/c.txt'))).toContain('edited');
    expect((await client.call('create_directory', { path: 'new' })).ok).toBe(true);
    const move = { source: 'a.txt', destination: 'new/a.txt' };
    expect((await client.call('move_file', move)).ok).toBe(true);
    expect(existsSync(join(root, 'new/a.txt'))).toBe(true);
    expect(existsSync(join(other, 'new'))).toBe(false);
    expect((await client.call('list_directory', { path: '' })).text).toContain('new');
    untouched();
  });

  it("even if the client does not wait for the server's name", async () => {
    const { root, other, untouched } = folders();
    const args = [OFFICIAL, other, root];
    const { client } = await startProxy(root, { command: process.execPath, args });
    const greeted = client.initialize();
    const written = client.call('write_file', { path: 'a.txt', content: 'mine\n' });
    const shown = client.call('read_text_file', { path: 'b.txt' });
    client.end();
    await greeted;
    expect(await written).toMatchObject({ code: 'NOT_READ' });
    expect((await shown).text).toBe(`b.txt of ${root}\n`);
    untouched();
  });

  it('even if the client has roots', async () => {
    const server = await astray(({ root }) => ({ args: [OFFICIAL, root] }), { roots: {} });
    await vi.waitFor(() => expect(server.errors()).toContain('Updated allowed directories'));
    await writesOurs(server);
  });

  it('even if the client reports roots later without having declared the capability', async () => {
    const server = await astray(({ root }) => ({ args: [OFFICIAL, root] }));
    const { client, root } = server;
    for (const _again of [1, 2]) await client.call('read_text_file', { path: 'b.txt' });
    client.notify('notifications/roots/list_changed');
    await vi.waitFor(() => expect(server.errors()).toContain('Updated allowed directories'));
    expect((await client.call('read_text_file', { path: 'b.txt' })).text).toBe(`b.txt of ${root}\n`);
    await writesOurs(server);
  });

  it('and a call that waited while the roots changed reaches the file that was judged', async () => {
    // The test server `odd-server.mjs` reports its first argument, here `root`, as its name.
    const server = await astray(({ root }) => ({
      args: [ODD, root],
      tables: [{ ...OFFICIAL_FILESYSTEM, serverNames: [root] }],
      graceMs: 200,
    }));
    const { client, root, untouched } = server;
    const path = 'a.txt';
    await client.call('read_text_file', { path });
    // The server answers this read only after `release`. The write waits for that answer.
    const held = client.call('read_text_file', { path, head: 999 });
    const waiting = client.call('write_file', { path, content: 'mine\n' });
    // The answer to a later call shows that the server has received the read.
    await client.call('size', { value: 'x' });
    client.notify('notifications/roots/list_changed');
    await client.call('release');
    expect((await held).ok).toBe(true);
    expect((await waiting).ok).toBe(true);
    expect(read(join(root, path))).toBe('mine\n');
    untouched();
  });

  it('even if a shell that may change the folder starts the server', async () => {
    const server = await astray(({ other }) => ({
      command: 'sh',
      args: ['-c', `cd ${other} && exec ${process.execPath} ${OFFICIAL} . ../ours`],
    }));
    await writesOurs(server);
  });
});

describe('a path that servers interpret differently is sent as it was judged', () => {
  it('a file URL', async () => {
    const { client, root } = await astray(({ root }) => ({ args: [OFFICIAL, root] }));
    const path = pathToFileURL(join(root, 'a.txt')).href;
    expect((await client.call('read_text_file', { path })).text).toBe(`a.txt of ${root}\n`);
  });

  it('".." after a link, which leads elsewhere for a server that follows the link first', async () => {
    const { client, root } = await astray(({ root }) => ({ args: [OFFICIAL, root] }));
    symlinkSync('sub', join(root, 'link'));
    const path = join(root, 'sub').replace('sub', 'link/../a.txt');
    expect((await client.call('read_text_file', { path })).text).toBe(`a.txt of ${root}\n`);
    const echo = await client.call('write_file', { path, content: 'x' });
    expect(echo.text).toBe(`Successfully wrote to ${join(root, 'a.txt')}`);
  });
});
