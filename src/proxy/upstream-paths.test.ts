import { describe, expect, it } from 'vitest';
import { OFFICIAL_FILESYSTEM, SERENA } from '../dialect/calls/servers/known-servers.ts';
import { completeTable } from '../dialect/calls/user-table.ts';
import { folderOf, keepsFolder } from './upstream-paths.ts';

const ANOTHER = completeTable({
  id: 'fast',
  serverNames: ['fast-filesystem-mcp'],
  relativeTo: 'cwd',
  tools: {},
});

const launch = (line: string) => {
  const [command = '', ...args] = line.split(' ');
  return { command, args, cwd: '/cwd' };
};

describe('the folder on the command line of the official server', () => {
  it.each([
    ['npx -y @modelcontextprotocol/server-filesystem /r /s', '/r'],
    ['npx -y @modelcontextprotocol/server-filesystem@2025.8.21 .', '/cwd'],
    ['/usr/bin/node /x/@modelcontextprotocol/server-filesystem/dist/index.js sub', '/cwd/sub'],
    ['mcp-server-filesystem /r/', '/r'],
    ['bunx mcp-server-filesystem /r', '/r'],
  ])('%s', (line, folder) => {
    expect(folderOf(launch(line), OFFICIAL_FILESYSTEM)).toBe(folder);
  });
});

describe('the folder is unknown', () => {
  it.each([
    ['from a shell', 'sh -c server-filesystem /r'],
    ['from a container', 'docker run -i --rm mcp/filesystem /r'],
    ['from a program of another name', 'node /x/server-filesystem/wrapper.js /r'],
    ['behind another word', 'npx -p something server-filesystem /r'],
    ['without a folder', 'npx -y @modelcontextprotocol/server-filesystem'],
    ['where an option stands in its place', 'mcp-server-filesystem --verbose /r'],
    ['below a home that is the server’s', 'mcp-server-filesystem ~/r'],
    ['where it is started elsewhere', 'npx --prefix=/x server-filesystem .'],
  ])('%s', (_what, line) => {
    expect(folderOf(launch(line), OFFICIAL_FILESYSTEM)).toBeUndefined();
  });

  it('for a server whose command line does not name it', () => {
    expect(folderOf(launch('npx fast-filesystem-mcp /r'), ANOTHER)).toBeUndefined();
  });
});

it.each([
  ['uvx --from x serena start-mcp-server --project /r', '/r'],
  ['uv run --directory /opt serena start-mcp-server --project=/r', '/r'],
  ['uvx serena start-mcp-server --project name', undefined],
  ['uvx serena start-mcp-server', undefined],
  ['uvx serena --project /r --project /s', undefined],
  ['docker run serena --project /r', undefined],
])('the folder as an option: %s', (line, folder) => {
  expect(folderOf(launch(line), SERENA)).toBe(folder);
});

it.each([
  ['npx -y fast-filesystem-mcp', true],
  ['/x/bin/fast-filesystem-mcp /r', true],
  ['node.exe server.js', true],
  ['sh -c fast-filesystem-mcp', false],
  ['env -C /x fast-filesystem-mcp', false],
  ['uvx --directory /x fast-filesystem-mcp', false],
  ['./start.sh', false],
])('works where it is started: %s %s', (line, keeps) => {
  expect(keepsFolder(launch(line), ANOTHER)).toBe(keeps);
});
