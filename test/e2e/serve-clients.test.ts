import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { environment, PROGRAM } from '../support/command-line.ts';
import { Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const TOKEN = 'a-token-for-tests';
type Era = 'legacy' | 'modern';
const CASES: [transport: 'stdio' | 'http', era: Era][] = [
  ['stdio', 'legacy'],
  ['stdio', 'modern'],
  ['http', 'legacy'],
  ['http', 'modern'],
];

/**
 * Connects `count` official clients: all to one server over HTTP, or each to its own server over
 * stdio.
 */
async function connect(
  places: Scratch,
  [transport, era]: (typeof CASES)[number],
  count = 1,
): Promise<Client[]> {
  const url = transport === 'http' ? await address(places) : '';
  const clients: Client[] = [];
  for (let made = 0; made < count; made += 1) {
    const client = new Client(
      { name: 'sdk-client', version: '2.4.0' },
      { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } } },
    );
    // Name each client in its URL: over HTTP, a client of the MCP revision without sessions has no
    // other name.
    const named = era === 'modern' ? `${url}/client-${made}` : url;
    await client.connect(transport === 'http' ? httpTransport(named) : stdioTransport(places));
    onTestFinished(() => client.close());
    clients.push(client);
  }
  return clients;
}

async function address(places: Scratch): Promise<string> {
  const served = Served.launch(places, ['serve', places.root, '--http'], { LOOKFIRST_TOKEN: TOKEN });
  await served.client.said('token: ');
  return /serving at (\S+)/.exec(served.client.errors)?.[1] ?? '';
}

function httpTransport(url: string): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
  });
}

function stdioTransport(places: Scratch): StdioClientTransport {
  const [command = '', ...program] = PROGRAM;
  const env = environment(places) as Record<string, string>;
  return new StdioClientTransport({
    command,
    args: [...program, 'serve', places.root],
    env,
    stderr: 'ignore',
  });
}

async function call(
  client: Client,
  name: string,
  args: Record<string, unknown>,
  meta?: Record<string, unknown>,
) {
  const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) };
  const result = await client.callTool(params);
  return result._meta?.['dev.lookfirst/outcome'] as Record<string, unknown>;
}

describe.each(CASES)('the official client over %s, %s', (...which) => {
  it('reads, changes and undoes', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const [client] = (await connect(places, which)) as [Client];
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(12);
    const write = () => call(client, 'write_file', { path: 'a.txt', content: 'two\n' });
    expect(await write()).toMatchObject({ ok: false, code: 'NOT_READ' });
    expect(await call(client, 'read_file', { path: 'a.txt' })).toMatchObject({ ok: true, complete: true });
    const { change } = await write();
    expect(await call(client, 'undo_change', { change })).toMatchObject({ ok: true });
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\n');
  });

  it('shares nothing with another client that names another session', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const [first, second] = (await connect(places, which, 2)) as [Client, Client];
    const as = (id: string) => ({ 'dev.lookfirst/session': id });
    await call(first, 'read_file', { path: 'a.txt' }, as('mine'));
    const write = { path: 'a.txt', content: 'two\n' };
    expect(await call(second, 'write_file', write, as('theirs'))).toMatchObject({ code: 'NOT_READ' });
    expect(await call(second, 'write_file', write, as('mine'))).toMatchObject({ ok: true });
  });
});

it('two legacy HTTP clients get two sessions without naming them', async () => {
  const places = scratch();
  writeFileSync(join(places.root, 'a.txt'), 'one\n');
  const [first, second] = (await connect(places, ['http', 'legacy'], 2)) as [Client, Client];
  await call(first, 'read_file', { path: 'a.txt' });
  const write = { path: 'a.txt', content: 'two\n' };
  expect(await call(second, 'write_file', write)).toMatchObject({ code: 'NOT_READ' });
  expect(await call(first, 'write_file', write)).toMatchObject({ ok: true });
});
