import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textOf } from '../../../test/support/config-edits.ts';
import { rounds } from '../../../test/support/rounds.ts';
import { type ConfigTable, withoutValue, withValue } from './config-value.ts';
import { CONFIG_SYNTAXES, type EditedConfig, editConfig } from './edit-config.ts';

const ENTRY = { command: 'npx', args: ['-y', 'lookfirst', 'serve', '/repo'] };

const { json, toml } = CONFIG_SYNTAXES;

function put(text: string | undefined, entry: ConfigTable = ENTRY): EditedConfig {
  return editConfig(json, text, (have) => withValue(have, ['mcpServers', 'lookfirst'], entry));
}

function removed(text: string): EditedConfig {
  return editConfig(json, text, (have) => withoutValue(have, ['mcpServers', 'lookfirst'], undefined));
}

describe('a new member in JSON', () => {
  const lines =
    '"lookfirst": {\n      "command": "npx",\n      "args": ["-y", "lookfirst", "serve", "/repo"]\n    }';
  it.each<[string, string | undefined, string]>([
    ['no file', undefined, `{\n  "mcpServers": {\n    ${lines}\n  }\n}\n`],
    ['a blank file', '\n', `{\n  "mcpServers": {\n    ${lines}\n  }\n}\n`],
    ['only a comment', '// note\n', `// note\n{\n  "mcpServers": {\n    ${lines}\n  }\n}\n`],
    ['an empty object', '{}', `{\n  "mcpServers": {\n    ${lines}\n  }\n}`],
    [
      'other servers, over lines',
      '{\n    "mcpServers": {\n        "fs": {}\n    }\n}\n',
      '{\n    "mcpServers": {\n        "lookfirst": {\n            "command": "npx",\n            "args": ["-y", "lookfirst", "serve", "/repo"]\n        },\n        "fs": {}\n    }\n}\n',
    ],
    [
      'other servers, on one line',
      '{ "mcpServers": { "fs": {} } }',
      '{ "mcpServers": { "lookfirst": {"command": "npx", "args": ["-y", "lookfirst", "serve", "/repo"]}, "fs": {} } }',
    ],
    [
      'no servers, tabs and CRLF',
      '{\r\n\t"theme": "x"\r\n}',
      '{\r\n\t"mcpServers": {\r\n\t\t"lookfirst": {\r\n\t\t\t"command": "npx",\r\n\t\t\t"args": ["-y", "lookfirst", "serve", "/repo"]\r\n\t\t}\r\n\t},\r\n\t"theme": "x"\r\n}',
    ],
    [
      'a comment that speaks of the object',
      '{\n  "mcpServers": { // mine\n    "fs": {} // fs\n  }\n}',
      `{\n  "mcpServers": { // mine\n    ${lines},\n    "fs": {} // fs\n  }\n}`,
    ],
    [
      'comments in an empty object',
      '{ // a\n  // b\n}',
      `{ // a\n  "mcpServers": {\n    ${lines}\n  }\n  // b\n}`,
    ],
  ])('%s', (_what, before, after) => {
    expect(textOf(put(before))).toBe(after);
  });

  it('updates one value and keeps comments and the keys of the user', () => {
    const before =
      '{"mcpServers": {"lookfirst": {\n  "command": "npx", // keep\n  "args": ["-y", "lookfirst", "serve", "/old"],\n  "env": {"A": "1"}\n}}}';
    expect(textOf(put(before, { ...ENTRY, env: { A: '1' } }))).toBe(before.replace('/old', '/repo'));
  });

  it.each([
    ['a broken value', '{\n  "a": 1,\n  "b": \n}', 4],
    ['a list', '[]', 1],
    ['a text after the end', '{}\n}', 2],
  ])('refuses %s and names the line', (_what, text, line) => {
    expect(put(text)).toMatchObject({ ok: false, line, byHand: true });
  });

  it('refuses brackets that nest too deeply', () => {
    const deep = `{"a": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(put(deep)).toMatchObject({ ok: false, reason: expect.stringContaining('nested too deeply') });
  });
});

describe('removing a member from JSON', () => {
  it.each<[string, string, string]>([
    ['the last of several', '{"mcpServers": {"a": {}, "lookfirst": {}}}', '{"mcpServers": {"a": {}}}'],
    [
      'one in the middle',
      '{"mcpServers": {"a": {}, "lookfirst": {}, "b": {}}}',
      '{"mcpServers": {"a": {}, "b": {}}}',
    ],
    [
      'with a trailing comma',
      '{"mcpServers": {\n  "a": {},\n  "lookfirst": {},\n}}',
      '{"mcpServers": {\n  "a": {},\n}}',
    ],
    [
      'comments around it stay',
      '{"mcpServers": {\n  "a": {}, // a\n  // before\n  "lookfirst": {} // after\n}}',
      '{"mcpServers": {\n  "a": {} // a\n  // before\n // after\n}}',
    ],
    [
      'a line comment before it does not swallow what follows on its line',
      '{"mcpServers": {\n  // two\n  "lookfirst": {}, "b": {}\n}}',
      '{"mcpServers": {\n  // two\n  "b": {}\n}}',
    ],
    [
      'nor the brace',
      '{"mcpServers": {"a": {}, // one\n  "lookfirst": {}}}',
      '{"mcpServers": {"a": {} // one\n}}',
    ],
    ['with the object around it', '{"x": 1, "mcpServers": { "lookfirst": {} }}', '{"x": 1}'],
    ['nothing there', '{"mcpServers": {"a": {}}}', '{"mcpServers": {"a": {}}}'],
  ])('%s', (_what, before, after) => {
    expect(textOf(removed(before))).toBe(after);
  });

  it('takes linear time, even with long runs of white space', () => {
    const before = `{${' '.repeat(300_000)}"mcpServers": {"lookfirst": {}, "b": 1}}`;
    expect(textOf(removed(before))).toBe(before.replace('"lookfirst": {}, ', ''));
  });
});

describe('any JSON', () => {
  const blank = fc.stringMatching(/^[ \t]{0,2}(\n|\r\n)?[ \t]{0,2}$/);
  const comment = fc.constantFrom('', '', '', '// c\n', '/* {"x": */', ' // "y"  \r\n');
  const gap = fc.tuple(blank, comment, blank).map((parts) => parts.join(''));
  const scalar = fc.constantFrom('1', '"s"', 'null', '"a\\"}b"', '-1.5', '[]', '[1, "x",]', '{}');
  const key = fc.constantFrom('a', 'b', 'theme', 'fs');

  /** Builds the text of an object from the texts of its members, with white space and comments between them. */
  const objectOf = (member: fc.Arbitrary<string>) =>
    fc
      .tuple(fc.array(fc.tuple(gap, member, gap), { maxLength: 3 }), gap, fc.boolean())
      .map(([members, end, trailing]) => {
        const body = members.map((parts) => parts.join('')).join(',');
        return `{${body}${trailing && members.length > 0 ? ',' : ''}${end}}`;
      });
  const plainMember = fc.tuple(key, gap, gap, scalar).map(([k, a, b, v]) => `"${k}"${a}:${b}${v}`);
  const servers = objectOf(plainMember).map((object) => `"mcpServers":${object}`);
  const document = fc
    .tuple(fc.constantFrom('', '\ufeff'), gap, objectOf(fc.oneof(plainMember, servers)), gap)
    .map((parts) => parts.join(''));

  it('gets exactly our entry, and loses exactly it, with every comment and other value', () => {
    fc.assert(
      fc.property(document, (before) => {
        const have = json.parse(before);
        const added = textOf(put(before)) ?? '';
        expect(json.parse(added)).toEqual(withValue(have, ['mcpServers', 'lookfirst'], ENTRY));
        expect(textOf(put(added))).toBe(added);
        const after = textOf(removed(added)) ?? '';
        const { mcpServers, ...others } = have;
        const isEmpty = JSON.stringify(mcpServers) === '{}';
        expect(json.parse(after)).toEqual(isEmpty ? others : have);
        if (!isEmpty && mcpServers !== undefined)
          expect(after.split('// c').length).toBe(before.split('// c').length);
      }),
      { numRuns: rounds(400, 3000) },
    );
  });
});

const BLOCK = '[mcp_servers.lookfirst]\ncommand = "npx"\nargs = ["-y", "lookfirst", "serve", "/repo"]';

function putToml(text: string | undefined, entry: ConfigTable = ENTRY): EditedConfig {
  return editConfig(toml, text, (have) => withValue(have, ['mcp_servers', 'lookfirst'], entry));
}

function removedToml(text: string): EditedConfig {
  return editConfig(toml, text, (have) => withoutValue(have, ['mcp_servers', 'lookfirst'], undefined));
}

describe('a new table in TOML', () => {
  it.each<[string, string | undefined, string]>([
    ['no file', undefined, `${BLOCK}\n`],
    ['an empty file', '', `${BLOCK}\n`],
    ['a text', 'model = "x"\n', `model = "x"\n\n${BLOCK}\n`],
    ['a text without final newline', '[a]\nb = 1 # c', `[a]\nb = 1 # c\n\n${BLOCK}\n`],
    ['CRLF', 'a = 1\r\n', `a = 1\r\n\r\n${BLOCK.replaceAll('\n', '\r\n')}\r\n`],
    ['an inline sibling', '[mcp_servers]\nfs = { a = 1 }\n', `[mcp_servers]\nfs = { a = 1 }\n\n${BLOCK}\n`],
  ])('%s', (_what, before, after) => {
    expect(textOf(putToml(before))).toBe(after);
  });

  it('changes nothing the second time, in whatever form the table is written', () => {
    for (const header of [
      '[mcp_servers.lookfirst]',
      '[ mcp_servers . "lookfirst" ] # x',
      "['mcp_servers'.lookfirst]",
    ]) {
      const text = `${header}\nargs = [\n  '-y', # yes\n  "lookfirst", "serve",\n  "/repo",\n]\ncommand = 'npx'\n`;
      expect(textOf(putToml(text))).toBe(text);
    }
  });

  it('updates values and keeps comments, other keys and tables below', () => {
    const before =
      '[mcp_servers.lookfirst]\nenabled = true\nargs = [\n  "old", # one\n] # mine\n\n[mcp_servers.lookfirst.env]\nA = "#1" # a\n';
    const entry = { ...ENTRY, enabled: true, env: { A: '2', B: 'b' } };
    expect(textOf(putToml(before, entry))).toBe(
      '[mcp_servers.lookfirst]\ncommand = "npx"\nenabled = true\nargs = ["-y", "lookfirst", "serve", "/repo"] # mine\n\n[mcp_servers.lookfirst.env]\nB = "b"\nA = "2" # a\n',
    );
  });

  it('updates an inline table', () => {
    const before = `${BLOCK}\nenv = { A = "1" } # x\n`;
    expect(textOf(putToml(before, { ...ENTRY, env: { A: '1', B: '2' } }))).toBe(
      `${BLOCK}\nenv = { A = "1", B = "2" } # x\n`,
    );
  });

  it.each([
    ['an inline table of servers', 'a = 1\nmcp_servers = { fs = { command = "x" } }\n'],
    ['a dotted entry', 'mcp_servers.lookfirst.command = "x"\n'],
    ['a dotted entry below', '[mcp_servers]\nlookfirst.command = "x"\n'],
    ['an array of tables', '\n[[mcp_servers]]\na = 1\n'],
    ['a header in a string', `a = """\n[mcp_servers.lookfirst]\nb = 1\n"""\n${BLOCK.replace('npx', 'x')}\n`],
  ])('refuses %s, which the user can edit by hand', (_what, text) => {
    expect(putToml(text)).toMatchObject({ ok: false, byHand: true });
  });

  it.each([
    ['an open string', 'a = 1\nb = "x\n', 2],
    ['no value', 'a =\n', 1],
    ['two values', 'a = 1 2\n', 1],
    ['JSON', '{\n "mcpServers": {}\n}', 1],
  ])('refuses broken TOML: %s', (_what, text, line) => {
    for (const edited of [putToml(text), removedToml(text)])
      expect(edited).toMatchObject({ ok: false, reason: expect.stringContaining('not valid TOML'), line });
  });

  it('refuses brackets that nest too deeply', () => {
    const deep = `a = ${'['.repeat(100_000)}${']'.repeat(100_000)}\n`;
    expect(putToml(deep)).toMatchObject({ ok: false });
  });
});

describe('removing a table from TOML', () => {
  it.each([
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
    ['an inline entry', '[mcp_servers]\nlookfirst = { a = 1 } # x\nfs = {}\n', '[mcp_servers]\nfs = {}\n'],
    ['nothing there', '[mcp_servers.fs]\ncommand = "x"\n', '[mcp_servers.fs]\ncommand = "x"\n'],
    ['a table of a like name', '[mcp_servers.lookfirst2]\na = 1\n', '[mcp_servers.lookfirst2]\na = 1\n'],
  ])('%s', (_what, before, after) => {
    expect(textOf(removedToml(before))).toBe(after);
  });
});

describe('any TOML', () => {
  const line = fc.constantFrom(
    '',
    '# comment [mcp_servers.lookfirst]',
    'a = 1',
    '  b.c = "x # y" # z',
    "d = 'C:\\path'",
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
      fc.uniqueArray(line, { maxLength: 8 }),
      fc.constantFrom('\n', '\r\n'),
      fc.constantFrom('', '\n'),
      fc.constantFrom('', '\ufeff'),
    )
    .map(([lines, eol, end, bom]) => bom + (lines.join('\n') + end).replaceAll('\n', eol))
    .filter((each) => editConfig(toml, each, (have) => have).ok);

  it('gets exactly our table, and loses it again', () => {
    fc.assert(
      fc.property(text, (before) => {
        const added = textOf(putToml(before)) ?? '';
        expect(textOf(putToml(added))).toBe(added);
        const after = textOf(removedToml(added));
        const end = before.endsWith('\n') ? '' : (/\r?\n/.exec(before)?.[0] ?? '\n');
        if (before.trim() !== '') expect(after).toBe(before + end);
      }),
      { numRuns: rounds(300, 2000) },
    );
  });
});
