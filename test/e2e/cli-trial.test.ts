import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ServerProcess } from '../../src/cli/server-process.ts';
import { environment, lookfirst, objects, PROGRAM } from '../support/command-line.ts';
import { OFFICIAL } from '../support/official-server.ts';
import { scratch } from '../support/tree.ts';

/** Installs a copy of the package in `modules` as npm does. Returns the path of the link to its program. */
function linkedIn(modules: string): string {
  const project = join(PROGRAM[1] ?? '', '../../..');
  const copy = join(modules, 'lookfirst');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  cpSync(join(project, 'dist'), join(copy, 'dist'), { recursive: true });
  cpSync(join(project, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(project, 'node_modules'), join(copy, 'node_modules'));
  const linked = join(modules, '.bin', 'lookfirst');
  symlinkSync(join(copy, 'dist/bin/lookfirst.js'), linked);
  return linked;
}

describe('lookfirst init and remove', () => {
  /** The program that runs a command on a terminal of its own. */
  const TERMINAL = 'script';
  const hasTerminal = spawnSync(TERMINAL, ['--version']).status === 0;

  it.skipIf(!hasTerminal)('escape control characters of the configuration file', () => {
    const places = scratch();
    writeFileSync(join(places.root, '.mcp.json'), '// \u001b]0;title\u0007\n{"a": 1}\n');
    const command = [...PROGRAM, 'init', 'claude-code', '--dry-run'].join(' ');
    const options = { cwd: places.root, env: environment(places), encoding: 'utf8' } as const;
    const { stdout } = spawnSync(TERMINAL, ['-qec', command, '/dev/null'], options);
    expect(stdout).toContain('// \\u001b]0;title\\u0007');
    expect(stdout).not.toContain('\u0007');
  });

  it.each([
    ['win32', ['claude-code', '--hooks'], /^warning: .*Windows.*lookfirst doctor.*\n$/],
    ['win32', ['claude-code'], /^$/],
    [
      'win32',
      ['claude-desktop', '--hooks'],
      /^lookfirst: Claude Desktop has no hooks\. Without --hooks, .* adds the MCP server \[INVALID_ARGUMENT\]\nNothing was changed\.\n$/,
    ],
    ['linux', ['claude-code', '--hooks'], /^$/],
  ] as const)('on %s, init %j warns only of hooks that were not tried', async (platform, args, warning) => {
    const env = { LOOKFIRST_HOME: 'C:/state', USERPROFILE: 'C:/Users/u' };
    const options = platform === 'win32' ? { platform, env } : { platform };
    const ran = await lookfirst(scratch(), ['init', ...args, '--dry-run'], options);
    expect(ran.stderr).toMatch(warning);
  });

  it('show the change first, then make it, and restore the exact bytes on remove', async () => {
    const places = scratch();
    const file = join(places.root, '.mcp.json');
    const before = '{\n  "mcpServers": {\n    "other": { "command": "other" }\n  }\n}\n';
    writeFileSync(file, before);
    const dry = await lookfirst(places, ['init', 'claude-code', '--dry-run']);
    const shown = /^would add to Claude Code: an MCP server\nwould change .*\.mcp\.json\n@@ /;
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringMatching(shown) });
    expect(readFileSync(file, 'utf8')).toBe(before);
    const [done] = objects(await lookfirst(places, ['init', 'claude-code', '--json']));
    expect(done).toMatchObject({ dryRun: false, ok: true, file, did: 'change' });
    const entry = () => JSON.parse(readFileSync(file, 'utf8')).mcpServers.lookfirst;
    const [node, program] = PROGRAM;
    expect(entry()).toEqual({ command: node, args: [program, 'serve', '.'], alwaysLoad: true });
    expect((await lookfirst(places, ['remove', 'claude-code'])).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(before);
    await lookfirst(places, ['init', 'claude-code', '--command', 'npx']);
    expect(entry().args).toEqual(['-y', 'lookfirst', 'serve', '.']);
  });

  it('make no state folder in a dry run with hooks', async () => {
    const places = scratch();
    const state = join(places.home, 'none', 'yet');
    const args = ['init', 'claude-code', '--hooks', '--dry-run'];
    expect((await lookfirst(places, args, { env: { LOOKFIRST_HOME: state } })).code).toBe(0);
    expect(existsSync(join(places.home, 'none'))).toBe(false);
  });

  it('name the package, not the cache of npx, and work after that cache was deleted', async () => {
    const places = scratch();
    const cache = join(places.base, '_npx');
    const linked = linkedIn(join(cache, '0', 'node_modules'));
    const env = environment(places);
    execFileSync(process.execPath, [linked, 'init', 'claude-code', '--hooks'], { cwd: places.root, env });
    const { mcpServers } = JSON.parse(readFileSync(join(places.root, '.mcp.json'), 'utf8'));
    expect(mcpServers.lookfirst).toMatchObject({ command: 'npx', args: ['-y', 'lookfirst', 'serve', '.'] });
    const bin = join(places.home, 'bin');
    const [script, shell] = [join(bin, 'lookfirst-hook'), join(bin, 'lookfirst-shell')];
    expect(readFileSync(script, 'utf8')).not.toContain(cache);
    expect(readFileSync(shell, 'utf8')).not.toContain(cache);

    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const line = 'echo two > b.txt && pwd -P >| cwd';
    expect(spawnSync(shell, [line], { cwd: places.root, env, encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: expect.not.stringContaining('not found'),
    });
    rmSync(cache, { recursive: true });
    // Make a fake npx that starts the package, because the real npx would install the package
    // again.
    const path = join(places.base, 'path');
    mkdirSync(path);
    const started = PROGRAM.map((word) => `'${word}'`).join(' ');
    writeFileSync(join(path, 'npx'), `#!/bin/sh\nshift 3\nexec ${started} "$@"\n`, { mode: 0o755 });
    const node = join(path, 'node');
    symlinkSync(process.execPath, node);
    writeFileSync(script, readFileSync(script, 'utf8').replace(/^node=.*$/m, `node='${node}'`));
    const input = JSON.stringify({
      session_id: 's',
      hook_event_name: 'PreToolUse',
      cwd: places.root,
      tool_name: 'Write',
      tool_input: { file_path: join(places.root, 'a.txt'), content: 'two\n' },
    });
    // With `--store`, the hook answers by itself and starts no background process.
    const args = ['claude-code', '--event', 'PreToolUse', '--store', 'memory:'];
    const ran = spawnSync(script, args, { cwd: places.root, env, input, encoding: 'utf8' });
    expect(`${ran.stdout}${ran.stderr}`).toContain('[NOT_READ]');
  });

  it('deny the client’s own edit tools and approve ours with --only, and remove both rules again', async () => {
    const places = scratch();
    const settings = join(places.root, '.claude', 'settings.local.json');
    expect((await lookfirst(places, ['init', 'claude-code', '--only'])).code).toBe(0);
    const { permissions, enabledMcpjsonServers, hooks } = JSON.parse(readFileSync(settings, 'utf8'));
    expect(permissions).toEqual({
      allow: ['mcp__lookfirst'],
      deny: expect.arrayContaining(['Edit', 'MultiEdit', 'NotebookEdit', 'Write']),
    });
    expect(enabledMcpjsonServers).toEqual(['lookfirst']);
    expect(hooks).toBeUndefined();
    expect((await lookfirst(places, ['init', 'opencode', '--only'])).code).toBe(0);
    expect(JSON.parse(readFileSync(join(places.root, 'opencode.json'), 'utf8')).permission).toEqual({
      edit: 'deny',
    });
    for (const client of ['claude-code', 'opencode'])
      expect((await lookfirst(places, ['remove', client])).code).toBe(0);
    expect(readdirSync(places.root)).toEqual([]);
    expect(await lookfirst(places, ['init', 'codex', '--only'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Codex has no setting that denies its own edit tools'),
    });
    expect(readdirSync(places.base)).not.toContain('.codex');
  });

  it('remove --proxy removes one proxy entry and keeps the hooks', async () => {
    const places = scratch();
    const [file, hooks] = ['.vscode/mcp.json', '.github/hooks/lookfirst.json'].map((name) =>
      join(places.root, name),
    );
    mkdirSync(join(places.root, '.vscode'));
    const text = '{ "servers": { "notes": { "command": "notes-server", "args": ["."] } } }';
    writeFileSync(file ?? '', text);
    expect((await lookfirst(places, ['init', 'vscode', '--proxy', 'notes', '--hooks'])).code).toBe(0);
    expect((await lookfirst(places, ['remove', 'vscode', '--proxy', 'notes'])).code).toBe(0);
    expect([readFileSync(file ?? '', 'utf8'), existsSync(hooks ?? '')]).toEqual([text, true]);
    expect((await lookfirst(places, ['remove', 'vscode'])).code).toBe(0);
    expect(readdirSync(places.root)).toEqual(['.vscode']);
  });

  describe('doctor on a proxy that init put in front of another server', () => {
    /** Configures VS Code with the official server behind our proxy. Returns what `doctor` reports about that proxy. */
    async function proxied(change: (text: string) => string = (text) => text) {
      const places = scratch();
      const file = join(places.root, '.vscode/mcp.json');
      mkdirSync(join(places.root, '.vscode'));
      // biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code's own variable.
      const files = { command: process.execPath, args: [OFFICIAL, '${workspaceFolder}'] };
      writeFileSync(file, JSON.stringify({ servers: { files } }));
      writeFileSync(join(places.root, 'precious.txt'), 'mine\n');
      expect((await lookfirst(places, ['init', 'vscode', '--proxy', 'files'])).code).toBe(0);
      writeFileSync(file, change(readFileSync(file, 'utf8')));
      const ran = await lookfirst(places, ['doctor', '--json']);
      const check = objects(ran).find(({ message }) => String(message).startsWith('the proxy before'));
      expect(readFileSync(join(places.root, 'precious.txt'), 'utf8')).toBe('mine\n');
      expect(readdirSync(places.root).sort()).toEqual(['.vscode', 'precious.txt']);
      return { places, file, code: ran.code, check };
    }

    it('tries a blind write through the configured server, which is refused', async () => {
      const { file, code, check } = await proxied();
      expect([code, check]).toEqual([
        0,
        {
          name: 'vscode',
          status: 'ok',
          message: `the proxy before "files" in ${file} refused a blind write`,
        },
      ]);
    });

    it('ends with 1 if the blind write passes', async () => {
      const { code, check } = await proxied((text) => {
        const policy = join(scratch().base, 'open.json');
        writeFileSync(policy, '{"bypass": [{"paths": ["**"]}]}');
        return text.replace('"--root"', `"--policy", ${JSON.stringify(policy)}, "--root"`);
      });
      expect(code).toBe(1);
      expect(check).toMatchObject({ status: 'fail', message: expect.stringContaining('was overwritten') });
    });

    it('fails if the server cannot start', async () => {
      const { code, check } = await proxied((text) => text.replace(OFFICIAL, '/no/server.js'));
      expect(code).toBe(1);
      expect(check).toMatchObject({ status: 'fail', message: expect.stringContaining('it cannot start') });
    });

    it.each([
      ['whose command only the client understands', 'only VS Code knows what', '$'.concat('{input:key}')],
      ['without a known tool', 'has no tool for writing files that Lookfirst knows', 'SCRIBE'],
    ])('before a server %s is not tried, and doctor says so', async (_which, words, argument) => {
      const { code, check } = await proxied((text) => {
        if (argument !== 'SCRIBE') return text.replace(OFFICIAL, argument);
        const scribe = join(scratch().base, 'scribe.mjs');
        writeFileSync(scribe, SCRIBE);
        return text.replace(OFFICIAL, scribe);
      });
      expect(code).toBe(0);
      expect(check).toMatchObject({ status: 'warn', message: expect.stringContaining(words) });
    });
  });

  it('refuse a file they cannot parse, and leave it unchanged', async () => {
    const places = scratch();
    const file = join(places.root, '.mcp.json');
    writeFileSync(file, '{ "mcpServers": [ }');
    const ran = await lookfirst(places, ['init', 'claude-code']);
    expect(ran).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Nothing was changed.'),
    });
    expect(readFileSync(file, 'utf8')).toBe('{ "mcpServers": [ }');
  });
});

/** A server with one tool that writes any file. */
const SCRIBE = `
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const inputSchema = { type: 'object', properties: { file: { type: 'string' }, words: { type: 'string' } } };
const answers = {
  initialize: ({ protocolVersion }) =>
    ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'scribe', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'scribble', inputSchema }] }),
  'tools/call': ({ arguments: { file, words } }) => {
    writeFileSync(file, words);
    return { content: [{ type: 'text', text: 'done' }] };
  },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method](params) }));
});
`;

describe('lookfirst proxy', () => {
  it('refuses blind writes to another server, and records other writes for log and undo', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const command = [...PROGRAM, 'proxy', '--root', places.root, '--session', 'agent-7', '--'];
    const upstream = [process.execPath, OFFICIAL, places.root];
    const server = await ServerProcess.start([...command, ...upstream], environment(places));
    onTestFinished(() => server.stop());
    const path = join(places.root, 'a.txt');
    expect(await server.call('write_file', { path, content: 'blind\n' })).toMatchObject({ code: 'NOT_READ' });
    expect((await server.call('read_text_file', { path })).text).toBe('one\n');
    expect((await server.call('write_file', { path, content: 'two\n' })).ok).toBe(true);
    expect((await lookfirst(places, ['undo'])).code).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe('one\n');
    const entries = objects(await lookfirst(places, ['log', '--json', '--session', 'agent-7']));
    expect(entries.map(({ kind }) => kind)).toEqual(['change', 'read', 'refusal', 'session']);
  });

  it('recognises tools of other servers from tables in the policy file', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const table = { id: 'scribe', tools: { scribble: [{ does: 'write', path: 'file', content: 'words' }] } };
    writeFileSync(join(places.home, 'lookfirst.json'), JSON.stringify({ proxy: { servers: [table] } }));
    writeFileSync(join(places.base, 'scribe.mjs'), SCRIBE);
    const command = [...PROGRAM, 'proxy', '--root', places.root, '--', process.execPath];
    const server = await ServerProcess.start(
      [...command, join(places.base, 'scribe.mjs')],
      environment(places),
    );
    onTestFinished(() => server.stop());
    const scribble = (file: string): ReturnType<ServerProcess['call']> =>
      server.call('scribble', { file: join(places.root, file), words: 'scribbled\n' });
    expect(await scribble('a.txt')).toMatchObject({ ok: false, code: 'NOT_READ' });
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\n');
    expect(await scribble('new.txt')).toMatchObject({ ok: true });
    expect(readFileSync(join(places.root, 'new.txt'), 'utf8')).toBe('scribbled\n');
  });

  it('fails on invalid tables', async () => {
    const places = scratch();
    const servers = [{ id: 'mine', tools: { save: [{ does: 'wriet', path: 'file' }] } }];
    writeFileSync(join(places.home, 'lookfirst.json'), JSON.stringify({ proxy: { servers } }));
    const ran = await lookfirst(places, ['proxy', '--', 'true']);
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('servers[0].tools.save[0]') });
  });

  it('ends with the exit code of the server behind it', async () => {
    const args = ['proxy', '--', process.execPath, '-e', 'process.exit(7)'];
    expect((await lookfirst(scratch(), args)).code).toBe(7);
  });

  it('continues without a folder that cannot be opened if another can be', async () => {
    const args = ['--root', './nowhere', '--', process.execPath, '-e', 'process.exit(7)'];
    expect(await lookfirst(scratch(), ['proxy', '--root', '.', ...args])).toMatchObject({
      code: 7,
      stderr: expect.stringMatching(/^lookfirst: Warning: Cannot access directory .*nowhere, skipping\n$/),
    });
    expect(await lookfirst(scratch(), ['proxy', '--root', './gone', ...args])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Error: None of the specified directories are accessible'),
    });
  });

  it('reports the reason if it cannot start', async () => {
    const ran = await lookfirst(scratch(), ['proxy', '--root', './nowhere', '--', 'true']);
    expect(ran).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('does not exist') });
  });
});

describe('lookfirst history', () => {
  const turn = (id: number, message: object, more: object = {}): string =>
    JSON.stringify({
      uuid: `u${id}`,
      parentUuid: id === 1 ? null : `u${id - 1}`,
      sessionId: 's',
      timestamp: new Date(Date.now() - 60_000 * (10 - id)).toISOString(),
      ...message,
      ...more,
    });

  it('shows which files the model of a transcript has seen and still has in its context', async () => {
    const places = scratch();
    const path = join(places.root, 'a.txt');
    const use = { type: 'tool_use', id: 't1', name: 'Read', input: { file_path: path } };
    const result = { type: 'tool_result', tool_use_id: 't1', content: '     1\u2192one' };
    const file = { filePath: path, content: 'one\n', numLines: 1, startLine: 1, totalLines: 1 };
    const lines = [
      turn(1, { type: 'user', cwd: places.root, message: { role: 'user', content: 'read it' } }),
      turn(2, { type: 'assistant', cwd: places.root, message: { role: 'assistant', content: [use] } }),
      turn(3, {
        type: 'user',
        cwd: places.root,
        message: { role: 'user', content: [result] },
        toolUseResult: { type: 'text', file },
      }),
    ];
    writeFileSync(join(places.base, 'chat.jsonl'), `${lines.join('\n')}\n`);
    const ran = await lookfirst(places, ['history', '../chat.jsonl']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toBe(
      'claude-code transcript, 3 records: 1 file in context\n' +
        'PATH   LINES  HOW   WHEN\n' +
        'a.txt  whole  read  7m ago\n',
    );
    const [head, sighting] = objects(await lookfirst(places, ['history', '../chat.jsonl', '--json']));
    expect(head).toEqual({
      type: 'transcript',
      format: 'claude-code',
      records: 3,
      skipped: { count: 0, reasons: {} },
    });
    expect(sighting).toMatchObject({ type: 'sighting', path, coverage: { kind: 'whole' }, how: 'read' });
    const elsewhere = objects(
      await lookfirst(places, ['history', '../chat.jsonl', '--json', '--root', '../outside']),
    );
    expect(elsewhere).toHaveLength(1);
  });

  it('says why a file is not a transcript', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'notes.txt'), 'just notes\n');
    const ran = await lookfirst(places, ['history', 'notes.txt']);
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not a transcript of a known format'),
    });
  });
});
