import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { type SharedProxy, serverForFile } from './harness.ts';

const ODD = fileURLToPath(new URL('../children/odd-server.mjs', import.meta.url));

const servers = new Map<string, Promise<SharedProxy>>();

afterAll(async () => {
  for (const server of servers.values()) await (await server).stop();
});

/**
 * A server that accepts paths in any form, behind a gate on one of its folders. All tests share it:
 * none changes a file, or what the session has seen outside.
 */
async function open(name: string) {
  const server = servers.get(name) ?? started(name);
  servers.set(name, server);
  const running = await server;
  return {
    ...running,
    path: join(running.root, 'a.txt'),
    outside: join(dirname(running.root), 'secret.txt'),
  };
}

async function started(name: string): Promise<SharedProxy> {
  const running = await serverForFile(() => [ODD, name]);
  writeFileSync(join(running.root, 'a.txt'), 'old\n');
  writeFileSync(join(dirname(running.root), 'secret.txt'), 'a secret\n');
  await running.client.request('tools/list');
  return running;
}

const SHAPES: readonly (readonly [what: string, args: (path: string) => object])[] = [
  ['an array', (path) => ({ paths: [path] })],
  ['an array as JSON text', (path) => ({ paths: JSON.stringify([path]) })],
  ['a text in place of an array', (path) => ({ paths: path })],
  ['objects in place of texts', (path) => ({ paths: [{ path }] })],
  ['one object in place of an array', (path) => ({ paths: { path } })],
  ['objects as JSON text', (path) => ({ paths: JSON.stringify([{ path }]) })],
  ['an object with numbered keys', (path) => ({ paths: { 0: path } })],
  ['arrays in an array', (path) => ({ paths: [[path]] })],
  ['another case', (path) => ({ Paths: [path] })],
  ['another case beside the usual one', (path) => ({ paths: ['a.txt'], PATHS: [path] })],
  ['a file URL', (path) => ({ paths: [`file://${path}`] })],
  ['a file URL with one slash', (path) => ({ paths: [`file:${path}`] })],
  ['a file URL with a host', (path) => ({ paths: [`file://localhost${path}`] })],
];

describe('a described tool that reads several files', () => {
  it.each(SHAPES)('is refused a file outside that is given as %s', async (_what, args) => {
    const { client, outside } = await open('secure-filesystem-server');
    const answer = await client.call('read_multiple_files', args(outside));
    expect(answer).toMatchObject({ ok: false, code: 'OUTSIDE_WORKSPACE' });
    expect(JSON.stringify(answer.answer)).not.toContain('a secret');
  });

  it('gets a relative path in JSON text as the absolute path that was judged', async () => {
    const { client } = await open('secure-filesystem-server');
    const args = { paths: JSON.stringify(['sub/../a.txt']) };
    expect(await client.call('read_multiple_files', args)).toMatchObject({ ok: true, text: 'old\n' });
  });
});

describe('a tool that no table describes, whatever its server declares about it', () => {
  it.each([
    ...SHAPES,
    ['a path', (path: string) => ({ path })],
    ['an array in place of a text', (path: string) => ({ path: [path] })],
    ['JSON text in place of a text', (path: string) => ({ file_path: JSON.stringify([path]) })],
    ['an argument in an object', (path: string) => ({ params: { path } })],
    ['an argument in an object as JSON text', (path: string) => ({ input: JSON.stringify({ path }) })],
    ['a file URL under another name', (path: string) => ({ uri: `file://${path}` })],
  ] as const)('is refused a file outside that is given as %s', async (_what, args) => {
    const { client, outside } = await open('nobody-knows-me');
    const answer = await client.call('look_up', args(outside));
    expect(answer).toMatchObject({ ok: false, code: 'OUTSIDE_WORKSPACE' });
    expect(JSON.stringify(answer.answer)).not.toContain('a secret');
  });

  it('may name a path whose first folder this machine does not have: it is a part of a URL', async () => {
    const { client } = await open('nobody-knows-me');
    const { code, answer } = await client.call('look_up', { path: '/no-such-folder-v1/users' });
    expect(code).toBeUndefined();
    expect(JSON.stringify(answer)).toContain('ENOENT');
  });

  it.each([
    (outside: string) => `/no-such-folder-v1/..${outside}`,
    (outside: string) => `/no-such-folder-v1/%2e%2e${outside}`,
    (outside: string) => outside.replace('/', '//no-such-folder-v1/../'),
  ])('may not leave the workspace through a folder that this machine does not have (%#)', async (path) => {
    const { client, outside } = await open('nobody-knows-me');
    const answer = await client.call('look_up', { path: path(outside) });
    expect(answer).toMatchObject({ ok: false, code: 'OUTSIDE_WORKSPACE' });
  });

  it('may read a file inside', async () => {
    const { client, path } = await open('nobody-knows-me');
    expect(await client.call('look_up', { path })).toMatchObject({ ok: true, text: 'old\n' });
  });
});

it('a call whose arguments are not an object is refused, because servers read it differently', async () => {
  const { client, outside } = await open('secure-filesystem-server');
  const params = { name: 'read_multiple_files', arguments: JSON.stringify({ paths: [outside] }) };
  client.send({ jsonrpc: '2.0', id: 'odd', method: 'tools/call', params });
  const answer = await client.next((message) => message.id === 'odd');
  expect(answer.error).toMatchObject({ code: -32602 });
});

it.each([' file://', 'fi\tle://', '\u0001file:', 'FILE:', 'file://host'])(
  'a resource outside is refused if its URL begins with %j',
  async (start) => {
    const { client, outside } = await open('secure-filesystem-server');
    client.send({ jsonrpc: '2.0', id: 'odd', method: 'resources/read', params: { uri: start + outside } });
    const answer = await client.next((message) => message.id === 'odd');
    expect(answer.error).toMatchObject({ code: -32602 });
  },
);
