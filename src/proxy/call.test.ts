import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { ALL_SERVERS } from '../../test/support/server-tables.ts';
import { completeTable, type UserTable } from '../dialect/calls/user-table.ts';
import { readProxyCall } from './call.ts';
import { Catalogue } from './catalogue.ts';
import { type UpstreamLocation, UpstreamPaths } from './upstream-paths.ts';

const OFFICIAL = 'npx -y @modelcontextprotocol/server-filesystem';

/**
 * Returns functions that rewrite lines and calls as the proxy does for a server with this name and
 * command line.
 */
function server(
  name: string,
  upstream: UpstreamLocation['upstream'] | string,
  tables: readonly UserTable[] = [],
) {
  const catalogue = new Catalogue(ALL_SERVERS, tables.map(completeTable));
  catalogue.sawServer({ serverInfo: { name } });
  const [command = '', ...args] = typeof upstream === 'string' ? upstream.split(' ') : [];
  const reached = typeof upstream === 'string' ? { command, args } : upstream;
  const where = { root: '/ours', rootNames: ['/link'], cwd: '/cwd', upstream: reached };
  const upstreamPaths = new UpstreamPaths(where);
  const call = (tool: string, args: object) => {
    const message = { id: 1, params: { name: tool, arguments: args } };
    const settings = { receipts: false, quotes: 'off', catalogue, where } as const;
    return readProxyCall(settings, upstreamPaths, { id: '1', message }).args;
  };
  return { upstreamPaths, call };
}

const official = (folder: string) => server('secure-filesystem-server', `${OFFICIAL} ${folder}`);

describe('a call with a path that the server may resolve differently', () => {
  it.each([
    ['read_multiple_files', { paths: ['a', '/ours/b', './c'] }, { paths: ['/ours/a', '/ours/b', '/ours/c'] }],
    ['move_file', { source: 'a', destination: 'b' }, { source: '/ours/a', destination: '/ours/b' }],
    ['list_directory', { path: '' }, { path: '/ours' }],
    ['search_files', { path: '', pattern: 'a' }, { path: '', pattern: 'a' }],
    ['read_text_file', { path: 'a', other: 'a' }, { path: '/ours/a', other: 'a' }],
    ['read_text_file', { path: 'file:///ours/a' }, { path: '/ours/a' }],
    ['read_text_file', { path: '/ours/x/../a' }, { path: '/ours/a' }],
    ['read_text_file', { path: '../x' }, { path: '/x' }],
    ['read_text_file', { path: 5 }, { path: 5 }],
  ])('%s %j', (tool, args, expected) => {
    expect(official('/other').call(tool, args)).toEqual(expected);
  });

  it('may have the path in each item of a list', () => {
    const { call } = server('filesystem-mcp', 'npx @j0hanz/filesystem-mcp');
    const files = [
      { path: 'a', content: 'a' },
      { path: '/ours/b', content: '' },
    ];
    expect(call('create', { files })).toEqual({ files: [{ path: '/ours/a', content: 'a' }, files[1]] });
  });
});

describe('a path is forwarded unchanged', () => {
  it.each([
    ['where the server starts at our root', official('/ours').call, 'read_text_file'],
    ['where the server starts at another name of our root', official('/link').call, 'read_text_file'],
    [
      'where the server starts in a known working folder',
      server('fast-filesystem', 'npx fast-filesystem-mcp').call,
      'fast_read_file',
    ],
    ['on another machine', server('fast-filesystem', { url: 'http://far/mcp' }).call, 'fast_read_file'],
    ['to a tool that no table describes', official('/other').call, 'frobnicate'],
    [
      'to a server that accepts only relative paths',
      server('mine', './mine', [
        { id: 'mine', onlyRelative: true, tools: { get: [{ does: 'look', path: 'path' }] } },
      ]).call,
      'get',
    ],
  ])('%s', (_what, call, tool) => {
    expect(call(tool, { path: 'a' })).toEqual({ path: 'a' });
  });

  it('if it may be a name', () => {
    const serena = server('serena', 'uvx serena --project /other');
    expect(serena.call('activate_project', { project: 'a' })).toEqual({ project: 'a' });
  });
});

describe('a path becomes absolute', () => {
  it.each([
    ['127.0.0.1', '/cwd/a'],
    ['[::1]', '/cwd/a'],
    ['localhost', '/cwd/a'],
    [hostname(), '/cwd/a'],
    ['far.example', 'a'],
  ])('for a URL of this machine: %s', (host, path) => {
    const { call } = server('fast-filesystem', { url: `http://${host}:1/mcp` });
    expect(call('fast_read_file', { path: 'a' })).toEqual({ path });
  });

  it("for a user's own server, whose folder is unknown", () => {
    const tables: UserTable[] = [{ id: 'mine', tools: { get: [{ does: 'look', path: 'path' }] } }];
    expect(server('mine', './mine', tables).call('get', { path: 'a' })).toEqual({ path: '/ours/a' });
  });

  it("after the client may have named the server's folders, in both forms of the protocol", () => {
    for (const line of [
      { method: 'initialize', params: { capabilities: { roots: {} } } },
      { params: { _meta: { 'io.modelcontextprotocol/clientCapabilities': { roots: {} } } } },
    ]) {
      const { upstreamPaths, call } = official('/ours');
      upstreamPaths.sawClient({ params: { capabilities: { sampling: {} } } });
      expect([call('read_file', { path: 'a' }), upstreamPaths.version]).toEqual([{ path: 'a' }, 0]);
      upstreamPaths.sawClient(line);
      expect([call('read_file', { path: 'a' }), upstreamPaths.version]).toEqual([{ path: '/ours/a' }, 1]);
    }
  });

  it('after the server was sent to another folder', () => {
    const { upstreamPaths, call } = server('serena', 'uvx serena --project /ours');
    upstreamPaths.sawRoots();
    expect(call('read_file', { relative_path: 'a' })).toEqual({ relative_path: 'a' });
    call('activate_project', { project: 'x' });
    expect(call('read_file', { relative_path: 'a' })).toEqual({ relative_path: '/ours/a' });
  });
});

describe('a call whose argument is JSON text', () => {
  it('gets the judged path inside the text', () => {
    const { call } = official('/other');
    expect(call('read_multiple_files', { paths: '["a","/ours/b"]' })).toEqual({
      paths: '["/ours/a","/ours/b"]',
    });
  });
});
