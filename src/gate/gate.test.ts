import { describe, expect, it } from 'vitest';
import { whyNoEvent } from './gate.ts';

describe('whyNoEvent', () => {
  it.each<[unknown]>([
    [{ kind: 'read', path: 'a' }],
    [{ kind: 'read', path: 'a', content: 'x', ranges: [{ from: 1, to: 1 }] }],
    [{ kind: 'read', path: 'a', ranges: [{ from: 3, to: Number.POSITIVE_INFINITY }] }],
    [{ kind: 'write', path: 'a', content: Buffer.from('x') }],
    [{ kind: 'delete', path: 'a' }],
    [{ kind: 'move', source: 'a', destination: 'b' }],
    [{ kind: 'command', command: 'make' }],
  ])('%j can be noted', (event) => {
    expect(whyNoEvent(event)).toBeUndefined();
  });

  it.each<[unknown, string]>([
    [undefined, 'an event must be an object'],
    ['read', 'an event must be an object'],
    [{}, 'kind must be one of read'],
    [{ kind: 'look', path: 'a' }, 'kind must be one of'],
    [{ kind: 'read', path: 'a', content: 5 }, 'content must be a string'],
    [{ kind: 'write', path: 'a', content: 5 }, 'content must be'],
    [{ kind: 'read', path: 'a', redacted: 'no' }, 'redacted must be true or false'],
    [{ kind: 'read', path: 'a', range: [{ from: 1, to: 1 }] }, 'did you mean "ranges"?'],
    [{ kind: 'read', path: 'a', ranges: 5 }, 'ranges must be an array'],
    [{ kind: 'read', path: 'a', ranges: [null] }, 'ranges must be'],
    [{ kind: 'read', path: 'a', ranges: [{ from: 0, to: 2 }] }, 'ranges must be'],
    [{ kind: 'read', path: 'a', ranges: [{ from: 2, to: 1 }] }, 'ranges must be'],
    [{ kind: 'read', path: 'a', ranges: [{ from: '1', to: '1' }] }, 'ranges must be'],
  ])('%j is refused', (event, reason) => {
    expect(whyNoEvent(event)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      detail: { reason: expect.stringContaining(reason) },
    });
  });
});
