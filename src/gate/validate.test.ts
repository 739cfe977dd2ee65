import { describe, expect, it } from 'vitest';
import { validateEvent, validateIntent } from './validate.ts';

describe('validateIntent', () => {
  const edit = { oldString: 'a', newString: 'b' };

  it.each<[unknown]>([
    [{ kind: 'write', path: 'a', content: '' }],
    [{ kind: 'write', path: 'a', content: Buffer.from('x') }],
    [{ kind: 'edit', path: 'a', edits: [edit, { ...edit, replaceAll: true }] }],
    [{ kind: 'insert', path: 'a', content: 'x' }],
    [{ kind: 'insert', path: 'a', content: 'x', afterLine: 0, expectedRevision: undefined }],
    [{ kind: 'delete', path: 'a', recursive: false }],
    [{ kind: 'move', source: 'a', destination: 'b' }],
    [{ kind: 'mkdir', path: 'a' }],
    [{ kind: 'apply', changes: [] }],
    [{ kind: 'apply', changes: [{ kind: 'mkdir', path: 'a' }], dryRun: true }],
  ])('accepts %j', (intent) => {
    expect(validateIntent(intent)).toBeUndefined();
  });

  it.each<[unknown, string]>([
    [undefined, 'a change must be an object'],
    [null, 'a change must be an object'],
    ['write', 'a change must be an object'],
    [{}, '"kind" must be one of "write", "edit"'],
    [[], 'a change must be an object'],
    [{ kind: 'toString' }, '"kind" must be one of'],
    [{ kind: 'write', path: 'a' }, 'the field "content" is missing'],
    [{ kind: 'write', path: 'a', content: 5 }, '"content" must be a string or a Uint8Array, not 5'],
    [{ kind: 'write', path: 'a', content: new ArrayBuffer(1) }, '"content" must be'],
    [{ kind: 'write', path: 'a', content: new Uint16Array(1) }, '"content" must be'],
    [{ kind: 'edit', path: 'a' }, 'the field "edits" is missing'],
    [{ kind: 'edit', path: 'a', edits: 'x' }, '"edits" must be an array'],
    [{ kind: 'edit', path: 'a', edits: [null] }, '"edits[0]" must be an object with oldString'],
    [{ kind: 'edit', path: 'a', edits: [{ oldString: 'x' }] }, 'the field "edits[0].newString" is missing'],
    [
      { kind: 'edit', path: 'a', edits: [{ ...edit, newString: 5 }] },
      '"edits[0].newString" must be a string, not 5',
    ],
    [{ kind: 'edit', path: 'a', edits: [{ ...edit, replaceAll: 'no' }] }, '"edits[0].replaceAll" must be'],
    [{ kind: 'insert', path: 'a', content: 5 }, '"content" must be a string'],
    [{ kind: 'delete', path: 'a', recursive: 'no' }, '"recursive" must be true or false'],
    [
      { kind: 'write', path: 'a', content: '', expectedRevision: null },
      '"expectedRevision" must be a string',
    ],
    [{ kind: 'write', path: 'a', content: '', makeParents: 0 }, '"makeParents" must be true or false'],
    [{ kind: 'write', path: 'a', content: '', expected_revision: 'x' }, 'did you mean "expectedRevision"?'],
    [{ kind: 'write', path: 'a', content: '', toString: 'x' }, 'unknown field "toString"'],
    [
      { kind: 'edit', path: 'a', edits: [{ ...edit, replace_all: true }] },
      'did you mean "edits[0].replaceAll"?',
    ],
    [
      { kind: 'edit', path: 'a', edits: [{ ...edit, occurrences: '2' }] },
      '"edits[0].occurrences" must be a whole number',
    ],
    [
      { kind: 'insert', path: 'a', content: '', afterLine: null },
      '"afterLine" must be a whole number of at least 0',
    ],
    [{ kind: 'insert', path: 'a', content: '', afterLine: -1 }, '"afterLine" must be'],
    [
      { kind: 'move', source: 'a', destination: 'b', overwrite: 'false' },
      '"overwrite" must be true or false',
    ],
    [{ kind: 'apply', changes: [], dry_run: true }, 'did you mean "dryRun"?'],
    [{ kind: 'apply' }, 'the field "changes" is missing'],
    [{ kind: 'apply', changes: [], dryRun: 'no' }, '"dryRun" must be true or false'],
    [{ kind: 'apply', changes: [null] }, 'a change must be an object'],
    [{ kind: 'apply', changes: [{ kind: 'apply', changes: [] }] }, '"kind" must be one of'],
  ])('refuses %j', (intent, reason) => {
    expect(validateIntent(intent)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      next: 'fix_argument',
      detail: { reason: expect.stringContaining(reason) },
    });
  });

  it('names the change of a batch, its action and its path', () => {
    const changes = [
      { kind: 'mkdir', path: 'd' },
      { kind: 'write', path: 'a.txt' },
    ];
    expect(validateIntent({ kind: 'apply', changes })).toMatchObject({
      action: 'overwrite',
      path: 'a.txt',
      detail: { index: 1 },
    });
    expect(validateIntent({ kind: 'write', path: 5 })).toMatchObject({ path: '' });
  });
});

describe('validateEvent', () => {
  it.each<[unknown]>([
    [{ kind: 'read', path: 'a' }],
    [{ kind: 'read', path: 'a', content: 'x', ranges: [{ from: 1, to: 1 }] }],
    [{ kind: 'read', path: 'a', ranges: [{ from: 3, to: Number.POSITIVE_INFINITY }] }],
    [{ kind: 'write', path: 'a', content: Buffer.from('x') }],
    [{ kind: 'delete', path: 'a' }],
    [{ kind: 'move', source: 'a', destination: 'b' }],
    [{ kind: 'command', command: 'make' }],
  ])('accepts %j', (event) => {
    expect(validateEvent(event)).toBeUndefined();
  });

  it.each<[unknown, string]>([
    [undefined, 'an event must be an object'],
    ['read', 'an event must be an object'],
    [{}, '"kind" must be one of "read"'],
    [{ kind: 'look', path: 'a' }, '"kind" must be one of'],
    [{ kind: 'read', path: 'a', content: 5 }, '"content" must be a string'],
    [{ kind: 'write', path: 'a', content: 5 }, '"content" must be'],
    [{ kind: 'read', path: 'a', redacted: 'no' }, '"redacted" must be true or false'],
    [{ kind: 'read', path: 'a', range: [{ from: 1, to: 1 }] }, 'did you mean "ranges"?'],
    [{ kind: 'read', path: 'a', ranges: 5 }, '"ranges" must be an array'],
    [{ kind: 'read', path: 'a', ranges: [null] }, '"ranges[0]" must be lines'],
    [{ kind: 'read', path: 'a', ranges: [{ from: 0, to: 2 }] }, '"ranges[0]" must be lines'],
    [{ kind: 'read', path: 'a', ranges: [{ from: 2, to: 1 }] }, '"ranges[0]" must be lines'],
    [{ kind: 'read', path: 'a', ranges: [{ from: '1', to: '1' }] }, '"ranges[0]" must be lines'],
  ])('refuses %j', (event, reason) => {
    expect(validateEvent(event)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      detail: { reason: expect.stringContaining(reason) },
    });
  });
});
