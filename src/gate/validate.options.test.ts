import { describe, expect, it } from 'vitest';
import { validateOptions } from './validate.ts';

describe('validateOptions', () => {
  it.each([
    ['find', { path: 'd', limit: 10_000 }],
    ['list', { depth: 3, limit: 1, after: 'a', as: 'names', links: 'inside' }],
    ['list', { as: 'entries', links: 'followed' }],
    ['search', { mode: 'count', context: 20, limit: 1, glob: '*.ts', signal: AbortSignal.abort() }],
    ['run', { timeoutMs: 0.5, network: 'off' }],
    ['undo', { sinceMs: Number.POSITIVE_INFINITY, preview: true }],
  ] as const)('accepts options of %s', (of, options) => {
    expect(validateOptions(options, { of })).toBeUndefined();
  });

  it.each([
    ['find', { limit: 0 }, '"limit" must be a whole number from 1 to 10000, not 0'],
    ['find', { limit: Number.NaN }, '"limit" must be a whole number from 1 to 10000, not NaN'],
    ['search', { limit: 10_001 }, '"limit" must be a whole number from 1 to 10000, not 10001'],
    ['search', { context: 0.5 }, '"context" must be a whole number from 0 to 20, not 0.5'],
    ['search', { mode: 'line' }, 'not "line"; did you mean "lines"?'],
    ['list', { depth: 0 }, '"depth" must be a whole number of at least 1, not 0'],
    ['list', { as: 'tree' }, '"as" must be one of "listing", "entries", "names", not "tree"'],
    ['run', { timeoutMs: 0 }, '"timeoutMs" must be a number above 0, not 0'],
    ['undo', { chnage: 'c1' }, 'unknown option "chnage"; did you mean "change"?'],
    ['read', null, 'the options must be an object with signal'],
  ] as const)('refuses options of %s: %j', (of, options, reason) => {
    expect(validateOptions(options, { of, path: 'd' })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      path: 'd',
      detail: { reason: expect.stringContaining(reason) },
    });
  });
});
