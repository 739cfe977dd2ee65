import { describe, expect, it } from 'vitest';
import { Fault } from '../model/fault.ts';
import { parsePolicyFile } from './policy-file.ts';

describe('a policy file', () => {
  it.each([
    ['{}', { overrides: {} }],
    ['\uFEFF{"preset":"strict"}', { preset: 'strict', overrides: {} }],
    [
      '{"$schema":"x","ttlMs":60000,"protected":["secret/**"],"journal":{"quotaBytes":0},"readOnly":true}',
      {
        overrides: { ttlMs: 60000, protected: ['secret/**'], journal: { quotaBytes: 0 }, readOnly: true },
      },
    ],
    [
      '{"proxy":{"unknownTools":"deny","receipts":true,"servers":[{"id":"mine"}]}}',
      { overrides: {}, proxy: { unknownTools: 'deny', receipts: true, servers: [{ id: 'mine' }] } },
    ],
  ])('gives what it says: %s', (text, expected) => {
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
    ['{"maxReadLines":0}', 'lookfirst.json: "maxReadLines" must be a whole number of at least 1, not 0'],
    ['{"protected":"a"}', 'lookfirst.json: "protected" must be an array of glob patterns, not "a"'],
    [
      '{"bypass":[1]}',
      'lookfirst.json: "bypass" must be an array of globs and of objects with paths, tools, sessions, each an array of globs, not an array',
    ],
    [
      '{"bypass":[""]}',
      'lookfirst.json: "bypass" must be an array of globs and of objects with paths, tools, sessions, each an array of globs, not an array',
    ],
    [
      '{"journal":5}',
      'lookfirst.json: "journal" must be an object with quotaBytes, retentionMs, reads, readRetentionMs, not 5',
    ],
    [
      '{"journal":{"quotaBytes":"1G"}}',
      'lookfirst.json: "journal.quotaBytes" must be a whole number of at least 0, not "1G"',
    ],
    [
      '{"proxy":{"unknownTools":"maybe"}}',
      'lookfirst.json: "proxy.unknownTools" must be one of "allow", "deny", "ask", not "maybe"',
    ],
    ['{"proxy":{"servers":{}}}', 'lookfirst.json: "proxy.servers" must be an array, not an object'],
    ['[]', 'lookfirst.json: must be an object, not an array'],
    ['null', 'lookfirst.json: must be an object, not null'],
  ])('is refused with place, expectation and nearest name: %s', (text, message) => {
    expect(faultOf(text)).toEqual({ code: 'CONFIG_INVALID', message });
  });

  it('that is not JSON is refused; comments are not JSON', () => {
    expect(faultOf('{ // no\n}')).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/^lookfirst\.json is not JSON: /),
    });
  });

  it('never quotes more than a little of a wrong value', () => {
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
