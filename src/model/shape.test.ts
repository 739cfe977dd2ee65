import { describe, expect, it } from 'vitest';
import { toJsonSchema } from './json-schema.ts';
import {
  ANY,
  checkShape,
  FLAG,
  integerFrom,
  listOf,
  mismatchText,
  NAME,
  objectOf,
  oneOf,
  type Shape,
  TEXT,
  variantOf,
} from './shape.ts';

const BYTES: Shape = { type: 'tested', is: (value) => value instanceof Uint8Array, must: 'bytes' };
const RULE = objectOf({ paths: listOf(NAME, { minItems: 1 }), tools: listOf(NAME) });
const SHAPE = objectOf(
  {
    path: TEXT,
    limit: { type: 'integer', minimum: 1, maximum: 10 },
    share: { type: 'number' },
    least: integerFrom(0),
    all: FLAG,
    mode: oneOf('lines', 'files'),
    anything: ANY,
    body: { type: 'either', shapes: [TEXT, BYTES] },
    rules: listOf({ type: 'either', shapes: [NAME, { ...RULE, minProperties: 1 }] }),
    byName: { type: 'map', values: FLAG },
    zero: { type: 'constant', values: [0, true] },
    step: variantOf('kind', { wait: objectOf({ ms: integerFrom(1) }, ['ms']), stop: objectOf({}) }),
  },
  ['path'],
);
const texts = (value: unknown): string[] =>
  checkShape(SHAPE, value).map((each) => mismatchText(each, { noun: 'field', whole: 'the value' }));

describe('checkShape', () => {
  it.each<[unknown]>([
    [{ path: '' }],
    [{ path: 'a', limit: undefined, anything: null }],
    [{ path: 'a', limit: 10, share: 0.5, least: 0, all: false, mode: 'files', zero: 0 }],
    [{ path: 'a', body: new Uint8Array(1), rules: ['a', { paths: ['b'] }], byName: { x: true } }],
    [{ path: 'a', body: 'text', step: { kind: 'wait', ms: 1 }, zero: true }],
    [{ path: 'a', step: { kind: 'stop' } }],
  ])('accepts %j', (value) => {
    expect(checkShape(SHAPE, value)).toEqual([]);
  });

  it.each<[unknown, string]>([
    [null, 'the value must be an object with '],
    [[], 'the value must be an object with '],
    [{}, 'the field "path" is missing'],
    [Object.create({ path: 'a' }), 'the field "path" is missing'],
    [{ path: undefined }, 'the field "path" is missing'],
    [{ path: 7 }, '"path" must be a string, not 7'],
    [{ path: null }, '"path" must be a string, not null'],
    [{ path: 'a', limit: 0 }, '"limit" must be a whole number from 1 to 10, not 0'],
    [{ path: 'a', limit: 11 }, '"limit" must be a whole number from 1 to 10, not 11'],
    [{ path: 'a', limit: 1.5 }, '"limit" must be a whole number from 1 to 10, not 1.5'],
    [{ path: 'a', limit: '5' }, '"limit" must be a whole number from 1 to 10, not "5"'],
    [{ path: 'a', share: Number.NaN }, '"share" must be a number, not NaN'],
    [{ path: 'a', least: -1 }, '"least" must be a whole number of at least 0, not -1'],
    [{ path: 'a', all: 'yes' }, '"all" must be true or false, not "yes"'],
    [
      { path: 'a', mode: 'file' },
      '"mode" must be one of "lines", "files", not "file"; did you mean "files"?',
    ],
    [{ path: 'a', limits: 1 }, 'unknown field "limits"; did you mean "limit"?'],
    [{ path: 'a', toString: 1 }, 'unknown field "toString" (known are path, limit'],
    [{ path: 'a', body: new Uint16Array(1) }, '"body" must be a string or bytes, not an object'],
    [{ path: 'a', rules: 'a' }, '"rules" must be an array, not "a"'],
    [{ path: 'a', rules: [''] }, '"rules[0]" must be a text that is not empty or an object with'],
    [{ path: 'a', rules: [{}] }, '"rules[0]" must be a text that is not empty or an object with'],
    [{ path: 'a', rules: [{ paths: [] }] }, '"rules[0].paths" must be an array of at least 1, not an empty'],
    [{ path: 'a', rules: ['a', { path: [] }] }, '"rules[1].path"; did you mean "rules[1].paths"?'],
    [{ path: 'a', byName: { x: 1 } }, '"byName.x" must be true or false, not 1'],
    [{ path: 'a', byName: [] }, '"byName" must be an object, not an empty array'],
    [{ path: 'a', zero: 1 }, '"zero" must be 0 or true, not 1'],
    [{ path: 'a', step: 1 }, '"step" must be an object, not 1'],
    [{ path: 'a', step: {} }, '"step.kind" must be one of "wait", "stop", not nothing'],
    [{ path: 'a', step: { kind: 'toString' } }, '"step.kind" must be one of'],
    [{ path: 'a', step: { kind: 'wait' } }, 'the field "step.ms" is missing'],
    [{ path: 'a', step: { kind: 'stop', ms: 1 } }, 'unknown field "step.ms"'],
  ])('names the mismatch of %j', (value, text) => {
    const [first, ...more] = texts(value);
    expect(first).toContain(text);
    expect(more).toEqual([]);
  });

  it('finds every mismatch, and names the path of each', () => {
    const value = { at: { limit: 0, step: { kind: 'wait', ms: 0 }, x: 1 } };
    expect(checkShape(objectOf({ at: SHAPE }), value)).toMatchObject([
      { kind: 'wrong', path: 'at.limit', given: 0 },
      { kind: 'wrong', path: 'at.step.ms', expected: 'a whole number of at least 1' },
      { kind: 'unknown', path: 'at.x' },
      { kind: 'missing', path: 'at.path', expected: 'a string' },
    ]);
  });

  it('quotes a bounded part of names and values, on one line', () => {
    expect(texts({ path: 'a', ['x'.repeat(1000)]: 1 })[0]?.length).toBeLessThan(250);
    expect(texts({ path: 'a', mode: 'x'.repeat(1000) })).toEqual([
      '"mode" must be one of "lines", "files", not a string',
    ]);
    expect(texts({ path: 'a', 'new\nline': 1 })[0]).not.toContain('\n');
  });
});

describe('toJsonSchema', () => {
  it('keeps JSON Schema unchanged, and converts other shapes', () => {
    expect(toJsonSchema(SHAPE)).toEqual({
      type: 'object',
      additionalProperties: false,
      required: ['path'],
      properties: {
        path: { type: 'string' },
        limit: { type: 'integer', minimum: 1, maximum: 10 },
        share: { type: 'number' },
        least: { type: 'integer', minimum: 0 },
        all: { type: 'boolean' },
        mode: { type: 'string', enum: ['lines', 'files'] },
        anything: {},
        body: { anyOf: [{ type: 'string' }, {}] },
        rules: {
          type: 'array',
          items: {
            anyOf: [
              { type: 'string', minLength: 1 },
              {
                type: 'object',
                additionalProperties: false,
                minProperties: 1,
                properties: {
                  paths: { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1 },
                  tools: { type: 'array', items: { type: 'string', minLength: 1 } },
                },
              },
            ],
          },
        },
        byName: { type: 'object', additionalProperties: { type: 'boolean' } },
        zero: { enum: [0, true] },
        step: {
          oneOf: [
            {
              type: 'object',
              additionalProperties: false,
              properties: { kind: { const: 'wait' }, ms: { type: 'integer', minimum: 1 } },
              required: ['kind', 'ms'],
            },
            {
              type: 'object',
              additionalProperties: false,
              properties: { kind: { const: 'stop' } },
              required: ['kind'],
            },
          ],
        },
      },
    });
  });
});
