// Points 26 to 38 that using version 1 found, written as rules. See README.md in this folder; point 31 is in bounded.test.ts.
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { objects } from '../support/command-line.ts';
import { type Answer, Served } from '../support/served.ts';
import { entriesBelow, treeOf } from '../support/tree.ts';
import { done, moment, prepared, refused, type Table, table } from './table.ts';

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');

describe('26. a drop-in for the official server', () => {
  const FILESYSTEM = { args: ['--dialect', 'filesystem'] };
  const edit = (oldText: string, newText: string, more: object = {}) => ({
    path: 'a.txt',
    edits: [{ oldText, newText }],
    ...more,
  });

  it("serves the client's roots if no folder is given", async () => {
    const t = prepared({ 'where.txt': 'in the root\n' });
    writeFileSync(join(t.base, 'where.txt'), 'in the current folder\n');
    const server = Served.launch(t, ['serve']);
    const { client } = server;
    void client
      .next(({ method }) => method === 'roots/list')
      .then(({ id }) => {
        const roots = [{ uri: pathToFileURL(t.root).href }];
        client.send({ jsonrpc: '2.0', id, result: { roots } });
      });
    await client.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { roots: { listChanged: true } },
      clientInfo: { name: 'test', version: '1' },
    });
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect(await client.text('read_file', { path: 'where.txt' })).toContain('in the root');
  });

  it('expands ~ to the home folder', async () => {
    const t = await table({ 'a.txt': 'one\n' }, FILESYSTEM);
    const read = await t.call('read_text_file', { path: '~/root/a.txt' });
    expect(read).toMatchObject({ ok: true, text: expect.stringContaining('one') });
  });

  it('omits links that lead outside or nowhere from search_files', async () => {
    const t = prepared({ 'found.txt': 'x\n' });
    symlinkSync('/etc', t.path('found-outside'));
    symlinkSync('nowhere', t.path('found-nowhere'));
    const server = await Served.start(t, FILESYSTEM.args);
    const found = await server.call('search_files', { path: t.root, pattern: 'found*' });
    expect(found.text.split('\n')).toEqual([t.path('found.txt')]);
  });

  it('ignores unknown arguments', async () => {
    const t = await table({ 'a.txt': 'one\n' }, FILESYSTEM);
    expect(await t.call('read_text_file', { path: 'a.txt', colour: 'blue' })).toMatchObject({ ok: true });
  });

  it('accepts an edit that changes nothing', async () => {
    const t = await table({ 'a.txt': 'one\n' }, FILESYSTEM);
    await t.call('read_text_file', { path: 'a.txt' });
    const { outcome } = done(await t.call('edit_file', edit('one', 'one')));
    expect(outcome).toMatchObject({ changed: false });
  });

  it('allows a dry run of an edit of an unread file', async () => {
    const t = await table({ 'a.txt': 'one\n' }, FILESYSTEM);
    const tried = done(await t.call('edit_file', edit('one', 'two', { dryRun: true })));
    expect(tried.text).toContain('+two');
    expect(t.text('a.txt')).toBe('one\n');
  });
});

describe('27. small changes', () => {
  it('an append needs no read, creates a missing file, and shows nothing', async () => {
    const t = await table({ 'a.txt': 'one' });
    done(await t.call('insert_lines', { path: 'a.txt', content: 'two' }));
    expect(t.text('a.txt')).toBe('one\ntwo\n');
    refused(await t.call('write_file', { path: 'a.txt', content: 'x\n' }), 'NOT_READ');
    done(await t.call('insert_lines', { path: 'new/b.txt', content: 'first' }));
    expect(t.text('new/b.txt')).toBe('first\n');
  });

  it.each([
    [
      'deleting whole lines removes their line ending',
      'one\ntwo\nthree\n',
      { old_string: 'two', new_string: '' },
      'one\nthree\n',
    ],
    [
      'a final newline in old_string that the file lacks is ignored',
      'one\ntwo',
      { old_string: 'two\n', new_string: 'TWO\n' },
      'one\nTWO',
    ],
  ])('%s', async (_, before, change, after) => {
    const t = await table({ 'a.txt': before });
    done(await t.call('read_file', { path: 'a.txt' }));
    done(await t.call('edit_file', { path: 'a.txt', ...change }));
    expect(t.text('a.txt')).toBe(after);
  });
});

describe('28. arguments as models send them', () => {
  it.each<[string, string, object]>([
    ['null for an optional argument', 'read_file', { path: 'a.txt', offset: null, limit: null }],
    ['a number as a string', 'read_file', { path: 'a.txt', limit: '2' }],
    ['an array as JSON', 'apply_changes', { changes: '[{"path":"b.txt","content":"new"}]' }],
  ])('accepts %s', async (_, tool, args) => {
    const t = await table({ 'a.txt': numbered(5) });
    done(await t.call(tool, args));
  });

  it('suggests the right argument and the nearest tool', async () => {
    const t = await table({ 'a.txt': 'one\n' });
    const { text: argument } = refused(await t.call('read_file', { file_path: 'a.txt' }), 'INVALID_ARGUMENT');
    expect(argument).toContain('did you mean "path"');
    const tool = await t.server.client.request('tools/call', { name: 'readfile', arguments: {} });
    expect(JSON.stringify(tool)).toContain('did you mean');
  });
});

it('29. a folder of any size can be listed in pages, and then deleted', async () => {
  const names = Array.from({ length: 2500 }, (_, index) => `f${String(index).padStart(4, '0')}`);
  const t = await table(Object.fromEntries(names.map((name) => [`d/${name}`, ''])));
  let listed = '';
  let page: Answer | undefined;
  do {
    const after = page === undefined ? {} : { after: /\b(f\d{4})\b(?!.*\bf\d{4}\b)/s.exec(page.text)?.[1] };
    page = done(await t.call('list_directory', { path: 'd', ...after }));
    listed += page.text;
  } while (page.outcome['more'] === true);
  expect(names.filter((name) => !listed.includes(name))).toEqual([]);
  done(await t.call('delete_path', { path: 'd', recursive: true }));
  expect(existsSync(t.path('d'))).toBe(false);
});

describe('30. one batch', () => {
  it.each<[string, object[], string[]]>([
    [
      'edits and moves one file',
      [{ path: 'a', edits: [{ old_string: 'a', new_string: 'A' }], move_to: 'in/d' }],
      ['b: b', 'c: c', 'in/d: A'],
    ],
    [
      'exchanges two files',
      [
        { path: 'a', move_to: 'b' },
        { path: 'b', move_to: 'a' },
      ],
      ['a: b', 'b: a', 'c: c'],
    ],
    [
      'moves a chain of files',
      [
        { path: 'a', move_to: 'b' },
        { path: 'b', move_to: 'c' },
        { path: 'c', move_to: 'd' },
      ],
      ['b: a', 'c: b', 'd: c'],
    ],
  ])('%s', async (_, changes, after) => {
    const t = await table({ a: 'a', b: 'b', c: 'c' });
    for (const path of ['a', 'b', 'c']) done(await t.call('read_file', { path }));
    done(await t.call('apply_changes', { changes }));
    expect(treeOf(t.root)).toEqual(after);
  });
});

describe('32. the form of a file', () => {
  it.each([
    ['a byte order mark', Buffer.from('\ufeffone\n'), Buffer.from('\ufefftwo\n')],
    ['UTF-16', Buffer.from('\ufeffone\n', 'utf16le'), Buffer.from('\ufefftwo\n', 'utf16le')],
    ['CRLF', Buffer.from('one\r\n1\r\n'), Buffer.from('two\r\n')],
  ])('%s is kept when the whole file is written', async (_, before, after) => {
    const t = await table({ 'a.txt': before });
    done(await t.call('read_file', { path: 'a.txt' }));
    done(await t.call('write_file', { path: 'a.txt', content: 'two\n' }));
    expect(readFileSync(t.path('a.txt'))).toEqual(after);
  });

  // Deleting such a file, and undoing both, is in test/attack/large-files.test.ts.
  it('a file of 2 GB can be moved', async () => {
    const t = await table({ large: 'first line\n' }, { policy: { maxReadMs: 300_000 } });
    truncateSync(t.path('large'), 2 ** 31 + 10);
    done(await t.call('move_path', { source: 'large', destination: 'moved' }));
    expect(statSync(t.path('moved')).size).toBe(2 ** 31 + 10);
  });
});

describe('33. the set-up of clients', () => {
  it('init codex writes the state folder into the user’s file, but no project folder', async () => {
    const t = prepared();
    expect(await t.run(['init', 'codex'])).toMatchObject({ code: 0 });
    const written = readFileSync(join(t.base, '.codex/config.toml'), 'utf8');
    expect(written).toContain('"serve", "."');
    expect(written).not.toContain(t.root);
    expect(written).toContain(`LOOKFIRST_HOME = "${t.home}"`);
  });

  it('init claude-code has the tools loaded at once, and with --only approves them and denies the built-in ones', async () => {
    const t = prepared();
    expect(await t.run(['init', 'claude-code', '--only'])).toMatchObject({ code: 0 });
    expect(JSON.parse(t.text('.mcp.json')).mcpServers.lookfirst).toMatchObject({ alwaysLoad: true });
    const { permissions } = JSON.parse(t.text('.claude/settings.local.json'));
    expect(permissions.allow).toContain('mcp__lookfirst');
    expect(permissions.deny).toEqual(expect.arrayContaining(['Edit', 'Write']));
  });

  it('init claude-code without --only prints the lines that approve its calls', async () => {
    const ran = await prepared().run(['init', 'claude-code']);
    expect(ran.stdout + ran.stderr).toContain('mcp__lookfirst');
  });

  it('doctor tries a write through the configured command, and reports why that command cannot start', async () => {
    const t = prepared();
    for (const client of ['claude-code', 'cursor', 'gemini']) await t.run(['init', client]);
    const entry = { mcpServers: { lookfirst: { command: '/gone/lookfirst', args: ['serve', '.'] } } };
    mkdirSync(join(t.base, '.config/lookfirst'), { recursive: true });
    writeFileSync(t.path('.gemini/settings.json'), JSON.stringify(entry));
    const other = join(t.outside, 'other-state');
    const cursor = JSON.parse(t.text('.cursor/mcp.json'));
    cursor.mcpServers.lookfirst.env = { LOOKFIRST_HOME: other };
    writeFileSync(t.path('.cursor/mcp.json'), JSON.stringify(cursor));
    const { stdout } = await t.run(['doctor']);
    expect(stdout).toMatch(/claude-code.*its command refused a blind write/);
    expect(stdout).toMatch(/claude-code.*waits for approval/);
    expect(stdout).toMatch(/gemini.*cannot start/);
    expect(stdout).toMatch(/gemini.*does not trust this folder/);
    expect(stdout).toMatch(new RegExp(`cursor.*${other}`));
  });
});

describe('34. history', () => {
  it('counts MCP calls in a transcript of Codex', async () => {
    const item = (payload: object) => ({
      timestamp: '2026-11-15T06:34:17.555Z',
      type: 'response_item',
      payload,
    });
    const read = '1\talpha\n2\tbeta\n[read a.txt lines 1-2 of 2 revision 0123456789ab]';
    const records = [
      { timestamp: '2026-11-15T06:34:17.000Z', type: 'session_meta', payload: { id: 's', cwd: '/repo' } },
      item({
        type: 'function_call',
        name: 'mcp__lookfirst__read_file',
        arguments: JSON.stringify({ path: 'a.txt' }),
        call_id: 'c1',
      }),
      item({
        type: 'function_call_output',
        call_id: 'c1',
        output: [
          { type: 'input_text', text: 'Wall time: 0.0421 seconds\nOutput:' },
          { type: 'input_text', text: read },
        ],
      }),
    ];
    const t = prepared({ 't.jsonl': records.map((record) => `${JSON.stringify(record)}\n`).join('') });
    const ran = await t.run(['history', 't.jsonl', '--format', 'codex', '--json']);
    const paths = objects(ran).map(({ path, coverage }) => [path, coverage]);
    expect(paths).toContainEqual(['/repo/a.txt', { kind: 'whole' }]);
  });

  it('starts relative paths of Gemini CLI in its .project_root', async () => {
    const t = prepared({ 'project/.project_root': '/work-of/me\n' });
    mkdirSync(t.path('project/chats'));
    const transcript = join(import.meta.dirname, '../fixtures/transcripts/gemini.jsonl');
    copyFileSync(transcript, t.path('project/chats/session-1.jsonl'));
    const { stdout } = await t.run(['history', 'project/chats/session-1.jsonl', '--json']);
    expect(stdout).toContain('"/work-of/me/');
  });
});

describe('35. the before-image of a secret file', () => {
  async function changed(): Promise<Table> {
    const t = await table({ 'key.txt': 'the old secret\n' });
    done(await t.call('read_file', { path: 'key.txt' }));
    done(await t.call('write_file', { path: 'key.txt', content: 'the new secret\n' }));
    await t.server.stop();
    return t;
  }
  const kept = (t: Table): string[] =>
    entriesBelow(t.home)
      .filter(({ path, entry }) => entry.isFile() && /\/(images|retained)\//.test(path))
      .filter(({ path }) => readFileSync(path, 'utf8').includes('the old secret'))
      .map(({ path }) => path);

  it('can be read by its owner only', async () => {
    const t = await changed();
    const modes = kept(t).map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o600]);
  });

  it('is removed by `gc --purge PATH`, which is journalled', async () => {
    const t = await changed();
    expect(await t.run(['gc', '--purge', 'key.txt'])).toMatchObject({ code: 0 });
    expect(kept(t)).toEqual([]);
    const entries = objects(await t.run(['log', '--json']));
    expect(entries.some((entry) => /purge|removed/.test(JSON.stringify(entry)))).toBe(true);
  });
});

describe('36. hostile input', () => {
  const STEERING = '\u001b\u009b\u202e\u2028';
  const RAW = /[\u001b\u0080-\u009f\u202a-\u202e\u2028\u2029]/;

  it('is escaped in errors of the command line', async () => {
    const t = prepared();
    for (const args of [[`lo${STEERING}g`], ['history', `no${STEERING}.jsonl`], ['undo', STEERING]]) {
      const { code, stderr } = await t.run(args);
      expect([code === 0, RAW.test(stderr)], stderr).toEqual([false, false]);
    }
  });

  it('is escaped in `log --json`', async () => {
    const t = await table({});
    done(await t.call('write_file', { path: `a${STEERING}b.txt`, content: 'x\n' }));
    const { stdout } = await t.run(['log', '--json']);
    expect(stdout).not.toMatch(RAW);
    expect(objects({ code: 0, stdout, stderr: '' }).map(({ path }) => path)).toContain(`a${STEERING}b.txt`);
  });

  /** A server over HTTP, its port, and a way to send it anything. */
  async function overHttp(env: Readonly<Record<string, string>> = {}) {
    const t = prepared();
    const server = Served.launch(t, ['serve', t.root, '--http', '0'], { LOOKFIRST_TOKEN: 'secret', ...env });
    await server.client.said('127.0.0.1:');
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(server.client.errors)?.[1]);
    const send = async (method: string, body = ''): Promise<number> => {
      const headers = {
        authorization: 'Bearer secret',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'content-length': Buffer.byteLength(body),
      };
      const sent = request({ port, host: '127.0.0.1', path: '/mcp', method, headers });
      sent.end(body);
      const [answer] = await once(sent, 'response');
      await text(answer);
      return answer.statusCode;
    };
    return { server, send };
  }

  it('over HTTP (TRACE, or extremely nested JSON) gets a client error', async () => {
    const { send } = await overHttp();
    expect(await send('TRACE')).toBe(405);
    expect(await send('POST', '['.repeat(100_000) + ']'.repeat(100_000))).toBe(400);
  });

  // src/mcp/http.test.ts shows with a shorter limit that the connection is closed.
  it('an HTTP client has at most a minute to send a request', async () => {
    const { server } = await overHttp(moment('request limit'));
    const limits = [...server.client.errors.matchAll(/request limit: (\d+) ms/g)].map(([, ms]) => Number(ms));
    expect(limits.length).toBeGreaterThan(0);
    for (const ms of limits) expect(ms > 0 && ms <= 60_000, `${ms} ms`).toBe(true);
  });
});

describe('37. short answers', () => {
  it('an undo of a move is reported in one line', async () => {
    const t = await table({ 'a.txt': numbered(20) });
    done(await t.call('move_path', { source: 'a.txt', destination: 'b.txt' }));
    const { text: undone } = done(await t.call('undo_change'));
    expect(undone).not.toContain('line 7');
    expect(undone).toMatch(/moved back/);
  });

  it('a revision has 12 digits', async () => {
    const t = await table({ 'a.txt': 'one\n' });
    expect(done(await t.call('read_file', { path: 'a.txt' })).text).toMatch(/revision [0-9a-f]{12}\]/);
  });

  it('the third refusal in a row carries an explanation, and then the eighth', async () => {
    const t = await table({ 'a.txt': 'one\n' });
    const lengths: number[] = [];
    for (let tries = 1; tries <= 8; tries += 1)
      lengths.push(
        refused(await t.call('write_file', { path: 'a.txt', content: 'x\n' }), 'NOT_READ').text.length,
      );
    const usual = lengths[0] ?? 0;
    expect(lengths.map((length) => length > usual + 20)).toEqual([
      ...[false, false, true, false],
      ...[false, false, false, true],
    ]);
  });
});

describe('38. two names of one file', () => {
  async function twoNames(): Promise<Table> {
    const t = await table({ 'a.txt': 'one\n' });
    linkSync(t.path('a.txt'), t.path('b.txt'));
    return t;
  }

  it('control: each name needs its own read', async () => {
    const t = await twoNames();
    done(await t.call('read_file', { path: 'a.txt' }));
    refused(await t.call('write_file', { path: 'b.txt', content: 'two\n' }), 'NOT_READ');
  });

  // Version 1 kept this promise for ordinary files and broke it for pages of huge ones.
  it.each([
    ['a file', {}],
    ['a huge file', { hugeBytes: 100 }],
  ])(
    'a change of %s through one name leaves the other name its bytes and its sighting',
    async (_, policy) => {
      const t = await table({ 'a.txt': numbered(100) }, { policy });
      linkSync(t.path('a.txt'), t.path('b.txt'));
      for (const path of ['a.txt', 'b.txt']) done(await t.call('read_file', { path, limit: 20 }));
      done(await t.call('edit_file', { path: 'a.txt', old_string: 'line 7\n', new_string: 'x\n' }));
      expect(t.text('b.txt')).toBe(numbered(100));
      done(await t.call('edit_file', { path: 'b.txt', old_string: 'line 9\n', new_string: 'y\n' }));
      expect(t.text('a.txt')).toBe(numbered(100).replace('line 7\n', 'x\n'));
    },
  );

  it('control: a change in place makes both names stale', async () => {
    const t = await twoNames();
    for (const path of ['a.txt', 'b.txt']) done(await t.call('read_file', { path }));
    t.put('b.txt', 'by hand\n');
    for (const path of ['a.txt', 'b.txt'])
      refused(await t.call('write_file', { path, content: 'two\n' }), 'STALE');
  });
});
