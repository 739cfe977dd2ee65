import { describe, expect, it } from 'vitest';
import { LOOKFIRST } from './dialect.ts';

/** The changes to which `apply_changes` translates these, or the problem. */
function intentsOf(changes: readonly object[]): unknown {
  const call = LOOKFIRST.tools.find(({ name }) => name === 'apply_changes')?.call({ changes });
  return call?.kind === 'apply' ? call.operation.changes : call;
}

describe('the changes of apply_changes', () => {
  it('translates each kind of change', () => {
    expect(
      intentsOf([
        { path: 'a', content: '' },
        { path: 'b', edits: [{ old_string: 'x', new_string: 'y', replace_all: true }] },
        { path: 'c', delete: true },
        { path: 'd', move_to: 'e' },
      ]),
    ).toEqual([
      { kind: 'write', path: 'a', content: '' },
      { kind: 'edit', path: 'b', edits: [{ oldString: 'x', newString: 'y', replaceAll: true }] },
      { kind: 'delete', path: 'c' },
      { kind: 'move', source: 'd', destination: 'e' },
    ]);
  });

  it.each([
    [[{ path: 'a' }], 'changes[0] needs exactly one of content, edits, delete and move_to, not 0'],
    [
      [
        { path: 'a', content: '' },
        { path: 'b', content: '', delete: true },
      ],
      'changes[1] needs exactly one of content, edits, delete and move_to, not 2',
    ],
    [[{ path: 'a', delete: false }], 'changes[0] has "delete": false, which requests no change'],
    [[{ path: 'a', content: '', delete: false }], 'changes[0] has "delete": false, which requests no change'],
  ])('refuses %j', (changes, reason) => {
    expect(intentsOf(changes)).toEqual({ kind: 'problem', reason });
  });
});
