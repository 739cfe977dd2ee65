import { describe, expect, it } from 'vitest';
import { spliceStrings } from './splice-strings.ts';

const put = (line: string, ...at: (string | number)[]) =>
  spliceStrings(Buffer.from(line), [{ at, value: '/r/a "b"' }]).toString();
const NEW = '"/r/a \\"b\\""';

describe('a text is replaced, and not a byte besides', () => {
  it.each([
    ['a member', '{"a":"x","b":"y"}', ['b'], `{"a":"x","b":${NEW}}`],
    ['an item', '["x","y"]', [1], `["x",${NEW}]`],
    ['deep inside', '{"a":[{"b":1},{"b":"x"}]}', ['a', 1, 'b'], `{"a":[{"b":1},{"b":${NEW}}]}`],
    ['with spaces as they were', ' { "a" :\t"x" , "b":[ ] }\r', ['a'], ` { "a" :\t${NEW} , "b":[ ] }\r`],
    ['numbers as they were', '{"n":1.0,"m":12345678901234567890,"a":"x"}', ['a'], undefined],
    ['escapes as they were', '{"s":"\\u0041\\/\\"}]","a":"x","t":"\\\\"}', ['a'], undefined],
    ['a key that is spelt with escapes', '{"\\u0061":"x"}', ['a'], `{"\\u0061":${NEW}}`],
    ['letters of more than one byte', '{"é":"日本","a":"x","z":"𝄞"}', ['a'], undefined],
    ['brackets in texts', '{"t":"}{][,:","u":["]"],"a":"x"}', ['a'], undefined],
    ['behind deep nests', `{"n":${'['.repeat(1e5)}${']'.repeat(1e5)},"a":"x"}`, ['a'], undefined],
    ['a key twice, both times', '{"a":"x","a":"y"}', ['a'], `{"a":${NEW},"a":${NEW}}`],
  ] as const)('%s', (_what, line, at, expected) => {
    expect(put(line, ...at)).toBe(expected ?? line.replace('"a":"x"', `"a":${NEW}`));
  });
});

it.each([
  ['what is no text', '{"a":5,"b":{"a":"x"}}', ['a']],
  ['what is not there', '{"a":"x"}', ['b']],
  ['what is not so deep', '{"a":"x"}', ['a', 'b']],
  ['an empty object', '{}', ['a']],
  ['an empty array', '[]', [0]],
] as const)('%s is left alone', (_what, line, at) => {
  expect(put(line, ...at)).toBe(line);
});

it('several texts are replaced at once', () => {
  const splices = ['paths', 'other'].map((key) => ({ at: [key, 0], value: key }));
  const line = Buffer.from('{"other":["x"],"paths":["y","z"]}');
  expect(spliceStrings(line, splices).toString()).toBe('{"other":["other"],"paths":["paths","z"]}');
});
