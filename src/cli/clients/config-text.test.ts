import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/rounds.ts';
import { putTomlEntry, removeTomlEntry, tomlEnvironment } from './config-text.ts';
import type { EditedConfig } from './edit.ts';
import { scanToml } from './toml-scan.ts';

const PLACE = { servers: 'mcp_servers', name: 'lookfirst' };
const ENTRY = { command: 'npx', args: ['-y', 'lookfirst', 'serve', '/repo'] };
const BLOCK = '[mcp_servers.lookfirst]\ncommand = "npx"\nargs = ["-y", "lookfirst", "serve", "/repo"]';

function textOf(edited: EditedConfig): string | undefined {
  if (!edited.ok) throw new Error(`${edited.reason} (line ${edited.line})`);
  return edited.text;
}

describe('putTomlEntry', () => {
  it.each<[string, string | undefined, string]>([
    ['no file', undefined, `${BLOCK}\n`],
    ['an empty file', '', BLOCK],
    ['a text', 'model = "x"\n', `model = "x"\n\n${BLOCK}\n`],
    ['a text without final newline', '[a]\nb = 1 # c', `[a]\nb = 1 # c\n\n${BLOCK}`],
    ['CRLF', 'a = 1\r\n', `a = 1\r\n\r\n${BLOCK.replaceAll('\n', '\r\n')}\r\n`],
  ])('%s', (_what, before, after) => {
    expect(textOf(putTomlEntry(before, PLACE, ENTRY))).toBe(after);
  });

  it('scans any number of comments and long strings, and stops if brackets nest too deeply', () => {
    const long = `${'# x\n'.repeat(2_000_000)}a = """${'x'.repeat(8_000_000)}"""\nb = "${'\\\\'.repeat(500_000)}"\n`;
    expect(putTomlEntry(long, PLACE, ENTRY)).toMatchObject({ ok: true });
    const deep = `a = ${'['.repeat(100_000)}${']'.repeat(100_000)}\n`;
    expect(putTomlEntry(deep, PLACE, ENTRY)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('nested too deeply'),
    });
  });

  it('changes nothing the second time, in whatever form the table is written', () => {
    for (const header of [
      '[mcp_servers.lookfirst]',
      '[ mcp_servers . "lookfirst" ] # x',
      "['mcp_servers'.lookfirst]",
    ]) {
      const text = `${header}\nargs = [\n  '-y', # yes\n  "lookfirst", "serve",\n  "/repo",\n]\ncommand = 'npx'\n`;
      expect(textOf(putTomlEntry(text, PLACE, ENTRY))).toBe(text);
    }
  });

  it.each<[string, string, string]>([
    ['nothing', '', 'env = { LOOKFIRST_HOME = "/s" }\n'],
    [
      'a table on one line',
      'env = { A = "1", LOOKFIRST_HOME = "/old" }\n',
      'env = { A = "1", LOOKFIRST_HOME = "/s" }\n',
    ],
    [
      'a table of its own',
      '\n[mcp_servers.lookfirst.env]\nA = "1"\n',
      '\n[mcp_servers.lookfirst.env]\nLOOKFIRST_HOME = "/s"\nA = "1"\n',
    ],
  ])('sets variables in addition to those of the user: %s', (_what, before, after) => {
    const entry = { ...ENTRY, env: { LOOKFIRST_HOME: '/s' } };
    const [header, ...rest] = BLOCK.split('\n');
    const lines = rest.join('\n');
    const put = textOf(putTomlEntry(`${header}\n${lines}\n${before}`, PLACE, entry)) ?? '';
    const expected = before === '' ? `${header}\n${after}${lines}\n` : `${header}\n${lines}\n${after}`;
    expect(put).toBe(expected);
    expect(textOf(putTomlEntry(put, PLACE, entry))).toBe(put);
    expect(tomlEnvironment(put, PLACE).env['LOOKFIRST_HOME']).toBe('/s');
  });

  it('updates its own keys and leaves the other keys unchanged', () => {
    const before =
      '[mcp_servers.lookfirst]\nenabled = true\nargs = ["old"] # mine\n\n[mcp_servers.lookfirst.env]\nA = "1"\n';
    expect(textOf(putTomlEntry(before, PLACE, ENTRY))).toBe(
      '[mcp_servers.lookfirst]\ncommand = "npx"\nenabled = true\nargs = ["-y", "lookfirst", "serve", "/repo"] # mine\n\n[mcp_servers.lookfirst.env]\nA = "1"\n',
    );
  });

  it.each<[string, string, number]>([
    ['an inline table of servers', 'a = 1\nmcp_servers = { fs = { command = "x" } }\n', 2],
    ['an inline entry', '[mcp_servers]\n\nlookfirst = { command = "x" }\n', 3],
    ['a dotted entry', 'mcp_servers.lookfirst.command = "x"\n', 1],
    ['a dotted entry below', '[mcp_servers]\nlookfirst.command = "x"\n', 2],
    ['an array of tables', '\n[[mcp_servers]]\na = 1\n', 2],
  ])('refuses %s and names the line', (_what, text, line) => {
    expect(putTomlEntry(text, PLACE, ENTRY)).toMatchObject({ ok: false, line });
  });

  it.each<[string, string, number]>([
    ['an open string', 'a = 1\nb = "x\n', 2],
    ['an open long string', 'a = """x\n', 1],
    ['an open array', 'a = [1,\n2\n', 1],
    ['an open header', '[a\nb = 1\n', 1],
    ['no value', 'a =\n', 1],
    ['no key', '= 1\n', 1],
    ['two values', 'a = 1 2\n', 1],
    ['JSON', '{\n "mcpServers": {}\n}', 1],
    ['a carriage return alone', 'a = 1\rb = 2\n', 1],
  ])('refuses broken TOML: %s', (_what, text, line) => {
    for (const edited of [putTomlEntry(text, PLACE, ENTRY), removeTomlEntry(text, PLACE)])
      expect(edited).toEqual({ ok: false, reason: expect.stringContaining('not valid TOML'), line });
  });
});

describe('removeTomlEntry', () => {
  it.each<[string, string, string]>([
    [
      'between others',
      `[a]\nb = 1\n\n${BLOCK}\n\n# about c\n[c]\nd = 2\n`,
      '[a]\nb = 1\n\n# about c\n[c]\nd = 2\n',
    ],
    [
      'with tables below it',
      `${BLOCK}\n\n[mcp_servers.lookfirst.env]\nA = "1"\n\n[c]\nd = 2\n`,
      '\n[c]\nd = 2\n',
    ],
    ['nothing there', '[mcp_servers.fs]\ncommand = "x"\n', '[mcp_servers.fs]\ncommand = "x"\n'],
    ['a table of a like name', '[mcp_servers.lookfirst2]\na = 1\n', '[mcp_servers.lookfirst2]\na = 1\n'],
  ])('%s', (_what, before, after) => {
    expect(textOf(removeTomlEntry(before, PLACE))).toBe(after);
  });
});

describe('init and remove', () => {
  const line = fc.constantFrom(
    '',
    '# comment [mcp_servers.lookfirst]',
    'a = 1',
    '  b.c = "x # y" # z',
    "d = 'C:\\path'",
    'e = """\n[mcp_servers.lookfirst]\n"quoted"\n"""',
    "f = '''\n''x'''",
    'g = [1, 2, # three\n  [3],\n]',
    'h = { i = 1, "j" = [true] }',
    'k = 1979-05-27 07:32:00Z',
    '[t]',
    '[[list]]',
    '[mcp_servers.fs]',
    'command = "npx"',
    'args = ["-y", "server"]',
  );
  const text = fc
    .tuple(
      fc.array(line, { maxLength: 8 }),
      fc.constantFrom('\n', '\r\n'),
      fc.constantFrom('', '\n'),
      fc.constantFrom('', '\ufeff'),
    )
    .map(([lines, eol, end, bom]) => bom + (lines.join('\n') + end).replaceAll('\n', eol));

  it('remove restores the former text exactly, for any text', () => {
    fc.assert(
      fc.property(text, (before) => {
        const added = textOf(putTomlEntry(before, PLACE, ENTRY)) ?? '';
        const own = scanToml(added).filter(({ path }) => path.join('.') === 'mcp_servers.lookfirst');
        expect(own).toHaveLength(1);
        expect(textOf(putTomlEntry(added, PLACE, ENTRY))).toBe(added);
        expect(textOf(removeTomlEntry(added, PLACE))).toBe(before);
      }),
      { numRuns: rounds(300, 2000) },
    );
  });

  it('removes the file it created', () => {
    const created = textOf(putTomlEntry(undefined, PLACE, ENTRY)) ?? '';
    expect(textOf(removeTomlEntry(created, PLACE))).toBeUndefined();
  });
});
