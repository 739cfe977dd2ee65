import { describe, expect, it } from 'vitest';
import type { ObjectShape } from '../model/shape.ts';
import { checkArguments, type UnknownArguments } from './tool.ts';

const SCHEMA: ObjectShape = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    limit: { type: 'integer', minimum: 1, maximum: 10 },
    share: { type: 'number' },
    all: { type: 'boolean' },
    mode: { type: 'string', enum: ['lines', 'files'] },
    edits: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: { old: { type: 'string' } },
        required: ['old'],
        additionalProperties: false,
      },
    },
  },
  required: ['path'],
  additionalProperties: false,
};
const checked = (args: unknown, unknown: UnknownArguments = 'refuse') =>
  checkArguments(SCHEMA, args, unknown);
const check = (args: unknown) => {
  const result = checked(args);
  return 'reason' in result ? result.reason : undefined;
};

describe('checkArguments', () => {
  it.each([
    ['only what is required', { path: 'a' }],
    [
      'everything',
      { path: '', limit: 10, share: 0.5, all: false, mode: 'files', edits: [{ old: '' }, { old: 'x' }] },
    ],
  ])('accepts %s', (_what, args) => {
    expect(check(args)).toBeUndefined();
  });

  it.each([
    ['in a code fence', '```json\n{"path":"a","mode":"files"}\n```'],
    ['with trailing commas', '{"path":"a","mode":"files",}'],
    ['in a fence, with a comma', '```\n{ "path": "a", "mode": "files", \n}\n```\n'],
  ])('repairs arguments sent as JSON text %s, and says so', (_what, text) => {
    expect(checked(text)).toEqual({
      args: { path: 'a', mode: 'files' },
      note: expect.stringContaining('not valid JSON'),
    });
  });

  it('takes arguments sent as JSON text, and does not repair what is in a string', () => {
    expect(checked('{"path":"a"}')).toEqual({ args: { path: 'a' } });
    expect(checked('{"path":"[1,]",}')).toMatchObject({ args: { path: '[1,]' } });
    expect(checked({ path: 'a', edits: '[{"old":"x"},]' })).toMatchObject({
      args: { edits: [{ old: 'x' }] },
      note: expect.any(String),
    });
    expect(check('{"path":')).toMatch(/must be an object/);
  });

  it.each([
    [
      { path: 'a', append: true },
      'unknown argument "append" (known are path, limit, share, all, mode, edits)',
    ],
    [{ path: 'a', limits: 3 }, 'unknown argument "limits"; did you mean "limit"?'],
    [{ path: 'a', toString: 1 }, /^unknown argument "toString"/],
    [JSON.parse('{"__proto__":{"path":"a"}}'), /unknown argument "__proto__"/],
    [{}, 'the argument "path" is missing'],
    [Object.create({ path: 'a' }), 'the argument "path" is missing'],
    [{ path: 7 }, '"path" must be a string, not 7'],
    [{ path: null }, '"path" must be a string, not null'],
    [{ path: ['a'] }, '"path" must be a string, not an array'],
    [{ path: 'a', limit: 'three' }, '"limit" must be a whole number from 1 to 10, not "three"'],
    [{ path: 'a', limit: '1.5' }, '"limit" must be a whole number from 1 to 10, not "1.5"'],
    [{ path: 'a', limit: '11' }, '"limit" must be a whole number from 1 to 10, not 11'],
    [{ path: 'a', edits: '{}' }, '"edits" must be an array of at least 1, not "{}"'],
    [{ path: 'a', edits: '[{"old":7}]' }, '"edits[0].old" must be a string, not 7'],
    [{ file_path: 'a' }, 'unknown argument "file_path"; did you mean "path"?'],
    [{ path: 'a', limit: 1.5 }, '"limit" must be a whole number from 1 to 10, not 1.5'],
    [{ path: 'a', limit: 0 }, '"limit" must be a whole number from 1 to 10, not 0'],
    [{ path: 'a', limit: 11 }, '"limit" must be a whole number from 1 to 10, not 11'],
    [{ path: 'a', share: Number.NaN }, '"share" must be a number, not NaN'],
    [{ path: 'a', all: 'true' }, '"all" must be true or false, not "true"'],
    [{ path: 'a', mode: 'words' }, '"mode" must be one of "lines", "files", not "words"'],
    [{ path: 'a', edits: {} }, '"edits" must be an array of at least 1, not an object'],
    [{ path: 'a', edits: [] }, '"edits" must be an array of at least 1, not an empty array'],
    [{ path: 'a', edits: [{ old: 'x' }, {}] }, 'the argument "edits[1].old" is missing'],
    [
      { path: 'a', edits: [{ old: 'x', olds: 1 }] },
      'unknown argument "edits[0].olds"; did you mean "edits[0].old"?',
    ],
    [{ path: 'a', edits: [null] }, '"edits[0]" must be an object with old, not null'],
    [[], /^the arguments must be an object with path, .*, not an empty array$/],
    [undefined, /^the arguments must be an object with path, .*, not nothing$/],
  ])('refuses %j', (args, reason) => {
    expect(check(args)).toMatch(typeof reason === 'string' ? literally(reason) : reason);
  });

  it.each([
    [{ path: 'a', limit: null, mode: null, edits: null }, { path: 'a' }],
    [
      { path: 'a', limit: '5', share: '-2' },
      { path: 'a', limit: 5, share: -2 },
    ],
    [
      { path: 'a', edits: '[{"old":"x"}]' },
      { path: 'a', edits: [{ old: 'x' }] },
    ],
    [
      { path: 'a', edits: ['{"old":"x"}'] },
      { path: 'a', edits: [{ old: 'x' }] },
    ],
    [{ path: '[1]' }, { path: '[1]' }],
    ['{"path":"a"}', { path: 'a' }],
  ])('accepts %j as intended', (args, meant) => {
    expect(checked(args)).toEqual({ args: meant });
  });

  it('drops unknown arguments if the dialect ignores them', () => {
    const args = { path: 'a', more: 1, edits: [{ old: 'x', more: 2 }] };
    expect(checked(args, 'ignore')).toEqual({ args: { path: 'a', edits: [{ old: 'x' }] } });
  });

  it('quotes a bounded part of an unknown argument', () => {
    const reason = check({ path: 'a', ['x'.repeat(1000)]: 1 }) ?? '';
    expect(reason.length).toBeLessThan(200);
    expect(check({ path: 'a', 'new\nline': 1 })).not.toContain('\n');
  });
});

function literally(text: string): RegExp {
  return new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
}
