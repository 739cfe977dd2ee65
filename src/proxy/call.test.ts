import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { ALL_SERVERS } from '../../test/support/server-tables.ts';
import { completeTable, type UserTable } from '../dialect/calls/user-table.ts';
import { readProxyCall } from './call.ts';
import { Catalogue } from './catalogue.ts';
import { isRemote } from './upstream-paths.ts';

/** Returns the function that rewrites a call's arguments as the proxy does for a server with this name. */
function server(
  name: string,
  { url, tables = [] }: { readonly url?: string; readonly tables?: readonly UserTable[] } = {},
) {
  const catalogue = new Catalogue(ALL_SERVERS, tables.map(completeTable));
  catalogue.sawServer({ serverInfo: { name } });
  const where = { root: '/ours', cwd: '/cwd', remote: url !== undefined && isRemote(url) };
  return (tool: string, args: object) => {
    const message = { id: 1, params: { name: tool, arguments: args } };
    const settings = { quotes: 'off', catalogue, where } as const;
    return readProxyCall(settings, { id: '1', message }).args;
  };
}

const official = server('secure-filesystem-server');

describe('a path is forwarded as it was judged', () => {
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
    expect(official(tool, args)).toEqual(expected);
  });

  it('may have the path in each item of a list', () => {
    const call = server('filesystem-mcp');
    const files = [
      { path: 'a', content: 'a' },
      { path: '/ours/b', content: '' },
    ];
    expect(call('create', { files })).toEqual({ files: [{ path: '/ours/a', content: 'a' }, files[1]] });
  });
});

describe('a path is forwarded unchanged', () => {
  it.each([
    ['on another machine', server('fast-filesystem', { url: 'http://far/mcp' }), 'fast_read_file'],
    ['to a tool that no table describes', official, 'frobnicate'],
    [
      'to a server that accepts only relative paths',
      server('mine', {
        tables: [{ id: 'mine', onlyRelative: true, tools: { get: [{ does: 'look', path: 'path' }] } }],
      }),
      'get',
    ],
  ])('%s', (_what, call, tool) => {
    expect(call(tool, { path: 'a' })).toEqual({ path: 'a' });
  });

  it('if it may be a name', () => {
    expect(server('serena')('activate_project', { project: 'a' })).toEqual({ project: 'a' });
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
    const call = server('fast-filesystem', { url: `http://${host}:1/mcp` });
    expect(call('fast_read_file', { path: 'a' })).toEqual({ path });
  });

  it("for a user's own server", () => {
    const tables: UserTable[] = [{ id: 'mine', tools: { get: [{ does: 'look', path: 'path' }] } }];
    expect(server('mine', { tables })('get', { path: 'a' })).toEqual({ path: '/ours/a' });
  });
});

describe('a call whose argument is JSON text', () => {
  it('gets the judged path inside the text', () => {
    expect(official('read_multiple_files', { paths: '["a","/ours/b"]' })).toEqual({
      paths: '["/ours/a","/ours/b"]',
    });
  });
});
