import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textOf, unwrapServer, valuesAfter, wrapServer } from '../../../test/support/config-edits.ts';
import type { Client } from './client.ts';
import { CLIENTS } from './clients.ts';
import { proxyLaunch, proxyWords } from './launch.ts';

const PREFIX = proxyLaunch('/repo', 'linux');
const PROXY = '"-y", "lookfirst", "proxy", "--root", "/repo", "--"';

/** The values of a file; an empty list of arguments counts as none, because unwrapping removes it. */
function commands(client: Client, text: string | undefined): unknown {
  return JSON.parse(JSON.stringify(valuesAfter(client, text)).replaceAll(/"args":\[\],|,"args":\[\]/g, ''));
}

const { cursor, codex, opencode } = CLIENTS;

describe('wrapServer', () => {
  it.each([
    [
      'a command with arguments',
      cursor,
      '{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "server", "/d"]}}}',
      `{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "lookfirst", "proxy", "--root", "/repo", "--", "npx", "-y", "server", "/d"]}}}`,
    ],
    [
      'a command without arguments',
      cursor,
      '{"mcpServers": {"fs": {"command": "server", "env": {}}}}',
      `{"mcpServers": {"fs": {"args": [${PROXY}, "server"],"command": "npx", "env": {}}}}`,
    ],
    [
      'arguments over lines, with a comment',
      cursor,
      '{"mcpServers": {"fs": {\n  "args": [\n    "a" // first\n  ],\n  "command": "x\\ty"\n}}}',
      `{"mcpServers": {"fs": {\n  "args": [\n    ${PROXY}, "x\\ty",\n    "a" // first\n  ],\n  "command": "npx"\n}}}`,
    ],
    [
      'one list with both',
      opencode,
      '{"mcp": {"fs": {"type": "local", "command": ["npx", "-y", "server"]}}}',
      `{"mcp": {"fs": {"type": "local", "command": ["npx", ${PROXY}, "npx", "-y", "server"]}}}`,
    ],
    [
      'a TOML table',
      codex,
      "[mcp_servers.fs]\ncommand = 'C:\\server' # x\nargs = []\n",
      `[mcp_servers.fs]\ncommand = "npx" # x\nargs = [${PROXY}, "C:\\\\server"]\n`,
    ],
    [
      'a TOML table without arguments',
      codex,
      '[mcp_servers.fs]\ncommand = "server" # x\nenv = {}\n',
      `[mcp_servers.fs]\nargs = [${PROXY}, "server"]\ncommand = "npx" # x\nenv = {}\n`,
    ],
  ] as const)('%s, and back', (_what, client, before, after) => {
    expect(textOf(wrapServer(client, before, { name: 'fs', prefix: PREFIX }))).toBe(after);
    for (const name of ['fs', undefined])
      expect(commands(client, textOf(unwrapServer(client, after, name)))).toEqual(commands(client, before));
    expect(textOf(unwrapServer(client, after, 'other'))).toBe(after);
  });

  it('changes nothing the second time, and updates the folder', () => {
    const before = '{"mcpServers": {"fs": {"command": "x", "args": ["a"]}}}';
    const once = textOf(wrapServer(cursor, before, { name: 'fs', prefix: PREFIX }));
    expect(textOf(wrapServer(cursor, once, { name: 'fs', prefix: PREFIX }))).toBe(once);
    const moved = textOf(wrapServer(cursor, once, { name: 'fs', prefix: proxyLaunch('/other', 'win32') }));
    expect(moved).toContain('"/other"');
    expect(moved).not.toContain('"/repo"');
    expect(textOf(unwrapServer(cursor, moved, 'fs'))).toBe(before);
  });

  it.each([
    ['a server that is not there', cursor, '{"mcpServers": {}}'],
    ['no servers at all', cursor, '{}'],
    ['a remote server', cursor, '{"mcpServers": {"fs": {"url": "https://x"}}}'],
    ['a command that is an object', CLIENTS.zed, '{"context_servers": {"fs": {"command": {"path": "x"}}}}'],
    ['arguments that are no list', cursor, '{"mcpServers": {"fs": {"command": "x", "args": "y"}}}'],
    ['a table that is not there', codex, '[mcp_servers.other]\ncommand = "x"\n'],
    ['a remote table', codex, '[mcp_servers.fs]\nurl = "https://x"\n'],
    ['a dotted table', codex, '[mcp_servers]\nfs.command = "x"\n'],
  ])('refuses %s', (_what, client, text) => {
    expect(wrapServer(client, text, { name: 'fs', prefix: PREFIX })).toMatchObject({ ok: false });
  });

  const gap = fc.constantFrom('', ' ', '\n    ', '\r\n\t');
  const word = fc.constantFrom('"x"', '"--"', '"a b"', '"\\u00e9"', '"npx"', '"-y"');
  const list = fc
    .tuple(fc.array(fc.tuple(gap, word, gap), { maxLength: 4 }), gap, fc.boolean())
    .map(([words, end, comma]) => {
      const body = words.map((parts) => parts.join('')).join(',');
      return `[${body}${comma && words.length > 0 ? ',' : ''}${end}]`;
    });

  it('unwrapping restores the former command: JSON', () => {
    fc.assert(
      fc.property(word, fc.option(list), gap, fc.boolean(), (command, args, space, first) => {
        const [c, a] = [`"command":${space}${command}`, `"args":${space}${args}`];
        const members = args === null ? [c] : first ? [c, a] : [a, c];
        const before = `{"mcpServers": {"fs": {${space}${members.join(`,${space}`)}${space}}}}`;
        const wrapped = textOf(wrapServer(cursor, before, { name: 'fs', prefix: PREFIX }));
        expect(JSON.parse(wrapped.replace(/,(?=\s*\])/g, '')).mcpServers.fs.args.slice(0, 7)).toEqual([
          ...PREFIX.args,
          JSON.parse(command),
        ]);
        expect(commands(cursor, textOf(unwrapServer(cursor, wrapped, undefined)))).toEqual(
          commands(cursor, before),
        );
      }),
    );
  });

  it('unwrapping restores the former command: TOML and one list', () => {
    fc.assert(
      fc.property(word, fc.option(list), fc.constantFrom('\n', '\r\n'), (command, args, eol) => {
        const lines = [
          '[mcp_servers.fs]',
          `command = ${command} # c`,
          ...(args === null ? [] : [`args = ${args}`]),
          'a = 1',
        ];
        const before = lines.join(eol);
        const wrapped = textOf(wrapServer(codex, before, { name: 'fs', prefix: PREFIX }));
        expect(wrapped).not.toBe(before);
        expect(commands(codex, textOf(unwrapServer(codex, wrapped, undefined)))).toEqual(
          commands(codex, before),
        );
      }),
    );
    fc.assert(
      fc.property(word, list, (command, rest) => {
        const before = `{"mcp": {"fs": {"command": [${command}, ${rest.slice(1)}}}}`;
        const valid = rest.trim().length > 2 && /"/.test(rest);
        fc.pre(valid);
        const wrapped = textOf(wrapServer(opencode, before, { name: 'fs', prefix: PREFIX }));
        expect(wrapped).not.toBe(before);
        expect(commands(opencode, textOf(unwrapServer(opencode, wrapped, undefined)))).toEqual(
          commands(opencode, before),
        );
      }),
    );
  });
});

describe('proxyWords', () => {
  it.each<[string, number]>([
    ['npx -y lookfirst proxy --root /d -- server', 7],
    ['cmd /c npx -y lookfirst proxy --root /d --preset strict -- server --', 11],
    ['/usr/bin/node /usr/local/bin/lookfirst proxy --root /d -- server', 6],
    ['npx -y lookfirst proxy --root /d --', 0],
    ['npx -y lookfirst proxy --root /d', 0],
    ['npx -y lookfirst serve /d', 0],
    ['npx -y other proxy -- server', 0],
    ['server -- npx -y lookfirst proxy -- x', 0],
    ['', 0],
  ])('%s', (line, count) => {
    expect(proxyWords(line.split(' '))).toBe(count);
  });
});
