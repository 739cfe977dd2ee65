import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadDialect } from '../../src/mcp/serve.ts';
import { runStdioLoop } from '../../src/mcp/stdio-loop.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { createToolHost } from '../../src/tools/tool-host.ts';
import { LineClient, type Message } from '../proxy/line-client.ts';
import { scratch } from '../support/tree.ts';

/** The server of the default dialect over a pair of streams, on a folder with one file. */
async function serve() {
  const { root, home } = scratch();
  const path = join(root, 'a.txt');
  writeFileSync(path, 'one\n');
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:' });
  const host = createToolHost({
    open: async () => sessions,
    dialect: await loadDialect('lookfirst'),
    readOnly: false,
    env: {},
    version: '1',
    log: () => {},
  });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const ended = runStdioLoop({ host, input, output, signals: new PassThrough(), log: () => {} });
  onTestFinished(async () => {
    input.end();
    await ended;
    await sessions.close();
  });
  const client = new LineClient(input, output);
  await client.initialize();
  return { client, path };
}

const request = (id: string, name: string, args: object) =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });

/** Sends the calls in one write, so that no call can depend on the answer to another. */
async function together(
  client: LineClient,
  ...calls: readonly [string, object][]
): Promise<(string | undefined)[]> {
  const ids = calls.map((_, index) => `together-${index}`);
  const answers = Promise.all(ids.map((id) => client.next((message: Message) => message.id === id)));
  client.send(calls.map(([name, args], index) => request(ids[index] ?? '', name, args)).join('\n'));
  return (await answers).map(({ result }) => result?._meta?.['dev.lookfirst/outcome']?.code);
}

describe('a call that arrived before an answer', () => {
  it('is not licensed by what that answer shows', async () => {
    const { client, path } = await serve();
    const codes = await together(
      client,
      ['read_file', { path: 'a.txt' }],
      ['write_file', { path: 'a.txt', content: 'early\n' }],
    );
    expect(codes).toEqual([undefined, 'NOT_READ']);
    expect(readFileSync(path, 'utf8')).toBe('one\n');
    expect((await client.call('write_file', { path: 'a.txt', content: 'later\n' })).ok).toBe(true);
  });

  it('is not licensed by the diff of a refusal', async () => {
    const { client, path } = await serve();
    await client.call('read_file', { path: 'a.txt' });
    writeFileSync(path, 'by hand\n');
    const write = (content: string): [string, object] => ['write_file', { path: 'a.txt', content }];
    expect(await together(client, write('one\n'), write('two\n'))).toEqual(['STALE', 'STALE']);
    expect((await client.call('write_file', { path: 'a.txt', content: 'three\n' })).ok).toBe(true);
  });

  it('is licensed by an own change that arrived before it', async () => {
    const { client, path } = await serve();
    await client.call('read_file', { path: 'a.txt' });
    const codes = await together(
      client,
      ['write_file', { path: 'a.txt', content: 'first\n' }],
      ['edit_file', { path: 'a.txt', old_string: 'first', new_string: 'second' }],
    );
    expect(codes).toEqual([undefined, undefined]);
    expect(readFileSync(path, 'utf8')).toBe('second\n');
  });
});
