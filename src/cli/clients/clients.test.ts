import { describe, expect, it } from 'vitest';
import {
  addServer,
  removeServer,
  textOf,
  valuesAfter,
  wrapServer,
} from '../../../test/support/config-edits.ts';
import { CLIENT_NAMES, type ClientPlaces, type ConfigScope } from './client.ts';
import { CLIENTS, configurationFor, readyConfigurations } from './clients.ts';
import { HOOK_SETTINGS } from './hook-settings.ts';
import { proxyLaunch, serveLaunch } from './launch.ts';
import { newFile } from './servers.ts';

const linux: ClientPlaces = { platform: 'linux', home: '/home/ann', project: '/repo', env: {} };
const mac: ClientPlaces = { platform: 'darwin', home: '/Users/ann', project: '/repo', env: {} };
const windows: ClientPlaces = {
  platform: 'win32',
  home: 'C:\\Users\\ann',
  project: 'C:\\repo',
  env: { APPDATA: 'C:\\Users\\ann\\AppData\\Roaming' },
};

describe.each(CLIENT_NAMES)('%s', (name) => {
  const client = CLIENTS[name];
  const sample = client.format === 'json' ? '// mine\n{\n  "x": [1, 2], // y\n}\n' : '# mine\nx = 1 # y\n';

  it('is found by its name', () => {
    expect(client.name).toBe(name);
    expect(client.name).toBe(name);
  });

  it('has a file in its default scope on every platform', () => {
    for (const places of [linux, mac, windows]) {
      const [file = ''] = client.files(client.defaultScope, places);
      expect(file.startsWith(places.home) || file.startsWith(places.project)).toBe(true);
      expect(file.includes(places.platform === 'win32' ? '/' : '\\')).toBe(false);
    }
  });

  it.each(['linux', 'win32'] as const)(
    'is added, stays on a second init, and is removed with nothing else on %s',
    (platform) => {
      const entry = client.entry(serveLaunch('/re po', platform));
      for (const before of [
        undefined,
        '',
        '\n',
        sample,
        sample.replaceAll('\n', '\r\n'),
        `\ufeff${sample}`,
      ]) {
        const added = textOf(addServer(client, before, entry)) ?? '';
        expect(added).toContain('lookfirst');
        expect(added.includes('"/c"')).toBe(platform === 'win32');
        expect(textOf(addServer(client, added, entry))).toBe(added);
        expect(valuesAfter(client, textOf(removeServer(client, added)))).toEqual(valuesAfter(client, before));
      }
    },
  );

  it('loses its proxy together with its entry', () => {
    const own = client.entry(serveLaunch('/repo', 'linux'));
    const other = newFile(client, client.entry({ command: 'server', args: ['a'] })).replace(
      'lookfirst',
      'fs',
    );
    const wrapped = textOf(wrapServer(client, other, { name: 'fs', prefix: proxyLaunch('/repo', 'linux') }));
    expect(wrapped).toContain('proxy');
    const both = textOf(addServer(client, wrapped, own)) ?? '';
    expect(valuesAfter(client, textOf(removeServer(client, both)))).toEqual(valuesAfter(client, other));
  });

  it('refuses a broken file and says where', () => {
    const broken = `${sample}\n}}`;
    for (const edited of [
      addServer(client, broken, client.entry(serveLaunch('/r', 'linux'))),
      removeServer(client, broken),
    ])
      expect(edited).toEqual({
        ok: false,
        reason: expect.stringContaining('not valid'),
        line: expect.any(Number),
        byHand: true,
      });
  });

  it('has a configuration to paste, which is what init would write', () => {
    const ready = configurationFor(name, { dir: '/repo', platform: 'linux' });
    expect(ready.text).toBe(
      textOf(addServer(client, undefined, client.entry(serveLaunch('/repo', 'linux')))),
    );
    expect(ready.file).toMatch(/^~\//);
    expect(configurationFor(name, { dir: 'C:\\repo', platform: 'win32' }).file).toMatch(/^%\w+%\\/);
  });
});

describe('the paths of configuration files', () => {
  it.each<[(typeof CLIENT_NAMES)[number], ConfigScope, string, string, string]>([
    [
      'claude-code',
      'user',
      '/home/ann/.claude.json',
      '/Users/ann/.claude.json',
      'C:\\Users\\ann\\.claude.json',
    ],
    ['claude-code', 'project', '/repo/.mcp.json', '/repo/.mcp.json', 'C:\\repo\\.mcp.json'],
    [
      'claude-desktop',
      'user',
      '/home/ann/.config/Claude/claude_desktop_config.json',
      '/Users/ann/Library/Application Support/Claude/claude_desktop_config.json',
      'C:\\Users\\ann\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
    ],
    [
      'codex',
      'user',
      '/home/ann/.codex/config.toml',
      '/Users/ann/.codex/config.toml',
      'C:\\Users\\ann\\.codex\\config.toml',
    ],
    [
      'codex',
      'project',
      '/repo/.codex/config.toml',
      '/repo/.codex/config.toml',
      'C:\\repo\\.codex\\config.toml',
    ],
    [
      'gemini',
      'user',
      '/home/ann/.gemini/settings.json',
      '/Users/ann/.gemini/settings.json',
      'C:\\Users\\ann\\.gemini\\settings.json',
    ],
    [
      'cursor',
      'user',
      '/home/ann/.cursor/mcp.json',
      '/Users/ann/.cursor/mcp.json',
      'C:\\Users\\ann\\.cursor\\mcp.json',
    ],
    [
      'vscode',
      'user',
      '/home/ann/.config/Code/User/mcp.json',
      '/Users/ann/Library/Application Support/Code/User/mcp.json',
      'C:\\Users\\ann\\AppData\\Roaming\\Code\\User\\mcp.json',
    ],
    ['vscode', 'project', '/repo/.vscode/mcp.json', '/repo/.vscode/mcp.json', 'C:\\repo\\.vscode\\mcp.json'],
    [
      'zed',
      'user',
      '/home/ann/.config/zed/settings.json',
      '/Users/ann/.config/zed/settings.json',
      'C:\\Users\\ann\\AppData\\Roaming\\Zed\\settings.json',
    ],
    [
      'opencode',
      'user',
      '/home/ann/.config/opencode/opencode.json',
      '/Users/ann/.config/opencode/opencode.json',
      'C:\\Users\\ann\\.config\\opencode\\opencode.json',
    ],
  ])('%s, %s', (name, scope, onLinux, onMac, onWindows) => {
    const files = [linux, mac, windows].map((places) => CLIENTS[name].files(scope, places)[0]);
    expect(files).toEqual([onLinux, onMac, onWindows]);
  });

  it('follows CODEX_HOME and XDG_CONFIG_HOME', () => {
    const env = { CODEX_HOME: '/c', XDG_CONFIG_HOME: '/x' };
    expect(CLIENTS.codex.files('user', { ...linux, env })).toEqual(['/c/config.toml']);
    expect(CLIENTS.zed.files('user', { ...linux, env })).toEqual(['/x/zed/settings.json']);
    expect(CLIENTS.vscode.files('user', { ...linux, env })).toEqual(['/x/Code/User/mcp.json']);
  });

  it('follows CLAUDE_CONFIG_DIR and GEMINI_CLI_HOME, for servers and hooks', () => {
    const env = { CLAUDE_CONFIG_DIR: '/c', GEMINI_CLI_HOME: '/g' };
    const files = (name: 'claude-code' | 'gemini', places: ClientPlaces) => [
      ...CLIENTS[name].files('user', places),
      HOOK_SETTINGS[name]?.file('user', places),
    ];
    expect(files('claude-code', { ...linux, env })).toEqual(['/c/.claude.json', '/c/settings.json']);
    expect(files('gemini', { ...linux, env })).toEqual(Array(2).fill('/g/.gemini/settings.json'));
    expect(files('claude-code', { ...linux, env: { CLAUDE_CONFIG_DIR: '' } })).toEqual([
      '/home/ann/.claude.json',
      '/home/ann/.claude/settings.json',
    ]);
  });

  it('Claude Desktop has no project files', () => {
    expect(CLIENTS['claude-desktop'].files('project', linux)).toEqual([]);
  });
});

describe('configurationFor', () => {
  it.each(CLIENT_NAMES)('%s: the printed text', (name) => {
    const options = { dir: '/repo', platform: 'linux' } as const;
    const http = { url: 'http://127.0.0.1:7007/mcp', token: 'TOKEN' };
    const windowsText = configurationFor(name, { dir: 'C:\\repo', platform: 'win32' });
    expect(
      [configurationFor(name, options), configurationFor(name, { ...options, http }), windowsText]
        .map(({ title, file, text }) => `${title}: ${file}\n${text}`)
        .join('\n'),
    ).toMatchSnapshot();
  });

  it('never writes a token into a file whose client refuses it', () => {
    const http = { url: 'http://127.0.0.1:7007/mcp', token: 's3cret' };
    const { text } = configurationFor('codex', { dir: '/repo', platform: 'linux', http });
    expect(text).not.toContain('s3cret');
    expect(text).toContain('bearer_token_env_var = "LOOKFIRST_TOKEN"');
  });
});

describe('readyConfigurations', () => {
  const options = { dir: '/repo', http: { url: 'http://127.0.0.1:1/mcp', token: 'T' } };
  const clone = ['/usr/bin/node', '/clone/dist/bin/lookfirst.js'];

  it('shows Claude Desktop once, with the command that init writes', () => {
    const [connect = '', start = ''] = readyConfigurations({ ...options, self: clone }).split(
      'start its own',
    );
    expect(connect).not.toContain('Claude Desktop, in');
    expect(start.match(/Claude Desktop, in/g)).toHaveLength(1);
    expect(JSON.parse(start.slice(start.indexOf('{'))).mcpServers.lookfirst).toEqual({
      command: clone[0],
      args: [clone[1], 'serve', '/repo'],
    });
  });

  it('uses npx for an installed package, also on Windows', () => {
    const text = readyConfigurations({ ...options, self: ['node', '/x/node_modules/lookfirst/dist/bin.js'] });
    expect(text).toContain('["-y", "lookfirst", "serve", "/repo"]');
    expect(text).toMatch(/on Windows:.*"cmd"/s);
    expect(text).not.toContain('node_modules');
  });
});
