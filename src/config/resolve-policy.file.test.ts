import { describe, expect, it } from 'vitest';
import { Fault } from '../model/fault.ts';
import { parsePolicyFile } from './resolve-policy.ts';

describe('a policy file', () => {
  it.each([
    ['{}', { overrides: {}, warnings: [] }],
    ['\uFEFF{"preset":"strict"}', { preset: 'strict', overrides: {}, warnings: [] }],
    [
      '{"$schema":"x","ttlMs":60000,"protected":["secret/**"],"journal":{"quotaBytes":0},"readOnly":true}',
      {
        overrides: { ttlMs: 60000, protected: ['secret/**'], journal: { quotaBytes: 0 }, readOnly: true },
        warnings: [],
      },
    ],
    [
      '{"proxy":{"unknownTools":"deny","servers":[{"id":"mine","tools":{}}]}}',
      {
        overrides: {},
        warnings: [],
        proxy: { unknownTools: 'deny', servers: [{ id: 'mine', tools: {} }] },
      },
    ],
  ])('is read as written: %s', (text, expected) => {
    expect(parsePolicyFile(text)).toEqual(expected);
  });

  it.each([
    ['{"stalenes":"off"}', 'lookfirst.json: unknown key "stalenes"; did you mean "staleness"?'],
    ['{"readonly":true}', 'lookfirst.json: unknown key "readonly"; did you mean "readOnly"?'],
    [
      '{"journal":{"quota":1}}',
      'lookfirst.json: unknown key "journal.quota"; did you mean "journal.quotaBytes"?',
    ],
    ['{"sudo":true}', 'lookfirst.json: unknown key "sudo"'],
    ['{"__proto__":{}}', 'lookfirst.json: unknown key "__proto__"'],
    ['{"constructor":1}', 'lookfirst.json: unknown key "constructor"'],
    [
      '{"staleness":"sometimes"}',
      'lookfirst.json: "staleness" must be one of "refuse", "merge", "confirm", "warn", "off", not "sometimes"',
    ],
    [
      '{"preset":"loose"}',
      'lookfirst.json: "preset" must be one of "default", "strict", "sandbox", "file-time", "thread-history", "staleness", not "loose"',
    ],
    ['{"readOnly":"yes"}', 'lookfirst.json: "readOnly" must be true or false, not "yes"'],
    ['{"ttlMs":-1}', 'lookfirst.json: "ttlMs" must be a whole number of at least 0, not -1'],
    ['{"ttlMs":1.5}', 'lookfirst.json: "ttlMs" must be a whole number of at least 0, not 1.5'],
    ['{"maxAnswerBytes":0}', 'lookfirst.json: "maxAnswerBytes" must be a whole number of at least 1, not 0'],
    ['{"protected":"a"}', 'lookfirst.json: "protected" must be an array of glob patterns, not "a"'],
    [
      '{"bypass":[1]}',
      'lookfirst.json: "bypass[0]" must be a glob or an object with paths, tools, sessions, not 1',
    ],
    [
      '{"bypass":["a",""]}',
      'lookfirst.json: "bypass[1]" must be a glob or an object with paths, tools, sessions, not ""',
    ],
    [
      '{"bypass":[{}]}',
      'lookfirst.json: "bypass[0]" must be a glob or an object with paths, tools, sessions, not an object',
    ],
    [
      '{"bypass":[{"path":["a"]}]}',
      'lookfirst.json: unknown key "bypass[0].path"; did you mean "bypass[0].paths"?',
    ],
    [
      '{"bypass":[{"tools":[]}]}',
      'lookfirst.json: "bypass[0].tools" must be an array of at least one glob, not an empty array',
    ],
    ['{"protected":[5]}', 'lookfirst.json: "protected[0]" must be a glob, not 5'],
    ['{"ttlMs":-1,"sudo":1}', /not -1 \(and 1 more\)$/],
    ['{"proxy":{"servers":[{"id":"mine"}]}}', 'lookfirst.json: the key "proxy.servers[0].tools" is missing'],
    ['{"journal":5}', 'lookfirst.json: "journal" must be an object with quotaBytes, retentionMs, not 5'],
    [
      '{"journal":{"quotaBytes":"1G"}}',
      'lookfirst.json: "journal.quotaBytes" must be a whole number of at least 0, not "1G"',
    ],
    [
      '{"proxy":{"unknownTools":"maybe"}}',
      'lookfirst.json: "proxy.unknownTools" must be one of "allow", "deny", "ask", not "maybe"',
    ],
    ['{"proxy":{"servers":{}}}', 'lookfirst.json: "proxy.servers" must be an array, not an object'],
    ['[]', 'lookfirst.json: the settings must be an object, not an empty array'],
    ['null', 'lookfirst.json: the settings must be an object, not null'],
  ])('is refused with the setting, the expected value and the nearest name: %s', (text, message) => {
    const expected = typeof message === 'string' ? message : expect.stringMatching(message);
    const { code, message: whole } = faultOf(text);
    const withoutPlace = whole.replace(/^lookfirst\.json:\d+:\d+: /, 'lookfirst.json: ');
    expect({ code, message: withoutPlace }).toEqual({ code: 'CONFIG_INVALID', message: expected });
  });

  it('may have comments and trailing commas', () => {
    expect(parsePolicyFile('{ // why\n  "preset": "strict", /* more */\n}')).toMatchObject({
      preset: 'strict',
    });
  });

  it.each([
    ['{\n  "preset": strict\n}', 'lookfirst.json:2:13: this word needs double quotes'],
    ['{\n  "preset" "strict"\n}', 'lookfirst.json:2:12: a colon is missing here'],
    ['{ "preset": "strict"', 'lookfirst.json:1:21: a closing } is missing'],
    ['\uFEFF{ // why\n  "preset": "strict", "nope": 1 }', /^lookfirst\.json:2:23: unknown key "nope"/],
  ])('with a mistake is refused with its line and column: %s', (text, message) => {
    const expected = typeof message === 'string' ? message : expect.stringMatching(message);
    expect(faultOf(text)).toEqual({ code: 'CONFIG_INVALID', message: expected });
  });

  it.each([
    ['{\n  "hugeBytes": 5\n}', 'lookfirst.json:2:3: the setting "hugeBytes" no longer exists and is ignored'],
    ['{"commands":{"maxProcesses":900}}', /"commands.maxProcesses" no longer exists and is ignored$/],
    ['{"claimMs":1}', /"claimMs" no longer exists and is ignored$/],
    ['{"wording":"sandbox"}', /"wording" no longer exists and is ignored$/],
    ['{"form":"exact"}', /"form" no longer exists and is ignored$/],
    ['{"hardLinks":"break"}', /"hardLinks" no longer exists and is ignored$/],
    ['{"images":{"secrets":"shared"}}', /"images.secrets" no longer exists and is ignored$/],
    ['{"commands":{"writes":"apply"}}', /"commands.writes" no longer exists and is ignored$/],
    ['{"proxy":{"receipts":true}}', /"proxy.receipts" no longer exists and is ignored$/],
  ])('with a setting of an earlier version has one warning: %s', (text, warning) => {
    const { overrides, warnings } = parsePolicyFile(text);
    expect(overrides).toEqual({});
    expect(warnings).toEqual([typeof warning === 'string' ? warning : expect.stringMatching(warning)]);
  });

  it.each([
    '{"hardLinks":"refuse"}',
    '{"cure":"reread"}',
    '{"empty":"gated"}',
    '{"journal":{"reads":"all"}}',
    '{"commands":{"maxProcesses":10}}',
    '{"commands":{"memoryBytes":1000}}',
    '{"commands":{"writes":"seen-only"}}',
  ])('is refused if a setting of an earlier version was stricter than what holds now: %s', (text) => {
    expect(faultOf(text)).toEqual({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/no longer exists, and its value was stricter than what holds now/),
    });
  });

  it('is quoted only in part if a wrong value is long', () => {
    expect(faultOf(JSON.stringify({ staleness: 'x'.repeat(5000) })).message.length).toBeLessThan(200);
  });
});

function faultOf(text: string): { code: string; message: string } {
  try {
    parsePolicyFile(text);
  } catch (error) {
    if (error instanceof Fault) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('accepted');
}
