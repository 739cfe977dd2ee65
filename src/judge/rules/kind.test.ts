import { describe, expect, it } from 'vitest';
import { FILE, facts, MISSING, policy, says } from '../../../test/support/judging.ts';
import type { FileKind } from '../../model/path.ts';
import type { JudgedAction } from '../facts.ts';
import { kind } from './kind.ts';

describe('kind', () => {
  const actions: JudgedAction[] = ['create', 'overwrite', 'edit', 'insert', 'delete', 'move', 'mkdir'];
  const N = 'NOT_A_FILE';

  it.each<[FileKind, string[]]>([
    //            create  overwrite edit insert delete  move    mkdir
    ['file', ['pass', 'pass', 'pass', 'pass', 'pass', 'pass', 'pass']],
    ['directory', ['pass', N, N, N, 'pass', 'pass', 'pass']],
    ['link', ['pass', N, N, N, 'pass', 'pass', 'pass']],
    ['fifo', ['pass', N, N, N, N, N, 'pass']],
    ['socket', ['pass', N, N, N, N, N, 'pass']],
    ['device', ['pass', N, N, N, N, N, 'pass']],
  ])('a %s takes only what suits it', (kindOf, expected) => {
    const target = { ...FILE, kind: kindOf };
    expect(actions.map((action) => says(kind, facts({ action, target })))).toEqual(expected);
  });

  it('a file without a write bit is neither changed, deleted nor moved away, even when empty', () => {
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

  it('a file with other names takes no new bytes where the policy says so, and can be taken away', () => {
    const target = { ...FILE, linked: true };
    const P = 'PROTECTED';
    const under = policy({ hardLinks: 'refuse' });
    const ruled = actions.map((action) => says(kind, facts({ action, target }), under));
    expect(ruled).toEqual(['pass', P, P, P, 'pass', 'pass', 'pass']);
    expect(says(kind, facts({ action: 'overwrite', target }))).toBe('pass');
  });

  it('a read-only folder is no read-only file', () => {
    const target = { ...FILE, kind: 'directory', readOnly: true } as const;
    expect(says(kind, facts({ action: 'delete', target }))).toBe('pass');
  });

  it('nothing there passes', () => {
    expect(says(kind, facts({ target: MISSING }))).toBe('pass');
  });

  it('the refusal names the kind', () => {
    const target = { ...FILE, kind: 'fifo' } as const;
    expect(kind(facts({ target }), Object.create(null))).toMatchObject({
      refusal: { detail: { kind: 'fifo' } },
    });
  });
});
