import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { asNobody } from '../../../test/support/nobody.ts';
import { scratch } from '../../../test/support/tree.ts';
import type { ClientName } from './client.ts';
import { CLIENTS } from './clients.ts';
import { readConfig, writeConfig } from './config-file.ts';
import { configureClient, reportText } from './configure.ts';
import { FormerFiles } from './former.ts';
import { hookFiles } from './hook-files.ts';
import type { ConfigureRequest } from './plan.ts';

/** Makes a home folder and a project, and returns functions that configure clients there. */
function person() {
  const { root: project, home } = scratch();
  const request = (
    action: 'init' | 'remove',
    client: ClientName,
    more: Partial<ConfigureRequest> = {},
  ): ConfigureRequest => ({
    action,
    client: CLIENTS[client],
    places: { platform: 'linux', home, project, env: {} },
    dir: project,
    dryRun: false,
    former: new FormerFiles(join(home, 'state')),
    files: hookFiles(join(home, 'state')),
    ...more,
  });
  const run = (...args: Parameters<typeof request>) => configureClient(request(...args));
  const put = (path: string, text: string | Buffer) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  return { home, project, run, put };
}

describe('configureClient', () => {
  it.each([
    ['cursor', '.cursor/mcp.json', '{"mcpServers": {"filesystem": {"command": "fs"}}}'],
    ['codex', '.codex/config.toml', '[mcp_servers.filesystem]\ncommand = "fs"\n'],
  ] as const)('names the server that a misspelt --proxy of %s probably means', (client, name, text) => {
    const { project, run, put } = person();
    const file = put(join(project, name), text);
    const reasons = (proxy: string) =>
      run('init', client, { proxy }).map((report) =>
        report.ok || report.file !== file ? '' : report.reason,
      );
    expect(reasons('filesytem')).toContainEqual(
      expect.stringMatching(/filesytem.*; the most similar name is "filesystem"$/),
    );
    expect(reasons('git')).toContainEqual(expect.stringMatching(/; it has "filesystem"$/));
  });

  it('creates the file and its folder, and removes the file again', () => {
    const { project, run } = person();
    const file = join(project, '.cursor', 'mcp.json');
    expect(run('init', 'cursor')).toMatchObject([{ ok: true, did: 'create', file }]);
    expect(readFileSync(file, 'utf8')).toContain(JSON.stringify(CLIENTS.cursor.projectDir));
    expect(run('init', 'cursor')).toMatchObject([{ ok: true, did: 'nothing', diff: '' }]);
    expect(run('remove', 'cursor')).toMatchObject([{ ok: true, did: 'delete', file }]);
    expect(existsSync(file)).toBe(false);
    expect(run('remove', 'cursor')).toMatchObject([{ ok: true, did: 'nothing', next: '' }]);
    expect(existsSync(dirname(file))).toBe(false);
  });

  it('updates an entry that starts the linked program of a global installation', () => {
    const { run } = person();
    const starter = ['/usr/bin/node', '/usr/local/bin/lookfirst'];
    expect(run('init', 'cursor', { starter })).toMatchObject([{ ok: true, did: 'create' }]);
    expect(run('init', 'cursor', { starter })).toMatchObject([{ ok: true, did: 'nothing' }]);
    expect(run('init', 'cursor', { starter: 'npx' })).toMatchObject([{ ok: true, did: 'change' }]);
  });

  it.each<[ClientName, string, string]>([
    ['cursor', 'mcp.json', '{"mcpServers": {"lookfirst": {"command": "/opt/other", "args": ["x"]}}}\n'],
    ['opencode', 'opencode.json', '{"mcp": {"lookfirst": {"type": "local", "command": ["other"]}}}\n'],
    ['codex', 'config.toml', '[mcp_servers.lookfirst]\ncommand = "other"\n'],
  ])('does not change a server of another program that has our name: %s', (client, name, before) => {
    const { project, run, put } = person();
    const dir = client === 'opencode' ? project : join(project, `.${client}`);
    const file = put(join(dir, name), before);
    const reason = 'it has another server called "lookfirst"; rename or remove that one first';
    expect(run('init', client, { scope: 'project' })).toMatchObject([{ ok: false, reason, line: 1 }]);
    expect(run('remove', client, { scope: 'project' })).toMatchObject([{ ok: true, did: 'nothing' }]);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it.each<[ClientName, string, string]>([
    ['cursor', 'mcp.json', '{"mcpServers": {"lookfirst": {"url": "http://127.0.0.1:1/mcp"}, "b": {}}}\n'],
    [
      'gemini',
      'settings.json',
      '{"mcpServers": {"lookfirst": {"httpUrl": "http://127.0.0.1:1/mcp"}, "b": {}}}\n',
    ],
    ['codex', 'config.toml', '[mcp_servers.lookfirst]\nurl = "http://127.0.0.1:1/mcp"\n\n[b]\n'],
  ])(
    'adds no command to an entry with an address, and removes the address only on remove: %s',
    (client, name, before) => {
      const { project, run, put } = person();
      const file = put(join(project, `.${client}`, name), before);
      const reason =
        'its server "lookfirst" is an address, not a command; remove it first with lookfirst remove';
      expect(run('init', client, { scope: 'project' })).toMatchObject([{ ok: false, reason, line: 1 }]);
      expect(readFileSync(file, 'utf8')).toBe(before);
      expect(run('remove', client, { scope: 'project' })).toMatchObject([{ ok: true, did: 'change' }]);
      expect(readFileSync(file, 'utf8')).not.toContain('lookfirst');
      expect(run('init', client, { scope: 'project' })).toMatchObject([{ ok: true, did: 'change' }]);
    },
  );

  it('shows the change and changes nothing in a dry run', () => {
    const { project, run, put } = person();
    const before = '{\n  "servers": {\n    "fs": {}\n  }\n}\n';
    const file = put(join(project, '.vscode', 'mcp.json'), before);
    const [report] = run('init', 'vscode', { dryRun: true });
    expect(report).toMatchObject({
      ok: true,
      did: 'change',
      diff: expect.stringContaining('+    "lookfirst": {'),
    });
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(readdirSync(dirname(file))).toEqual(['mcp.json']);
  });

  it('writes the full path into a user file, and into a project file of another folder', () => {
    const { home, project, run } = person();
    run('init', 'cursor', { scope: 'user' });
    expect(readFileSync(join(home, '.cursor', 'mcp.json'), 'utf8')).toContain(JSON.stringify(project));
    run('init', 'claude-code', { dir: '/elsewhere' });
    expect(readFileSync(join(project, '.mcp.json'), 'utf8')).toContain('"/elsewhere"');
  });

  it('edits the candidate file that exists', () => {
    const { project, run, put } = person();
    const file = put(join(project, 'opencode.jsonc'), '{\n  // mine\n}\n');
    expect(run('init', 'opencode')).toMatchObject([{ ok: true, did: 'change', file }]);
    expect(existsSync(join(project, 'opencode.json'))).toBe(false);
  });

  it('removes its entry from every scope in which it is found', () => {
    const { home, project, run } = person();
    run('init', 'gemini', { scope: 'user' });
    run('init', 'gemini', { scope: 'project' });
    expect(run('remove', 'gemini')).toMatchObject([{ did: 'delete' }, { did: 'delete' }]);
    expect([home, project].map((dir) => existsSync(join(dir, '.gemini', 'settings.json')))).toEqual([
      false,
      false,
    ]);
  });

  it('wraps a server in the file in which it is found, and unwraps it', () => {
    const { home, run, put } = person();
    const before = '{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "server"]}}}';
    const file = put(join(home, '.claude.json'), before);
    expect(run('init', 'claude-code', { proxy: 'fs' })).toMatchObject([{ ok: true, did: 'change', file }]);
    expect(readFileSync(file, 'utf8')).toContain('"proxy"');
    expect(run('remove', 'claude-code', { proxy: 'fs' })).toMatchObject([{ ok: true, did: 'change', file }]);
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(run('init', 'claude-code', { proxy: 'nope' })).toMatchObject([{ ok: false }]);
  });

  it.each([
    [{}, false],
    [{ LOOKFIRST_HOME: '/state' }, true],
  ])('with the variables %j, says which of them the wrapped server still needs: %s', (env, isNeeded) => {
    const { home, project, run, put } = person();
    put(join(project, '.codex/config.toml'), '[mcp_servers.fs]\ncommand = "server"\n');
    const places = { platform: 'linux', home, project, env } as const;
    const [report] = run('init', 'codex', { proxy: 'fs', scope: 'project', places });
    const next = report?.ok ? report.next : '';
    expect(next.includes('set the same in the environment of "fs"')).toBe(isNeeded);
    expect(next.includes('LOOKFIRST_HOME')).toBe(isNeeded);
  });

  it.each<[string, string | Buffer, number | undefined]>([
    ['broken JSON', '{\n  "mcpServers": {\n  "a"\n}}', 4],
    ['bytes that are not UTF-8', Buffer.from('{"a": "\xe9"}', 'latin1'), undefined],
  ])('refuses %s and does not change the bytes', (_what, bytes, line) => {
    const { project, run, put } = person();
    const file = put(join(project, '.mcp.json'), bytes);
    for (const action of ['init', 'remove'] as const)
      expect(run(action, 'claude-code')).toMatchObject([
        { ok: false, file, ...(line === undefined ? {} : { line }) },
      ]);
    expect(readFileSync(file)).toEqual(Buffer.from(bytes));
    expect(readdirSync(project)).toEqual(['.mcp.json']);
  });

  it.each<[ClientName, string, string]>([
    ['claude-code', '.mcp.json', '{"mcpServers": []}'],
    ['codex', '.codex/config.toml', 'mcp_servers = { fs = { command = "x" } }\n'],
  ])('refuses a form that cannot be edited and shows what to add: %s', (client, name, text) => {
    const { project, run, put } = person();
    const file = put(join(project, name), text);
    const byHand = expect.stringContaining('"lookfirst", "serve"');
    expect(run('init', client, { scope: 'project' })).toMatchObject([{ ok: false, file, byHand }]);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('refuses a folder in place of the file, and a scope that the client does not have', () => {
    const { project, run } = person();
    mkdirSync(join(project, '.mcp.json'));
    expect(run('init', 'claude-code')).toMatchObject([{ ok: false, reason: 'it is not a file' }]);
    expect(run('init', 'claude-desktop', { scope: 'project' })).toMatchObject([{ ok: false }]);
  });
});

describe('an entry of ours', () => {
  it.each<[string, ClientName, string, string]>([
    [
      'with a flag',
      'claude-code',
      '.mcp.json',
      '{"mcpServers":{"lookfirst":{"command":"npx","args":["-y","lookfirst","serve",".","--read-only"]}}}',
    ],
    [
      'of one version',
      'claude-code',
      '.mcp.json',
      '{"mcpServers":{"lookfirst":{"command":"npx","args":["-y","lookfirst@0.1.0","serve","."]}}}',
    ],
    [
      'from a checkout',
      'vscode',
      '.vscode/mcp.json',
      '{"servers":{"lookfirst":{"command":"node","args":["/src/lookfirst/dist/bin/lookfirst.js","/a"]}}}',
    ],
    [
      'in one list',
      'opencode',
      'opencode.json',
      '{"mcp":{"lookfirst":{"type":"local","command":["npx","-y","lookfirst","--dialect","filesystem","."]}}}',
    ],
    [
      'in a table',
      'codex',
      '.codex/config.toml',
      '[mcp_servers.lookfirst]\ncommand = "npx"\nargs = ["-y", "lookfirst", "serve", ".", "/b"]\n',
    ],
  ])('that the user has changed (%s) is not overwritten', (_what, client, name, text) => {
    const { project, run, put } = person();
    const file = put(join(project, name), text);
    const scope = 'project';
    expect(run('init', client, { scope })).toMatchObject([
      { ok: false, file, reason: expect.stringContaining('arguments that the user added') },
    ]);
    expect(readFileSync(file, 'utf8')).toBe(text);
    run('remove', client, { scope });
    if (existsSync(file)) expect(readFileSync(file, 'utf8')).not.toContain('lookfirst');
  });

  it.each<[string, string, boolean]>([
    ['ours', '"npx","args":["-y","lookfirst","serve","."]', false],
    ['ours of one version', '"cmd","args":["/c","npx","-y","lookfirst@1","."]', false],
    ['ours from a checkout', '"node","args":["--x","/src/lookfirst/dist/bin/lookfirst.js"]', false],
    ['ours, installed', '"/usr/bin/lookfirst","args":[]', false],
    ['another on a folder of our name', '"npx","args":["-y","other","/home/me/lookfirst"]', true],
  ])('gets no proxy before it: %s', (_what, command, isWrapped) => {
    const { project, run, put } = person();
    const text = `{"mcpServers":{"fs":{"command":${command}}}}`;
    const file = put(join(project, '.mcp.json'), text);
    expect(run('init', 'claude-code', { proxy: 'fs' })).toMatchObject([{ ok: isWrapped }]);
    expect(readFileSync(file, 'utf8') !== text).toBe(isWrapped);
  });
});

describe('a file that cannot be edited', () => {
  it('is refused if its owner has made it read-only, although a rename would succeed', () => {
    const { project, run, put } = person();
    const file = put(join(project, '.mcp.json'), '{}');
    chmodSync(file, 0o444);
    expect(run('init', 'claude-code')).toMatchObject([{ ok: false, file, reason: 'it is read-only' }]);
    expect(run('init', 'claude-code', { dryRun: true })).toMatchObject([{ ok: false }]);
    expect(readFileSync(file, 'utf8')).toBe('{}');
  });

  it('may be read-only if it needs no change', () => {
    const { project, run, put } = person();
    run('init', 'claude-code');
    const file = put(join(project, '.mcp.json'), readFileSync(join(project, '.mcp.json')));
    chmodSync(file, 0o444);
    expect(run('init', 'claude-code')).toMatchObject([{ ok: true, did: 'nothing' }]);
  });

  it('is a fault with the reason', () => {
    const { project, run, put } = person();
    symlinkSync('.mcp.json', join(project, '.mcp.json'));
    expect(() => run('init', 'claude-code')).toThrow(
      /^cannot read .*\.mcp\.json \(ELOOP: its links lead back to themselves\)$/,
    );
    put(join(project, '.cursor'), 'a file');
    expect(() => run('init', 'cursor', { scope: 'project' })).toThrow(/ \(ENOTDIR\)$/);
    mkdirSync(join(project, '.vscode'));
    chmodSync(join(project, '.vscode'), 0o555);
    chmodSync(project, 0o755);
    chmodSync(dirname(project), 0o755);
    expect(() => asNobody(() => run('init', 'vscode'))).toThrow(
      /^cannot write .* \(EACCES: give this user the permission\)$/,
    );
  });
});

describe('writeConfig', () => {
  it('keeps the mode, and writes through a link', () => {
    const { project, run, put } = person();
    const real = put(join(project, 'dotfiles', 'mcp.json'), '{}');
    chmodSync(real, 0o600);
    const link = join(project, '.mcp.json');
    symlinkSync(join('dotfiles', 'mcp.json'), link);
    run('init', 'claude-code');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(statSync(real).mode & 0o777).toBe(0o600);
    expect(readFileSync(real, 'utf8')).toContain('lookfirst');
    run('remove', 'claude-code');
    expect(readFileSync(real, 'utf8')).toBe('{}');
  });

  it('creates what a dangling link points to', () => {
    const { project, run } = person();
    symlinkSync('real.json', join(project, '.mcp.json'));
    run('init', 'claude-code');
    expect(readFileSync(join(project, 'real.json'), 'utf8')).toContain('lookfirst');
  });

  it('does nothing to a file that changed since it was read', () => {
    const { project, put } = person();
    const path = put(join(project, 'a.json'), '{}');
    const file = readConfig(path);
    if ('reason' in file) return expect.unreachable();
    put(path, '{"new": 1}');
    expect(writeConfig(file, '{"mine": 1}')).toBe(false);
    expect(writeConfig(file, undefined)).toBe(false);
    expect(readFileSync(path, 'utf8')).toBe('{"new": 1}');
    expect(readdirSync(project)).toEqual(['a.json']);
  });

  it('does not overwrite a file that appeared since', () => {
    const { project, put } = person();
    const file = readConfig(join(project, 'a.json'));
    if ('reason' in file) return expect.unreachable();
    put(file.path, 'theirs');
    expect(writeConfig(file, 'mine')).toBe(false);
    expect(readFileSync(file.path, 'utf8')).toBe('theirs');
  });
});

describe('reportText', () => {
  it.each<[Parameters<typeof reportText>, string]>([
    [
      [
        { ok: false, file: '/f', reason: 'it is not valid JSON: x', line: 3 },
        { action: 'init', dryRun: false },
      ],
      'lookfirst: cannot edit /f: it is not valid JSON: x (line 3) [CONFIG_INVALID]\nNothing was changed.\n',
    ],
    [
      [
        { ok: false, file: '/f', reason: 'it is a list', byHand: '{\n  "a": 1\n}\n' },
        { action: 'init', dryRun: false },
      ],
      'lookfirst: cannot edit /f: it is a list [CONFIG_INVALID]\nNothing was changed. To do it by hand, add:\n{\n  "a": 1\n}\n',
    ],
    [
      [
        { ok: false, reason: 'Zed has no hooks' },
        { action: 'init', dryRun: false },
      ],
      'lookfirst: Zed has no hooks [INVALID_ARGUMENT]\nNothing was changed.\n',
    ],
    [
      [
        { ok: true, file: '/f', did: 'nothing', diff: '', next: 'N' },
        { action: 'init', dryRun: false },
      ],
      'nothing to do in /f: it already has the entries of Lookfirst\n',
    ],
    [
      [
        { ok: true, file: '/f', did: 'change', diff: '+x', next: 'N' },
        { action: 'init', dryRun: true },
      ],
      'would change /f\n+x\n',
    ],
    [
      [
        { ok: true, file: '/f', did: 'create', diff: '+x', next: 'N' },
        { action: 'init', dryRun: false },
      ],
      'created /f\n',
    ],
    [
      [
        { ok: true, file: '/f', did: 'delete', diff: '-x', next: 'N' },
        { action: 'remove', dryRun: false },
      ],
      'deleted /f\n',
    ],
  ])('%j', (args, expected) => {
    expect(reportText(...args)).toBe(expected);
  });
});
