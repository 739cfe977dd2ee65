// Tests of defects 33 to 38, which users of version 1 found. See README.md in this folder.
import { once } from 'node:events';
import { copyFileSync, linkSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { objects } from '../support/command-line.ts';
import { setLimits } from '../support/limits.ts';
import { Served } from '../support/served.ts';
import { entriesBelow } from '../support/tree.ts';
import { done, moment, prepared, refused, type Table, table } from './table.ts';

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');

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
      .filter(({ entry }) => entry.isFile() && !entry.name.endsWith('-wal'))
      .filter(({ path }) => readFileSync(path, 'utf8').includes('the old secret'))
      .map(({ path }) => path);

  it('can be read by its owner only', async () => {
    const t = await changed();
    expect(kept(t).length).toBeGreaterThan(0);
    expect(statSync(t.home).mode & 0o777).toBe(0o700);
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

  /**
   * Starts a server over HTTP. `send` sends any request to the server and returns the status of the
   * answer.
   */
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

  // This test checks only the limit. src/mcp/http.test.ts sets a shorter limit, and tests that the
  // server then closes the connection.
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

  // Version 1 passed this test for ordinary files, but not for pages of huge files.
  it.each([
    ['a file', {}],
    ['a huge file', { hugeBytes: 100 }],
  ])(
    'a change of %s through one name leaves the other name its bytes and its sighting',
    async (_, limits) => {
      setLimits(limits);
      const t = await table({ 'a.txt': numbered(100) });
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
