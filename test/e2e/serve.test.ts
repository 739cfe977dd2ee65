import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lookfirst } from '../support/command-line.ts';
import { OFFICIAL } from '../support/official-server.ts';
import { RawClient } from '../support/raw-client.ts';
import { Served } from '../support/served.ts';
import { scratch } from '../support/tree.ts';

describe('a server process', () => {
  it('sends its name and instructions before it opens the workspace', async () => {
    const places = scratch();
    const served = Served.launch(places, ['serve', places.root]);
    const hello = await served.hello();
    expect(hello).toMatchObject({ serverInfo: { name: 'lookfirst' }, protocolVersion: '2025-11-25' });
    expect(hello['instructions']).toMatch(/read_file/);
    expect(await served.tools()).toHaveLength(12);
    expect(await served.stop()).toBe(0);
  });

  it('serves revision 2026-07-28 as well', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const served = Served.launch(places, ['serve', places.root]);
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const found = await served.client.request('server/discover', { _meta: meta });
    expect(found.result).toMatchObject({ resultType: 'complete' });
    const read = await served.call('read_file', { path: 'a.txt' }, meta);
    expect(read).toMatchObject({ ok: true, outcome: { complete: true }, result: { resultType: 'complete' } });
    expect(await served.stop()).toBe(0);
  });

  it.each([
    ['a folder and no command', (root: string) => [root]],
    ['options before the folder', (root: string) => ['serve', '--session', 's', root]],
  ])('starts with %s', async (_what, args) => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const served = Served.launch(places, args(places.root));
    await served.hello();
    expect((await served.call('read_file', { path: 'a.txt' })).ok).toBe(true);
    expect(await served.stop()).toBe(0);
  });

  it('serves the current folder if none is named, and a link to a folder', async () => {
    const places = scratch();
    writeFileSync(join(places.base, 'here.txt'), 'one\n');
    const here = Served.launch(places, []);
    await here.hello();
    expect((await here.call('read_file', { path: 'here.txt' })).ok).toBe(true);
    symlinkSync(places.root, join(places.base, 'link'));
    const link = Served.launch(places, ['serve', 'link']);
    await link.hello();
    expect((await link.call('write_file', { path: 'n.txt', content: 'n' })).ok).toBe(true);
    expect(readFileSync(join(places.root, 'n.txt'), 'utf8')).toBe('n');
    expect([await here.stop(), await link.stop()]).toEqual([0, 0]);
  });

  it('writes nothing but the protocol to its output, and nothing at all into the workspace', async () => {
    const places = scratch();
    const served = await Served.start(places);
    await served.call('read_file', { path: 'missing' });
    await served.call('write_file', { path: '../outside/x', content: '' });
    expect(await served.stop()).toBe(0);
    expect(readdirSync(places.root)).toEqual([]);
    expect(readdirSync(places.outside)).toEqual([]);
    // Standard output needs no check here: RawClient throws at a line that is not JSON. Messages
    // for the user go to standard error.
    await expect.poll(() => served.client.errors).toContain(`serving ${places.root}`);
  });

  it.each([
    ['a missing folder', ['serve', 'nowhere'], 1, /nowhere/],
    ['a file instead of a folder', ['serve', 'file.txt'], 1, /file\.txt/],
    ['an unknown store', ['serve', 'root', '--store', 'redis:x'], 1, /unknown store/],
    ['a missing policy file', ['serve', 'root', '--policy', 'p.json'], 1, /no policy file/],
    [
      'a policy file inside the workspace',
      ['serve', 'root', '--policy', 'root/p.json'],
      1,
      /lies in the workspace/,
    ],
    ['an invalid policy', ['serve', 'root', '--policy', 'bad.json'], 1, /unknown key "sen"/],
    ['an invalid option', ['serve', 'root', '--dialekt', 'x'], 64, /Did you mean --dialect/],
  ])('refuses to start with %s', async (_what, args, code, error) => {
    const places = scratch();
    writeFileSync(join(places.base, 'file.txt'), '');
    writeFileSync(join(places.base, 'bad.json'), '{"sen":"optional"}');
    writeFileSync(join(places.root, 'p.json'), '{}');
    const ran = await lookfirst(places, args, { cwd: places.base });
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(error) });
  });

  it('ends with an error if the workspace cannot be opened after `initialize` was answered', async () => {
    const places = scratch();
    const served = Served.launch(places, ['serve', join(places.base, 'nowhere')]);
    await served.hello();
    expect((await served.client.exit()).code).toBe(1);
    await expect.poll(() => served.client.errors).toMatch(/does not exist/);
  });

  it('sets a damaged database aside, says so, and continues', async () => {
    const places = scratch();
    writeFileSync(join(places.home, 'lookfirst.db'), 'no database'.repeat(1000));
    const served = Served.launch(places, ['serve', places.root]);
    await served.hello();
    expect(await served.call('read_file', { path: 'a.txt' })).toMatchObject({
      ok: false,
      outcome: { code: 'NOT_FOUND' },
    });
    await expect.poll(() => served.client.errors).toMatch(/damaged/);
    expect(served.client.errors).not.toMatch(/^ +at /m);
    expect(readdirSync(places.home).some((name) => name.startsWith('lookfirst.db.damaged-'))).toBe(true);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'ends at %s and leaves nothing behind',
    async (signal) => {
      const places = scratch();
      const served = await Served.start(places);
      await served.call('write_file', { path: 'a.txt', content: 'x'.repeat(100_000) });
      served.client.child.kill(signal);
      expect((await served.client.exit()).code).toBe(0);
      expect(readdirSync(places.root)).toEqual(['a.txt']);
    },
  );

  it('reads the policy file in the state folder, unless --policy names another', async () => {
    const places = scratch();
    writeFileSync(join(places.home, 'lookfirst.json'), '{"preset":"strict","readOnly":true}');
    const locked = await Served.here(places);
    expect((await locked.tools()).map((tool) => tool['name'])).not.toContain('write_file');
    writeFileSync(join(places.base, 'p.json'), '{"protected":["*.key"]}');
    const open = await Served.here(places, ['--policy', 'p.json']);
    expect(await open.call('write_file', { path: 'a.key', content: '' })).toMatchObject({
      outcome: { code: 'PROTECTED' },
    });
    expect([await locked.stop(), await open.stop()]).toEqual([0, 0]);
  });

  it('offers only tools that change nothing with --read-only', async () => {
    const served = await Served.here(scratch(), ['--read-only']);
    const hints = (await served.tools()).map((tool) => tool['annotations']);
    expect(hints.length).toBeGreaterThan(3);
    for (const hint of hints) expect(hint).toMatchObject({ readOnlyHint: true });
    expect(await served.stop()).toBe(0);
  });
});

describe('sessions of server processes', () => {
  it("are distinguished by LOOKFIRST_SESSION, by the client's own id, or by the call", async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const reader = await Served.start(places, [], { LOOKFIRST_SESSION: 'one' });
    await reader.call('read_file', { path: 'a.txt' });
    const status = async (served: Served, meta?: object) =>
      (await served.call('file_status', { path: 'a.txt' }, meta)).text;
    const same = await Served.start(places, ['--session', 'one']);
    const claude = await Served.start(places, [], { CLAUDE_CODE_SESSION_ID: 'two' });
    expect(await status(same)).toMatch(/fresh/);
    expect(await status(claude)).toMatch(/not been read/);
    expect(await status(claude, { 'dev.lookfirst/session': 'one' })).toMatch(/fresh/);
    expect(await status(same, { 'vscode.conversationId': 'two' })).toMatch(/fresh/);
  });

  it('share one store: a refusal names the other session that changed the file', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const mine = await Served.start(places, ['--session', 'mine']);
    const theirs = await Served.start(places, ['--session', 'theirs']);
    await mine.call('read_file', { path: 'a.txt' });
    await theirs.call('read_file', { path: 'a.txt' });
    expect((await theirs.call('write_file', { path: 'a.txt', content: 'two\n' })).ok).toBe(true);
    const refused = await mine.call('write_file', { path: 'a.txt', content: 'three\n' });
    expect(refused).toMatchObject({
      ok: false,
      outcome: { code: 'STALE', detail: { writer: { session: 'theirs' } } },
    });
    expect(refused.text).toContain('Session theirs (test) changed it');
  });
});

describe('over HTTP', () => {
  it('prints a token that it generated, but not one that it was given', async () => {
    const places = scratch();
    const serve = async (flags: readonly string[], env: Record<string, string>): Promise<string> => {
      const served = Served.launch(places, ['serve', places.root, '--http', ...flags], env);
      await served.client.said(flags.length > 0 ? 'Ctrl-C' : 'token: ');
      served.client.child.kill('SIGTERM');
      await served.client.exit();
      return served.client.errors;
    };
    const made = await serve(['--show-config'], {});
    const [, token = ''] = /^lookfirst: token: (\S{43})$/m.exec(made) ?? [];
    expect(made.match(new RegExp(`Bearer ${token}`, 'g'))).toHaveLength(6);
    expect(made).toContain(`LOOKFIRST_TOKEN=${token}`);
    const last = made.trimEnd().split('\n').slice(-4);
    expect(last.map((line) => line.split(' ')[1])).toEqual(['serving', 'token:', 'viewer:', 'next:']);
    const server = [process.execPath, '-e', 'process.stdin.resume()'];
    const proxy = Served.launch(places, ['proxy', '--root', places.root, '--http', '--', ...server], {
      LOOKFIRST_TOKEN: 'sesame',
    });
    await proxy.client.said('token: ');
    proxy.client.child.kill('SIGTERM');
    await proxy.client.exit();
    const sesame = { LOOKFIRST_TOKEN: 'sesame' };
    const configured = await serve(['--show-config'], sesame);
    expect(configured.match(/Bearer THE_VALUE_OF_LOOKFIRST_TOKEN/g)).toHaveLength(6);
    for (const given of [await serve([], sesame), configured, proxy.client.errors]) {
      expect(given).toMatch(/^lookfirst: token: the value of LOOKFIRST_TOKEN$/m);
      expect(given).not.toContain('sesame');
    }
  });

  it.each(['two words', 'tökén', 'a\tb'])(
    'does not start with a token that no client can send: %j',
    async (token) => {
      const places = scratch();
      const ran = await lookfirst(places, ['serve', '--http'], { env: { LOOKFIRST_TOKEN: token } });
      expect(ran).toMatchObject({
        code: 1,
        stderr:
          'lookfirst: LOOKFIRST_TOKEN may contain only ASCII characters, without spaces [CONFIG_INVALID]\n',
      });
    },
  );

  it('serves every client that sends the token', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const served = Served.launch(places, ['serve', places.root, '--http'], { LOOKFIRST_TOKEN: 'sesame' });
    await served.client.said('token: ');
    const url = /serving at (\S+)/.exec(served.client.errors)?.[1] ?? '';
    const post = (token: string, session?: string) => (method: string, params: object) =>
      fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${token}`,
          ...(session === undefined ? {} : { 'mcp-session-id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
    const hello = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    expect((await post('guess')('initialize', hello)).status).toBe(401);
    const answered = await post('sesame')('initialize', hello);
    expect(answered.status).toBe(200);
    await answered.text();
    const session = answered.headers.get('mcp-session-id') ?? '';
    const read = await post('sesame', session)('tools/call', {
      name: 'read_file',
      arguments: { path: 'a.txt' },
    });
    expect(await read.text()).toContain('1\\tone');
    served.client.child.kill('SIGTERM');
    expect((await served.client.exit()).code).toBe(0);
  });
});

describe('as a drop-in for the official filesystem server', () => {
  it('lists the same tools with the same titles, arguments and hints', async () => {
    const places = scratch();
    const official = new RawClient([OFFICIAL, places.root]);
    await official.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    });
    const listed = (await official.request('tools/list')).result?.['tools'] as Record<string, unknown>[];
    const ours = await (await Served.here(places, ['--dialect', 'filesystem'])).tools();
    const shape = (tools: readonly Record<string, unknown>[]) =>
      Object.fromEntries(
        tools.map(({ name, title, inputSchema, outputSchema }) => [
          name,
          plain({ title, inputSchema, outputSchema }),
        ]),
      );
    expect(shape(ours)).toEqual(shape(listed));
  });

  /**
   * Removes the parts of a tool list that may differ from the official server: descriptions, and
   * the rule for unknown arguments.
   */
  function plain(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).filter(
      ([key]) => !['description', '$schema', 'additionalProperties', 'execution'].includes(key),
    );
    return Object.fromEntries(members.map(([key, member]) => [key, plain(member)]));
  }

  it('warns about folders that cannot be served, and ends only if all of them cannot', async () => {
    const places = scratch();
    mkdirSync(join(places.base, 'other'));
    writeFileSync(join(places.base, 'file.txt'), '');
    const served = Served.launch(places, ['./nowhere', 'file.txt', 'other', '--dialect', 'filesystem']);
    await served.hello();
    await served.client.said('Secure MCP Filesystem Server running on stdio');
    expect(served.client.errors).toMatch(/Warning: Cannot access directory \S*nowhere, skipping/);
    expect(served.client.errors).toMatch(/Warning: \S*file\.txt is not a directory, skipping/);
    expect((await served.call('list_allowed_directories')).text).toBe(
      `Allowed directories:\n${join(places.base, 'other')}`,
    );
    const none = await lookfirst(places, ['serve', 'nowhere', '--dialect', 'filesystem']);
    expect(none).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Error: None of the specified directories are accessible'),
    });
  });

  it('answers broken JSON with an error and continues', async () => {
    const places = scratch();
    const served = Served.launch(places, ['serve', places.root, '--dialect', 'filesystem']);
    served.client.send('{"jsonrpc":"2.0", "method":"test", "params": ');
    expect(await served.client.next()).toMatchObject({ id: null, error: { code: -32700 } });
    expect(await served.client.request('ping')).toMatchObject({ result: {} });
  });
});

it('the state folder is created at the given path', async () => {
  const places = scratch();
  const served = await Served.start(places);
  await served.call('write_file', { path: 'a.txt', content: 'x' });
  await served.stop();
  expect(existsSync(join(places.home, 'lookfirst.db'))).toBe(true);
});
