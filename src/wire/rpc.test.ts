import { describe, expect, it } from 'vitest';
import { beginsMessage, hasInexactNumber } from './rpc.ts';

describe('a number that would change if it were written again', () => {
  it.each([
    ['{"id":12345678901234567890}', true],
    ['{"id":9007199254740993}', true],
    ['{"id":9007199254740991}', false],
    ['{"id":-9007199254740993,"a":1}', true],
    ['[0.1,1.50,1e3,-0.25E-7,1234567.12345678]', false],
    ['{"a":0.30000000000000004}', false],
    ['{"a":0.3000000000000000412345}', true],
    ['{"a":1e400}', true],
    ['{"text":"12345678901234567890 \\" 9007199254740993"}', false],
    ['{"12345678901234567890":1}', false],
  ])('%s: %s', (json, inexact) => {
    expect(hasInexactNumber(json)).toBe(inexact);
  });
});

describe('a line begins a message', () => {
  it.each(['{"a":1}', ' \t{ "a":1}', '[{"a":1}]', '[ {"a":1}]'])('if it is one: %s', (line) => {
    expect(beginsMessage(Buffer.from(line))).toBe(true);
  });

  it.each([
    '[info] started',
    '{debug} started',
    '[1, 2]',
    '["a"]',
    '{',
    '[',
    '{}',
    '[[{"a":1}]]',
    "{'a': 1}",
    'Debug: x',
  ])('not if it is a log line: %s', (line) => {
    expect(beginsMessage(Buffer.from(line))).toBe(false);
  });
});
