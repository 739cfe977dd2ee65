import { describe, expect, it } from 'vitest';
import { configLineAt } from './edit.ts';
import { scanJson } from './json-scan.ts';
import { type ConfigNode, ScanProblem } from './node.ts';

function read(node: ConfigNode | undefined, text: string): unknown {
  if (node === undefined) return undefined;
  if (node.kind === 'object')
    return Object.fromEntries(node.members.map(({ key, value }) => [key, read(value, text)]));
  if (node.kind === 'array') return node.items.map((item) => read(item, text));
  return node.kind === 'string' ? node.value : JSON.parse(text.slice(node.from, node.to));
}

describe('scanJson', () => {
  it.each<[string, string, unknown]>([
    ['an object', '{"a": {"b": [1, -2.5e3, true, null, "x"]}}', { a: { b: [1, -2500, true, null, 'x'] } }],
    ['comments', '// c\n{ /* { */ "a" /**/ : // "\n 1 }\n// end', { a: 1 }],
    ['trailing commas', '{"a": [1, 2,], }', { a: [1, 2] }],
    ['escapes', String.raw`{"a\"\\": "\u00e9\n\\"}`, { 'a"\\': 'é\n\\' }],
    ['slashes inside strings', '{"a": "// no /* comment"}', { a: '// no /* comment' }],
    ['a byte order mark', '\ufeff{"a": 1}', { a: 1 }],
    ['CRLF and tabs', '{\r\n\t"a": 1\r\n}', { a: 1 }],
    ['nothing', ' \n\t', undefined],
    ['only comments', '// nothing\n/* here */', undefined],
    ['a string', '"x"', 'x'],
    ['an empty object', '{}', {}],
  ])('reads %s', (_what, text, expected) => {
    expect(read(scanJson(text), text)).toEqual(expected);
  });

  it('scans any number of comments, and long white space', () => {
    const text = `${'// x\n'.repeat(4_000_000)}{${' '.repeat(1_000_000)}"a": 1}`;
    expect(scanJson(text)).toMatchObject({ kind: 'object', members: [{ key: 'a' }] });
  });

  it('reports the position of every value', () => {
    const text = '{ "key" : [ "v" ] }';
    const node = scanJson(text);
    if (node?.kind !== 'object') return expect.unreachable();
    const [member] = node.members;
    expect(text.slice(node.from, node.to)).toBe(text);
    expect(text.slice(member?.from, member?.value.to)).toBe('"key" : [ "v" ]');
    expect(text.slice(member?.value.from, member?.value.to)).toBe('[ "v" ]');
  });

  it.each<[string, string, number]>([
    ['a missing comma', '{\n  "a": 1\n  "b": 2\n}', 3],
    ['a missing colon', '{\n "a" 1}', 2],
    ['a missing value', '{\n\n "a": }', 3],
    ['an open object', '{\n "a": 1\n', 3],
    ['an open array', '[1,\n2', 2],
    ['an open string', '{\n "a": "x\n}', 2],
    ['a bad escape', '{"a": "\\x"}', 1],
    ['a line break in a string', '{\n"a": "x\ny"}', 2],
    ['an open comment', '{}\n/* x', 2],
    ['a key without quotes', '{\n a: 1}', 2],
    ['single quotes', "{'a': 1}", 1],
    ['text after the end', '{}\n{}', 2],
    ['two commas', '{"a": 1,, "b": 2}', 1],
    ['a lonely comma', '[,]', 1],
    ['a bad number', '{"a": 01}', 1],
    ['a bad word', '{"a": nulls}', 1],
    ['too deep', '['.repeat(1000), 1],
  ])('refuses %s and says where', (_what, text, line) => {
    try {
      scanJson(text);
      expect.unreachable();
    } catch (error) {
      if (!(error instanceof ScanProblem)) throw error;
      expect(configLineAt(text, error.at)).toBe(line);
    }
  });
});
