import { describe, expect, it } from 'vitest';
import { whyNoIntent } from './check-intent.ts';

describe('whyNoIntent', () => {
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
  ])('%j can be judged', (intent) => {
    expect(whyNoIntent(intent)).toBeUndefined();
  });

  it.each<[unknown, string]>([
    [undefined, 'a change must be an object'],
    [null, 'a change must be an object'],
    ['write', 'a change must be an object'],
    [{}, 'kind must be one of write, edit'],
    [[], 'a change must be an object'],
    [{ kind: 'toString' }, 'kind must be one of'],
    [{ kind: 'write', path: 'a' }, 'content must be a string or a Uint8Array'],
    [{ kind: 'write', path: 'a', content: new ArrayBuffer(1) }, 'content must be'],
    [{ kind: 'write', path: 'a', content: new Uint16Array(1) }, 'content must be'],
    [{ kind: 'edit', path: 'a' }, 'edits must be an array'],
    [{ kind: 'edit', path: 'a', edits: 'x' }, 'edits must be an array'],
    [{ kind: 'edit', path: 'a', edits: [null] }, 'an edit must be an object'],
    [{ kind: 'edit', path: 'a', edits: [{ oldString: 'x' }] }, 'oldString and newString'],
    [{ kind: 'edit', path: 'a', edits: [{ ...edit, newString: 5 }] }, 'oldString and newString'],
    [{ kind: 'edit', path: 'a', edits: [{ ...edit, replaceAll: 'no' }] }, 'replaceAll must be'],
    [{ kind: 'insert', path: 'a', content: 5 }, 'content must be a string'],
    [{ kind: 'delete', path: 'a', recursive: 'no' }, 'recursive must be true or false'],
    [{ kind: 'write', path: 'a', content: '', expectedRevision: null }, 'expectedRevision must be a string'],
    [{ kind: 'write', path: 'a', content: '', makeParents: 0 }, 'makeParents must be true or false'],
    [{ kind: 'write', path: 'a', content: '', expected_revision: 'x' }, 'did you mean "expectedRevision"?'],
    [{ kind: 'write', path: 'a', content: '', toString: 'x' }, 'there is no field "toString"'],
    [{ kind: 'edit', path: 'a', edits: [{ ...edit, replace_all: true }] }, 'did you mean "replaceAll"?'],
    [
      { kind: 'edit', path: 'a', edits: [{ ...edit, occurrences: '2' }] },
      'occurrences must be a whole number',
    ],
    [
      { kind: 'insert', path: 'a', content: '', afterLine: null },
      'afterLine must be a whole number from 0 on',
    ],
    [{ kind: 'insert', path: 'a', content: '', afterLine: -1 }, 'afterLine must be'],
    [{ kind: 'move', source: 'a', destination: 'b', overwrite: 'false' }, 'overwrite must be true or false'],
    [{ kind: 'apply', changes: [], dry_run: true }, 'did you mean "dryRun"?'],
    [{ kind: 'apply' }, 'changes must be an array'],
    [{ kind: 'apply', changes: [], dryRun: 'no' }, 'dryRun must be true or false'],
    [{ kind: 'apply', changes: [null] }, 'a change must be an object'],
    [{ kind: 'apply', changes: [{ kind: 'apply', changes: [] }] }, 'kind must be one of'],
  ])('%j is refused', (intent, reason) => {
    expect(whyNoIntent(intent)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      next: 'fix_argument',
      detail: { reason: expect.stringContaining(reason) },
    });
  });

  it('says which change of a batch, what was tried and where', () => {
    const changes = [
      { kind: 'mkdir', path: 'd' },
      { kind: 'write', path: 'a.txt' },
    ];
    expect(whyNoIntent({ kind: 'apply', changes })).toMatchObject({
      action: 'overwrite',
      path: 'a.txt',
      detail: { index: 1 },
    });
    expect(whyNoIntent({ kind: 'write', path: 5 })).toMatchObject({ path: '' });
  });
});
