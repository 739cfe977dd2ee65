import { describe, expect, it } from 'vitest';
import { FILE, facts, MISSING, says } from '../../../test/support/judging.ts';
import type { FileKind } from '../../model/path.ts';
import type { JudgedAction } from '../facts.ts';
import { kind } from './always.ts';

describe('kind', () => {
  const actions: JudgedAction[] = ['create', 'overwrite', 'edit', 'insert', 'delete', 'move', 'mkdir'];
  const N = 'NOT_A_FILE';

  it.each<[FileKind, string[]]>([
    // The columns are: create, overwrite, edit, insert, delete, move, mkdir.
    ['file', ['pass', 'pass', 'pass', 'pass', 'pass', 'pass', 'pass']],
    ['directory', ['pass', N, N, N, 'pass', 'pass', 'pass']],
    ['link', ['pass', N, N, N, 'pass', 'pass', 'pass']],
    ['fifo', ['pass', N, N, N, N, N, 'pass']],
    ['socket', ['pass', N, N, N, N, N, 'pass']],
    ['device', ['pass', N, N, N, N, N, 'pass']],
  ])('allows only suitable actions on a %s', (kindOf, expected) => {
    const target = { ...FILE, kind: kindOf };
    expect(actions.map((action) => says(kind, facts({ action, target })))).toEqual(expected);
  });

  it('refuses to change, delete or move a file without a write bit, even if it is empty', () => {
    const target = { ...FILE, readOnly: true, empty: true };
    const R = 'READ_ONLY';
    expect(actions.map((action) => says(kind, facts({ action, target })))).toEqual([
      'pass',
      R,
      R,
      R,
      R,
      R,
      'pass',
    ]);
  });

  it('does not treat a read-only folder as a read-only file', () => {
    const target = { ...FILE, kind: 'directory', readOnly: true } as const;
    expect(says(kind, facts({ action: 'delete', target }))).toBe('pass');
  });

  it('passes if the path does not exist', () => {
    expect(says(kind, facts({ target: MISSING }))).toBe('pass');
  });

  it('names the kind in the refusal', () => {
    const target = { ...FILE, kind: 'fifo' } as const;
    expect(kind(facts({ target }), Object.create(null))).toMatchObject({
      refusal: { detail: { kind: 'fifo' } },
    });
  });
});
