import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProxyOptions } from '../../src/proxy/open-proxy.ts';
import type { WorkspaceOptions } from '../../src/session/sessions.ts';
import { type SharedProxy, scratch, serverForFile, startProxy } from './harness.ts';

const ODD = fileURLToPath(new URL('../children/odd-server.mjs', import.meta.url));

async function open(
  options: Partial<ProxyOptions> & { name?: string } = {},
  workspace: Partial<WorkspaceOptions> = {},
) {
  const root = scratch();
  const path = join(root, 'a.txt');
  writeFileSync(path, 'old\n');
  const { name = 'secure-filesystem-server', ...rest } = options;
  const running = await startProxy(
    root,
    {
      command: process.execPath,
      args: [ODD, name],
      graceMs: 200,
      ...rest,
    },
    workspace,
  );
  await running.client.initialize();
  await running.client.request('tools/list');
  return { ...running, root, path };
}

const call = (id: unknown, name: string, args: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

describe('a sighting no longer counts', () => {
  it('after the server failed half-way; its partial write can be undone', async () => {
    const { client, path, gate } = await open();
    await client.call('read_text_file', { path });
    const half = await client.call('write_file', { path, content: 'HALF' });
    expect(half).toMatchObject({ ok: false, text: 'disk full' });
    expect(readFileSync(path, 'utf8')).toBe('HAL');
    expect(await client.call('write_file', { path, content: 'again' })).toMatchObject({ code: 'STALE' });
    expect(await gate.log()).toEqual(['read read a.txt', 'change overwrite a.txt', 'refusal STALE a.txt']);
    expect(await gate.library.undo({})).toMatchObject({ ok: true });
    expect(readFileSync(path, 'utf8')).toBe('old\n');
  });

  it('after the client cancelled the call; what the server still writes counts as an outside change', async () => {
    const { client, path, gate, errors } = await open();
    await client.call('read_text_file', { path });
    client.send(call('slow', 'write_file', { path, content: 'HANG' }));
    while (!errors().includes('called write_file')) await client.call('cwd');
    client.notify('notifications/cancelled', { requestId: 'slow' });
    await client.call('release');
    // Polls, because the cancellation is reported on stderr and may arrive later than the answer on
    // stdout.
    await expect.poll(errors).toContain('cancelled "slow"');
    expect(readFileSync(path, 'utf8')).toBe('late');
    expect(await client.call('write_file', { path, content: 'x' })).toMatchObject({ code: 'NOT_READ' });
    expect(await gate.pending()).toBe(0);
  });

  it('after the server died during the call', async () => {
    const { client, path, gate, code } = await open();
    await client.call('read_text_file', { path });
    client.send(call(7, 'write_file', { path, content: 'DIE' }));
    expect(await code).toBe(3);
    expect(await gate.pending()).toBe(0);
    expect(await gate.library.vet({ kind: 'write', path, content: 'x' })).toMatchObject({ ok: false });
  });

  it('after the call became a task, whose end the proxy does not see', async () => {
    const { client, path } = await open();
    await client.call('read_text_file', { path });
    await client.call('write_file', { path, content: 'TASK' });
    expect(await client.call('write_file', { path, content: 'x' })).toMatchObject({ code: 'NOT_READ' });
  });
});

it('a sighting still counts after the server failed and left the file unchanged', async () => {
  const { client, path, gate } = await open();
  await client.call('read_text_file', { path });
  const edit = { path, edits: [{ oldText: 'old', newText: 'new' }] };
  expect((await client.call('edit_file', edit)).answer.error).toMatchObject({ code: -32603 });
  expect((await client.call('edit_file', edit)).answer.error).toMatchObject({ code: -32603 });
  expect(await gate.pending()).toBe(0);
});

describe('a call that was cancelled before it went out', () => {
  it('never reaches the server', async () => {
    const { client, path, errors } = await open();
    await client.call('read_text_file', { path });
    client.send(call('slow', 'read_text_file', { path, head: 999 }));
    while (errors().match(/called read_text_file/g)?.length !== 2) await client.call('cwd');
    client.send(call('write', 'write_file', { path, content: 'never' }));
    client.notify('notifications/cancelled', { requestId: 'write' });
    await client.call('release');
    await client.next((message) => message.id === 'slow');
    // Write again. Calls for one file run in order, so the cancelled write would have reached the
    // server before this one.
    expect((await client.call('write_file', { path, content: 'later' })).ok).toBe(true);
    await expect.poll(() => errors().match(/called write_file/g)).toHaveLength(1);
    expect(client.lines.some((line) => line.includes('"write"'))).toBe(false);
  });
});

describe('a read that failed', () => {
  it('shows nothing, whatever its text says', async () => {
    const { client, path } = await open();
    expect(await client.call('read_text_file', { path, head: 404 })).toMatchObject({
      ok: false,
      text: 'old\n',
    });
    expect(await client.call('write_file', { path, content: 'x' })).toMatchObject({ code: 'NOT_READ' });
  });
});

describe('tools that no table describes', () => {
  it.each([
    ['allow', [true, true]],
    ['deny', [false, false]],
    ['ask', [false, true]],
  ] as const)('are handled as the policy %s says, and journalled', async (unknownTools, through) => {
    const { client, gate } = await open({ unknownTools });
    const first = await client.call('format_all', { style: 1 });
    const second = await client.call('format_all', { style: 1 });
    expect([first.ok, second.ok]).toEqual(through);
    const notices = (await gate.log()).filter((entry) => entry.includes('format_all'));
    expect(notices.map((entry) => entry.includes('let through'))).toEqual(through);
    if (!first.ok) expect(first.text).toContain('Lookfirst does not know what this tool does to files');
  });

  it.each([
    ['deny', { unknownTools: 'deny' as const }, {}, 'PROTECTED'],
    ['--read-only', {}, { policy: { readOnly: true } }, 'READ_ONLY'],
  ])('are not believed to be read-only under %s', async (_what, options, workspace, code) => {
    const { client, path } = await open({ name: 'nobody-knows-me', ...options }, workspace);
    expect(await client.call('inspect', { path })).toMatchObject({ ok: false, code });
    expect(await client.call('cwd')).toMatchObject({ ok: false, code });
    expect(readFileSync(path, 'utf8')).toBe('old\n');
  });

  it.each([
    ['deny', { unknownTools: 'deny' as const }, {}, 'PROTECTED'],
    ['--read-only', {}, { policy: { readOnly: true } }, 'READ_ONLY'],
  ])('are refused at every call under %s, even without a path', async (_what, options, workspace, code) => {
    const { client, root } = await open({ name: 'nobody-knows-me', ...options }, workspace);
    for (let turn = 0; turn < 3; turn += 1)
      expect(await client.call('survey')).toMatchObject({ ok: false, code });
    expect(existsSync(join(root, 'surveyed.txt'))).toBe(false);
  });

  it.each([
    ['JSON text', '[{"old_string":"old","new_string":"new"}]'],
    ['another type', 'old becomes new'],
  ])('are refused on an unread file whatever form their edits have: %s', async (_what, edits) => {
    const { client, path } = await open({ name: 'nobody-knows-me' });
    expect(await client.call('edit_text', { path, edits })).toMatchObject({ ok: false, code: 'NOT_READ' });
    expect(readFileSync(path, 'utf8')).toBe('old\n');
  });

  it('are held back again if they are called with other arguments', async () => {
    const { client } = await open({ unknownTools: 'ask' });
    expect(await client.call('format_all', { style: 1 })).toMatchObject({ ok: false, code: 'UNVERIFIABLE' });
    expect(await client.call('format_all', { style: 2 })).toMatchObject({ ok: false, code: 'UNVERIFIABLE' });
  });

  it('are gated if their arguments have known names, and refused any path outside', async () => {
    const { client, path } = await open({ name: 'nobody-knows-me' });
    const save = { file_path: path, text: 'new\n' };
    expect(await client.call('save', save)).toMatchObject({ ok: false, code: 'NOT_READ' });
    expect(await client.call('show', { path: '/etc/hostname' })).toMatchObject({ code: 'OUTSIDE_WORKSPACE' });
    await client.call('read_text_file', { path });
    expect((await client.call('save', save)).ok).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe('new\n');
  });

  it('that show several files in the official format count as reads of each file', async () => {
    const { client, path, root } = await open({ name: 'nobody-knows-me' });
    const other = join(root, 'b.txt');
    writeFileSync(other, 'other\n');
    await client.call('read_several', { paths: [path, other] });
    for (const file_path of [path, other])
      expect((await client.call('save', { file_path, text: 'new\n' })).ok).toBe(true);
  });

  it.each([
    ['show every line in their own format license an overwrite', 'show', undefined],
    ['show some lines do not license an overwrite', 'get_first', 'PARTIALLY_READ'],
    ['show no line license nothing', 'get_size', 'NOT_READ'],
  ])('that %s', async (_what, tool, code) => {
    const { client, path } = await open({ name: 'nobody-knows-me' });
    writeFileSync(path, 'old\nlines\n');
    expect(await client.call(tool, { path })).toMatchObject({ ok: true });
    const saved = await client.call('save', { file_path: path, text: 'x' });
    expect([saved.ok, saved.code]).toEqual([code === undefined, code]);
  });

  it('that show a file in their own format do not reduce what was read of it', async () => {
    const { client, path } = await open({ name: 'nobody-knows-me' });
    await client.call('read_text_file', { path });
    await client.call('show', { path });
    expect((await client.call('save', { file_path: path, text: 'new\n' })).ok).toBe(true);
  });

  it('that change a file make an earlier read of it stale', async () => {
    const { client, path } = await open({ name: 'nobody-knows-me' });
    await client.call('read_text_file', { path });
    await client.call('format_file', { path });
    expect(await client.call('save', { file_path: path, text: 'x' })).toMatchObject({ code: 'STALE' });
    expect(readFileSync(path, 'utf8')).toBe('OLD\n');
  });

  it.each([{ as: 'verbatim', header: '<<<' }, { as: 'found' }] as const)(
    "can be described by the user's own table, whose read is shown %j",
    async (shown) => {
      const tables = [
        {
          id: 'mine',
          serverNames: ['odd-one'],
          signature: [],
          relativeTo: 'cwd',
          expandsHome: false,
          words: { read: 'show', write: 'save', edit: 'save', arguments: { path: 'path' } },
          tools: {
            show: [{ does: 'read', path: 'path', shown }],
            save: [{ does: 'write', path: 'file_path', content: 'text' }],
            format_all: [{ does: 'nothing' }],
          },
        },
      ] as const;
      const { client, path, gate } = await open({ name: 'odd-one', tables, unknownTools: 'deny' });
      const save = { file_path: path, text: 'new\n' };
      const refused = await client.call('save', save);
      expect(refused.text).toContain(`show {"path":"${path}"}`);
      expect((await client.call('format_all')).ok).toBe(true);
      await client.call('show', { path });
      expect((await client.call('save', save)).ok).toBe(true);
      expect((await gate.log()).at(-1)).toBe('change overwrite a.txt');
    },
  );
});

describe('unusual messages', () => {
  let server: SharedProxy;
  let files = 0;

  beforeAll(async () => {
    server = await serverForFile(() => [ODD, 'secure-filesystem-server'], { graceMs: 200 });
    await server.client.request('tools/list');
  });

  afterAll(() => server.stop());

  /** The server of these tests, and a file of the test's own. */
  function shared() {
    files += 1;
    const path = join(server.root, `${files}.txt`);
    writeFileSync(path, 'old\n');
    return { ...server, path };
  }

  it("a request of the server with the id of a running call reaches the client, and so does the call's answer", async () => {
    const { client } = shared();
    client.send(call(99, 'ask', {}));
    const question = await client.next((message) => message.method === 'roots/list');
    expect(question.id).toBe(99);
    const answer = await client.next((message) => message.id === 99);
    expect(answer.result.content[0].text).toBe('asked');
  });

  it('a request of the server is not taken for the answer to the call with the same id', async () => {
    const { client, path } = shared();
    await client.call('read_text_file', { path });
    expect((await client.call('write_file', { path, content: 'ASK' })).ok).toBe(true);
    expect((await client.call('write_file', { path, content: 'again' })).ok).toBe(true);
  });

  it('an answer of the server may begin with white space', async () => {
    const { client, path } = shared();
    await client.call('read_text_file', { path });
    expect((await client.call('write_file', { path, content: 'SPACED' })).ok).toBe(true);
    expect((await client.call('write_file', { path, content: 'again' })).ok).toBe(true);
  });

  it('a batch that contains a tool call is refused as a whole; other batches pass', async () => {
    const { client, root } = shared();
    const path = join(root, 'batch.txt');
    client.send([
      call(50, 'write_file', { path, content: 'x' }),
      { jsonrpc: '2.0', method: 'notifications/x' },
    ]);
    const [refused] = (await client.next((message) => Array.isArray(message))) as unknown as {
      error: object;
    }[];
    expect(refused).toMatchObject({ id: 50, error: { code: -32600 } });
    expect(existsSync(path)).toBe(false);
  });

  it('a batch that reads a resource outside is refused', async () => {
    const { client } = shared();
    client.send([
      { jsonrpc: '2.0', id: 51, method: 'resources/read', params: { uri: 'file:///etc/passwd' } },
    ]);
    const [refused] = (await client.next((message) => Array.isArray(message))) as unknown as {
      error: object;
    }[];
    expect(refused).toMatchObject({ id: 51, error: { code: -32600 } });
  });

  it.each([
    ['an escaped slash', '"tools\\/call"'],
    ['escaped letters', '"\\u0074ools/call"'],
    ['spaces around the colon', ' \t"tools/call"'],
  ])('a tool call written with %s is recognised', async (_what, method) => {
    const { client, path } = shared();
    const params = JSON.stringify({ name: 'write_file', arguments: { path, content: 'x' } });
    client.send(`{"jsonrpc":"2.0","params":${params},"id":"odd","method" :${method}}`);
    const answer = await client.next((message) => message.id === 'odd');
    expect(answer.result._meta['dev.lookfirst/outcome'].code).toBe('NOT_READ');
  });

  it('a tool call with an escaped key is recognised', async () => {
    const { client, path } = shared();
    const params = JSON.stringify({ name: 'write_file', arguments: { path, content: 'x' }, method: 'x' });
    client.send(`{"jsonrpc":"2.0","params":${params},"id":"odd","m\\u0065thod":"tools/call"}`);
    const answer = await client.next((message) => message.id === 'odd');
    expect(answer.result._meta['dev.lookfirst/outcome'].code).toBe('NOT_READ');
  });

  it.each([
    'hello',
    "{'method':'tools/call'}",
    '{"jsonrpc":"2.0","id":7',
    '{"jsonrpc":"2.0","id":7,"method":"ping"',
    '{"jsonrpc":"2.0","id":7,"method":"ping",}',
    '{"jsonrpc":"2.0","id":7,"result":{}',
    '[{"jsonrpc":"2.0","method":"ping","id":7}',
  ])('a line that is not a message gets a parse error: %s', async (line) => {
    const { client } = shared();
    client.send(line);
    expect(await client.next((message) => message.id === null)).toMatchObject({ error: { code: -32700 } });
  });

  it('a broken line that may be a tool call gets a parse error', async () => {
    const { client } = shared();
    client.send('{"method":"tools/call",');
    expect(await client.next((message) => message.id === null)).toMatchObject({ error: { code: -32700 } });
  });

  it('a tool call without an id is dropped, because its result could not be reported', async () => {
    const { client, root, errors } = shared();
    client.send({
      jsonrpc: '2.0',
      method: 'tools/call',
      params: { name: 'write_file', arguments: { path: join(root, 'n'), content: '' } },
    });
    await client.call('cwd');
    await expect.poll(errors).toContain('without an id was dropped');
    expect(existsSync(join(root, 'n'))).toBe(false);
  });

  it('passes 50 MB in both directions', async () => {
    const { client } = shared();
    const bytes = 50 * 1024 * 1024;
    expect((await client.call('size', { value: 'x'.repeat(bytes) })).text).toBe(String(bytes));
    expect((await client.call('fill', { bytes })).text.length).toBe(bytes);
  });

  it('a message over the limit is refused, and the connection stays open', async () => {
    const { client } = await open({ maxLineBytes: 10_000 });
    client.send(call(1000, 'size', { value: 'x'.repeat(20_000) }));
    expect(await client.next((message) => message.id === null)).toMatchObject({ error: { code: -32600 } });
    expect((await client.call('size', { value: 'abc' })).text).toBe('3');
  });
});
