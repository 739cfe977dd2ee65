import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listenHttp } from '../../src/mcp/http.ts';
import { loadDialect } from '../../src/mcp/serve.ts';
import { runStdioLoop } from '../../src/mcp/stdio-loop.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { createToolHost } from '../../src/tools/tool-host.ts';
import { LineClient, type Message } from '../proxy/line-client.ts';
import { scratch } from '../support/tree.ts';

const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Lookfirst's default tools on a folder with one file. */
async function hostOfOneFile() {
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
  onTestFinished(() => sessions.close());
  return { host, path };
}

/** Starts the MCP server over a pair of streams, and connects a client to it. */
async function serve() {
  const { host, path } = await hostOfOneFile();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const ended = runStdioLoop({ host, input, output, signals: new PassThrough(), log: () => {} });
  onTestFinished(async () => {
    input.end();
    await ended;
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
  it('is not licensed by the lines that the answer shows', async () => {
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

  it('is licensed by a change of its own session that arrived before it', async () => {
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

  it('is not licensed by a listing', async () => {
    const { client, path } = await serve();
    const folder = join(path, '../folder');
    mkdirSync(folder);
    writeFileSync(join(folder, 'b.txt'), 'b\n');
    const remove: [string, object] = ['delete_path', { path: 'folder', recursive: true }];
    expect(await together(client, ['list_directory', { path: 'folder' }], remove)).toEqual([
      undefined,
      'NOT_READ',
    ]);
    expect(existsSync(folder)).toBe(true);
    expect((await client.call(...remove)).ok).toBe(true);
  });

  it('is not licensed by many unanswered reads before it', async () => {
    const { client, path } = await serve();
    const read: [string, object] = ['read_file', { path: 'a.txt' }];
    const reads = Array.from({ length: 12 }, () => read);
    const codes = await together(client, ...reads, ['write_file', { path: 'a.txt', content: 'early\n' }]);
    expect(codes.at(-1)).toBe('NOT_READ');
    expect(readFileSync(path, 'utf8')).toBe('one\n');
  });

  it('is not licensed by the notice of a change of its own session', async () => {
    const { client, path } = await serve();
    writeFileSync(path, 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n');
    await client.call('read_file', { path: 'a.txt' });
    writeFileSync(path, 'by hand\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n');
    const [edited, inserted, written] = await together(
      client,
      ['edit_file', { path: 'a.txt', old_string: 'eight', new_string: '8' }],
      ['insert_lines', { path: 'a.txt', after_line: 3, content: 'after three' }],
      ['write_file', { path: 'a.txt', content: 'without the line of the user\n' }],
    );
    expect(edited).toBeUndefined();
    expect([inserted, written]).toEqual(['PARTIALLY_READ', 'PARTIALLY_READ']);
    expect(readFileSync(path, 'utf8')).toBe('by hand\none\ntwo\nthree\nfour\nfive\nsix\nseven\n8\n');
    expect((await client.call('write_file', { path: 'a.txt', content: 'later\n' })).ok).toBe(true);
  });

  it('may edit further lines even if the first edit was merged with an outside change', async () => {
    const { client, path } = await serve();
    writeFileSync(path, 'one\ntwo\nthree\nfour\n');
    await client.call('read_file', { path: 'a.txt' });
    writeFileSync(path, 'by hand\none\ntwo\nthree\nfour\n');
    const edit = (old: string, now: string): [string, object] => [
      'edit_file',
      { path: 'a.txt', old_string: old, new_string: now },
    ];
    const codes = await together(client, edit('one', '1'), edit('1', 'eins'), edit('four', '4'));
    expect(codes).toEqual([undefined, undefined, undefined]);
    expect(readFileSync(path, 'utf8')).toBe('by hand\neins\ntwo\nthree\n4\n');
  });
});

describe('several sessions of one server', () => {
  /** Sends edits of different lines at once, each by the next session in turn, and returns their codes. */
  async function editInTurns(names: readonly string[], count: number) {
    const { client, path } = await serve();
    writeFileSync(path, Array.from({ length: count }, (_, line) => `line ${line}\n`).join(''));
    const call = (session: string, id: string, name: string, args: object) => {
      const answer = client.next((message: Message) => message.id === id);
      const params = { name, arguments: args, _meta: { 'dev.lookfirst/session': session } };
      client.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }));
      return answer.then(({ result }) => result?._meta?.['dev.lookfirst/outcome']?.code);
    };
    for (const name of names) await call(name, `read-${name}`, 'read_file', { path: 'a.txt' });
    const edits = Array.from({ length: count }, (_, line) => {
      const args = { path: 'a.txt', old_string: `line ${line}\n`, new_string: `LINE ${line}\n` };
      return call(names[line % names.length] ?? '', `edit-${line}`, 'edit_file', args);
    });
    const codes = await Promise.all(edits);
    return { codes, lines: readFileSync(path, 'utf8').trimEnd().split('\n') };
  }

  it.each([
    ['two', ['s', 't'], 4],
    ['two', ['s', 't'], 100],
    ['five', ['s', 't', 'u', 'v', 'w'], 50],
  ])('that edit different lines in turns, %s of them, are all allowed', async (_, names, count) => {
    const { codes, lines } = await editInTurns(names, count);
    expect(codes.filter((code) => code !== undefined)).toEqual([]);
    expect(lines.filter((line) => line.startsWith('LINE'))).toHaveLength(count);
  });
});

/** Sends calls over HTTP at the same moment, each on a connection that is already open. */
async function overHttp(server: { readonly port: number }, ...calls: readonly [string, object][]) {
  const sockets = calls.map(() => connect(server.port, '127.0.0.1'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const answers = sockets.map((socket) => text(socket));
  for (const [index, [name, args]] of calls.entries()) {
    const params = { name, arguments: args, _meta: MODERN };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const headers = [
      'POST /mcp/agent HTTP/1.1',
      `Host: 127.0.0.1:${server.port}`,
      'Authorization: Bearer token',
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      'MCP-Protocol-Version: 2026-07-28',
      'Mcp-Method: tools/call',
      `Mcp-Name: ${name}`,
      `Content-Length: ${body.length}`,
      'Connection: close',
    ];
    sockets[index]?.write(`${headers.join('\r\n')}\r\n\r\n${body}`);
  }
  const texts = await Promise.all(answers);
  return texts.map(
    (answer) => /"code":"(\w+)"/.exec(answer)?.[1] ?? (answer.includes('"ok":true') ? 'ok' : answer),
  );
}

describe('over HTTP, a call that arrived before an answer', () => {
  it('is not licensed by the lines that the answer shows', async () => {
    const { host, path } = await hostOfOneFile();
    const server = await listenHttp({ host, token: 'token', log: () => {} });
    onTestFinished(() => server.close());
    // Open the workspace by a first call, so that the two calls below need not wait for it.
    expect(await overHttp(server, ['list_directory', {}])).toEqual(['ok']);
    const write = (content: string): [string, object] => ['write_file', { path: 'a.txt', content }];
    const codes = await overHttp(server, ['read_file', { path: 'a.txt' }], write('early\n'));
    expect(codes).toEqual(['ok', 'NOT_READ']);
    expect(readFileSync(path, 'utf8')).toBe('one\n');
    expect(await overHttp(server, write('later\n'))).toEqual(['ok']);
  });
});
