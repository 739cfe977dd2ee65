import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../../test/support/tree.ts';
import type { ClientName } from './client.ts';
import { CLIENTS } from './clients.ts';
import { configureClient } from './configure.ts';
import { FormerFiles } from './former.ts';
import { hookFiles } from './hook-files.ts';
import type { ConfigureRequest } from './plan.ts';

interface Bench {
  readonly file: string;
  readonly home: string;
  run(action: 'init' | 'remove', more?: Partial<ConfigureRequest>): void;
}

/**
 * A project in which Claude Code's file has this text. If `text` is undefined, there is no file.
 */
function bench(text: string | undefined): Bench {
  const { root, home } = scratch();
  const file = join(root, '.mcp.json');
  mkdirSync(dirname(file), { recursive: true });
  if (text !== undefined) writeFileSync(file, text);
  const places = { platform: process.platform, env: {}, home: root, project: root };
  const base = {
    client: CLIENTS['claude-code'],
    places,
    dir: root,
    scope: 'project',
    dryRun: false,
    files: hookFiles(home),
  } as const;
  return {
    file,
    home,
    run: (action, more = {}) => {
      const reports = configureClient({ ...base, action, former: new FormerFiles(home), ...more });
      expect(reports.every((report) => report.ok)).toBe(true);
    },
  };
}

const ODD = '{ "mcpServers" : { } ,\n\n\t"other":1 }   ';

describe('the former content of a configuration', () => {
  it('is restored byte for byte after several inits, if the file was not changed since', () => {
    const { file, home, run } = bench(ODD);
    run('init');
    run('init', { dir: '/elsewhere' });
    expect(readFileSync(file, 'utf8')).not.toBe(ODD);
    const [kept = ''] = readdirSync(join(home, 'clients'));
    expect(statSync(join(home, 'clients', kept)).mode & 0o777).toBe(0o600);
    run('remove');
    expect(readFileSync(file, 'utf8')).toBe(ODD);
    expect(readdirSync(join(home, 'clients'))).toEqual([]);
  });

  it('is empty if there was no file', () => {
    const { file, run } = bench(undefined);
    run('init');
    run('remove');
    expect(() => readFileSync(file)).toThrow('ENOENT');
  });

  it('is not restored over a later edit: only our entry is removed', () => {
    const { file, run } = bench(ODD);
    run('init');
    const edited = readFileSync(file, 'utf8').replace('"other":1', '"other":2');
    writeFileSync(file, edited);
    run('remove');
    const left = readFileSync(file, 'utf8');
    expect(left).toContain('"other":2');
    expect(left).not.toContain('lookfirst');
  });

  it('includes the folders that init created: they are removed if they are empty', () => {
    const { root, home } = scratch();
    const folder = join(root, '.cursor');
    const places = { platform: process.platform, env: {}, home: join(root, 'user'), project: root };
    const run = (action: 'init' | 'remove', scope: 'project' | 'user') =>
      configureClient({
        ...{ action, client: CLIENTS.cursor, places, dir: root, scope, dryRun: false },
        former: new FormerFiles(home),
        files: hookFiles(home),
      });
    run('init', 'user');
    run('init', 'project');
    writeFileSync(join(folder, 'own.txt'), 'x');
    run('remove', 'user');
    expect(existsSync(join(root, 'user'))).toBe(false);
    run('remove', 'project');
    expect(readdirSync(folder)).toEqual(['own.txt']);
  });

  it('does not include a folder that existed before init', () => {
    const { root, home } = scratch();
    mkdirSync(join(root, '.cursor'));
    const places = { platform: process.platform, env: {}, home: root, project: root };
    for (const action of ['init', 'remove'] as const)
      configureClient({
        ...{ action, client: CLIENTS.cursor, places, dir: root, scope: 'project', dryRun: false },
        former: new FormerFiles(home),
        files: hookFiles(home),
      });
    expect(readdirSync(join(root, '.cursor'))).toEqual([]);
  });

  it('is not kept by a dry run', () => {
    const { home, run } = bench(ODD);
    run('init', { dryRun: true });
    expect(() => readdirSync(join(home, 'clients'))).toThrow('ENOENT');
  });
});

describe('the server and the hooks of a client together', () => {
  const STATE = {
    script: '/s/lookfirst-hook',
    plugin: '/s/lookfirst-opencode.js',
    shell: '/s/lookfirst-shell',
  };

  function user() {
    const { root, home } = scratch();
    const request = {
      places: { platform: 'linux', env: {}, home, project: root },
      dir: root,
      dryRun: false,
    } as const;
    const run = (
      action: 'init' | 'remove',
      client: ClientName,
      more: { readonly only?: boolean; readonly dir?: string; readonly dryRun?: boolean } = {},
    ) =>
      configureClient({
        ...{
          ...request,
          ...more,
          action,
          client: CLIENTS[client],
          former: new FormerFiles(join(home, 'state')),
          files: STATE,
        },
        hooks: { gate: more.only !== true, only: more.only === true, shell: 'images' },
      });
    const put = (name: string, text: string) => {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    };
    const text = (name: string) => readFileSync(join(root, name), 'utf8');
    return { root, run, put, text };
  }

  it.each<[ClientName, string, string]>([
    ['claude-code', '.mcp.json', '.claude/settings.local.json'],
    ['claude-code', '.claude/settings.local.json', '.mcp.json'],
    ['cursor', '.cursor/hooks.json', '.cursor/mcp.json'],
    ['gemini', '.gemini/settings.json', '.mcp.json'],
  ])('%s: a broken %s leaves %s alone, too', (client, broken, other) => {
    const { root, run, put } = user();
    put(broken, '{ "mcpServers": ');
    expect(run('init', client)).toMatchObject([{ ok: false, file: join(root, broken) }]);
    expect(existsSync(join(root, other))).toBe(false);
  });

  it('go into a file beside the one with the server, and both are removed: opencode.jsonc', () => {
    const { root, run, put, text } = user();
    const former = '{\n  // mine\n  "theme": "x"\n}\n';
    put('opencode.jsonc', former);
    run('init', 'opencode');
    expect(text('opencode.json')).toContain('lookfirst-opencode');
    expect(text('opencode.jsonc')).toContain('serve');
    expect(run('init', 'opencode')).toMatchObject([{ did: 'nothing' }, { did: 'nothing' }]);
    run('remove', 'opencode');
    expect(readdirSync(root)).toEqual(['opencode.jsonc']);
    expect(text('opencode.jsonc')).toBe(former);
  });

  it('are not added at all if the second file cannot be written', () => {
    const { root, run } = user();
    mkdirSync(join(root, '.claude'));
    symlinkSync('/proc/none/settings.json', join(root, '.claude/settings.local.json'));
    expect(() => run('init', 'claude-code')).toThrow('cannot write');
    expect(readdirSync(root)).toEqual(['.claude']);
    expect(readdirSync(join(root, '../home/state/clients'))).toEqual([]);
  });

  it('are not added at all if the second file cannot be written: an earlier init and its record stay', () => {
    const { root, run, put, text } = user();
    const records = join(root, '../home/state/clients');
    const recordsNow = () => readdirSync(records).map((name) => readFileSync(join(records, name), 'utf8'));
    put('.mcp.json', ODD);
    run('init', 'claude-code');
    const [server, before] = [text('.mcp.json'), recordsNow()];
    const settings = join(root, '.claude/settings.local.json');
    unlinkSync(settings);
    symlinkSync('/proc/none/settings.json', settings);
    expect(() => run('init', 'claude-code', { dir: '/elsewhere' })).toThrow('cannot write');
    expect(text('.mcp.json')).toBe(server);
    expect(recordsNow()).toEqual(before);
  });

  it('are not removed at all if the second file cannot be written', () => {
    const { root, run, put, text } = user();
    put('.mcp.json', ODD);
    put('.claude/settings.local.json', '{"model": "x"}');
    run('init', 'claude-code');
    const server = text('.mcp.json');
    const settings = join(root, '.claude/settings.local.json');
    // This name is valid, but the longer name of a temporary file beside it is not.
    const long = join(root, 'x'.repeat(250));
    renameSync(settings, long);
    symlinkSync(long, settings);
    expect(() => run('remove', 'claude-code')).toThrow('cannot write');
    expect(text('.mcp.json')).toBe(server);
    renameSync(long, settings);
    run('remove', 'claude-code');
    expect(text('.mcp.json')).toBe(ODD);
    expect(text('.claude/settings.local.json')).toBe('{"model": "x"}');
  });

  it('previews the second change of one file on top of the first', () => {
    const { run } = user();
    expect(run('init', 'gemini', { dryRun: true })).toMatchObject([{ did: 'create' }, { did: 'change' }]);
  });

  it.each<[ClientName, string, string]>([
    ['claude-code', '.claude/settings.local.json', '{"permissions": {"deny": ["Edit"]}}'],
    ['gemini', '.gemini/settings.json', '{"tools": {"exclude": ["replace"]}}'],
    ['opencode', 'opencode.json', '{"permission": {"edit": "deny"}}'],
  ])('%s: remove leaves the tools that the user denied in %s', (client, name, before) => {
    const { run, put, text } = user();
    for (const only of [false, true]) {
      put(name, before);
      run('init', client, { only });
      put(name, `${text(name)}\n`);
      run('remove', client);
      expect(JSON.parse(text(name))).toEqual(JSON.parse(before));
    }
  });

  it('removes the tools that init denied, also after an edit by the user and without a record', () => {
    const { root, run, put, text } = user();
    const name = '.claude/settings.local.json';
    for (const lost of [false, true]) {
      put(name, '{"model": "x"}');
      run('init', 'claude-code', { only: true });
      put(name, text(name).replace('"x"', '"y"'));
      if (lost) rmSync(join(root, '../home/state'), { recursive: true });
      run('remove', 'claude-code');
      expect(JSON.parse(text(name))).toEqual({ model: 'y' });
    }
  });

  it('removes everything after a second init over an edit by the user', () => {
    const { run, put, text } = user();
    put('.mcp.json', '{"mcpServers": {"a": {"command": "x"}}}');
    run('init', 'claude-code');
    put('.mcp.json', text('.mcp.json').replace('"x"', '"y"'));
    run('init', 'claude-code', { dir: '/elsewhere' });
    run('remove', 'claude-code');
    expect(JSON.parse(text('.mcp.json'))).toEqual({ mcpServers: { a: { command: 'y' } } });
  });

  it.each<[ClientName, string, string | undefined]>([
    ['cursor', '.cursor/hooks.json', undefined],
    ['claude-code', '.claude/settings.local.json', '{"mcpServers": {}, "hooks": {}, "permissions": {}}'],
  ])('%s: a second init changes nothing in %s', (client, name, before) => {
    const { run, put, text } = user();
    if (before !== undefined) put(name, before);
    run('init', client);
    const once = text(name);
    expect(run('init', client)).toMatchObject([{ did: 'nothing' }, { did: 'nothing' }]);
    expect(text(name)).toBe(once);
  });

  it('refuses --only if the user allows edits in opencode, and ignores broken files of others on remove', () => {
    const { run, put, text } = user();
    put('opencode.json', '{"permission": {"edit": "ask"}}');
    expect(run('init', 'opencode', { only: true })).toMatchObject([
      { ok: false, reason: 'permission.edit is not "deny"' },
    ]);
    put('.claude/settings.local.json', '{ "broken": ');
    put(
      '.mcp.json',
      '{"mcpServers": {"lookfirst": {"command": "npx", "args": ["-y", "lookfirst", "serve"]}}}',
    );
    expect(run('remove', 'claude-code')).toMatchObject([{ ok: true }]);
    expect(text('.claude/settings.local.json')).toBe('{ "broken": ');
  });
});
