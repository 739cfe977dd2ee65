import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/rounds.ts';
import type { EditedConfig } from './edit.ts';
import { putJsonEntry, removeJsonEntry } from './json-entry.ts';
import { scanJson } from './json-scan.ts';

const PLACE = { servers: 'mcpServers', name: 'lookfirst' };
const ENTRY = { command: 'npx', args: ['-y', 'lookfirst', 'serve', '/repo'] };
const FILLED = '{"lookfirst": {"command": "npx", "args": ["-y", "lookfirst", "serve", "/repo"]}}';

function textOf(edited: EditedConfig): string | undefined {
  if (!edited.ok) throw new Error(`${edited.reason} (line ${edited.line})`);
  return edited.text;
}

/** Parses JSON that may contain comments and trailing commas. */
function parse(text: string | undefined): Record<string, Record<string, unknown>> {
  if (text === undefined) throw new Error('no text');
  const strict = text
    .replace(/^\ufeff/, '')
    .replace(/("(?:[^"\\]|\\.)*")|\/\/[^\r\n]*|\/\*.*?\*\//gs, (_all, string) => string ?? '')
    .replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/gs, (_all, string) => string ?? '');
  return JSON.parse(strict);
}

describe('putJsonEntry', () => {
  it.each<[string, string | undefined, string]>([
    [
      'no file',
      undefined,
      '{\n  "mcpServers": {\n    "lookfirst": {\n      "command": "npx",\n      "args": ["-y", "lookfirst", "serve", "/repo"]\n    }\n  }\n}\n',
    ],
    ['an empty object of servers', '{"mcpServers": {}}\n', `{"mcpServers": ${FILLED}}\n`],
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
      '{\n  "mcpServers": { // mine\n    "lookfirst": {\n      "command": "npx",\n      "args": ["-y", "lookfirst", "serve", "/repo"]\n    },\n    "fs": {} // fs\n  }\n}',
    ],
  ])('%s', (_what, before, after) => {
    expect(textOf(putJsonEntry(before, PLACE, ENTRY))).toBe(after);
  });

  it('changes nothing the second time', () => {
    const once = textOf(putJsonEntry('{\n  "a": 1\n}\n', PLACE, ENTRY));
    expect(textOf(putJsonEntry(once, PLACE, ENTRY))).toBe(once);
  });

  it('updates its own keys and keeps the keys that the user added', () => {
    const before =
      '{"mcpServers": {"lookfirst": {\n  "command": "npx", // keep\n  "args": ["-y", "lookfirst", "serve", "/old"],\n  "env": {"A": "1"}\n}}}';
    expect(textOf(putJsonEntry(before, PLACE, ENTRY))).toBe(before.replace('/old', '/repo'));
  });

  it('adds missing keys to the entry, and replaces an entry that is not an object', () => {
    for (const entry of ['{"disabled": false}', '{}', 'null']) {
      const text = textOf(putJsonEntry(`{"mcpServers": {"lookfirst": ${entry}}}`, PLACE, ENTRY));
      expect(parse(text)['mcpServers']?.['lookfirst']).toMatchObject(ENTRY);
    }
  });

  it.each<[string, string, number | undefined, string]>([
    ['broken JSON', '{\n  "a": 1,\n  "b": \n}', 4, 'not valid JSON'],
    ['a list', '[]', 1, 'object'],
    ['servers that are a list', '{\n"mcpServers": []}', 2, '"mcpServers" is not an object'],
    ['servers that are null', '{"mcpServers": null}', 1, '"mcpServers" is not an object'],
  ])('refuses %s and names the line', (_what, text, line, reason) => {
    for (const edited of [putJsonEntry(text, PLACE, ENTRY), removeJsonEntry(text, PLACE)])
      expect(edited).toEqual({ ok: false, reason: expect.stringContaining(reason), line });
  });
});

describe('removeJsonEntry', () => {
  it.each<[string, string, string | undefined]>([
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
      '{"mcpServers": {\n  "a": {} // a\n  // before // after\n}}',
    ],
    [
      'a line comment before it does not swallow what follows on its line',
      '{"mcpServers": {\n  // two\n  "lookfirst": {}, "b": {}\n}}',
      '{"mcpServers": {\n  // two\n "b": {}\n}}',
    ],
    [
      'nor the brace',
      '{"mcpServers": {"a": {}, // one\n  "lookfirst": {}}}',
      '{"mcpServers": {"a": {} // one\n}}',
    ],
    [
      'slashes in a string are no comment',
      '{"mcpServers": {"a": "//",\n  "lookfirst": {}, "b": 1}}',
      '{"mcpServers": {"a": "//", "b": 1}}',
    ],
    [
      'the only one, written by hand',
      '{"x": 1, "mcpServers": { "lookfirst": {} }}',
      '{"x": 1, "mcpServers": { }}',
    ],
    ['nothing there', '{"mcpServers": {"a": {}}}', '{"mcpServers": {"a": {}}}'],
    ['no servers', '{}', '{}'],
    ['blank', '\n', '\n'],
  ])('%s', (_what, before, after) => {
    expect(textOf(removeJsonEntry(before, PLACE))).toBe(after);
  });

  it('takes linear time, even with long runs of white space', () => {
    const before = `{${' '.repeat(300_000)}"mcpServers": {"lookfirst": {}, "b": 1}}`;
    expect(textOf(removeJsonEntry(before, PLACE))).toBe(before.replace('"lookfirst": {},', ''));
  });

  it('keeps a comment inside the object of servers that init created', () => {
    const added = textOf(putJsonEntry('{"x": 1}', PLACE, ENTRY)) ?? '';
    const commented = added.replace('"lookfirst"', '// mine\n"lookfirst"');
    expect(textOf(removeJsonEntry(commented, PLACE))).toContain('// mine');
  });
});

describe('init and remove', () => {
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
  const text = fc.oneof(
    document,
    fc.tuple(fc.constantFrom('', '\ufeff'), gap).map((parts) => parts.join('')),
  );

  it('remove restores the former text exactly, for any text', () => {
    fc.assert(
      fc.property(text, (before) => {
        const added = textOf(putJsonEntry(before, PLACE, ENTRY));
        expect(parse(added)['mcpServers']?.['lookfirst']).toEqual(ENTRY);
        expect(textOf(putJsonEntry(added, PLACE, ENTRY))).toBe(added);
        expect(textOf(removeJsonEntry(added ?? '', PLACE))).toBe(before);
      }),
      { numRuns: rounds(400, 3000) },
    );
  });

  it('does not change any other value', () => {
    fc.assert(
      fc.property(document, (before) => {
        const was = parse(before);
        const is = parse(textOf(putJsonEntry(before, PLACE, ENTRY)));
        const { lookfirst: _own, ...others } = is['mcpServers'] ?? {};
        expect({ ...is, mcpServers: others }).toEqual({ ...was, mcpServers: was['mcpServers'] ?? {} });
      }),
      { numRuns: 500 },
    );
  });

  it('removes the file it created', () => {
    const created = textOf(putJsonEntry(undefined, PLACE, ENTRY)) ?? '';
    expect(scanJson(created)).toBeDefined();
    expect(textOf(removeJsonEntry(created, PLACE))).toBeUndefined();
  });
});
