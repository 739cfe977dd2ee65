import { describe, expect, it } from 'vitest';
import type { ApplyResult, ChangeResult } from '../model/results.ts';
import { applyOutcome, OUTCOME_KEY, refusalOutcome, successOutcome } from './json.ts';

const change: ChangeResult = {
  path: 'a.txt',
  change: 'c1',
  changed: true,
  created: false,
  sizeBytes: 5,
  revision: 'r',
  replaced: 1,
  notices: [],
};

describe('outcomes for programs', () => {
  it('live under a fixed key', () => {
    expect(OUTCOME_KEY).toBe('dev.lookfirst/outcome');
  });

  it('a refusal has code, path, next step and detail', () => {
    const refusal = { code: 'NO_MATCH', action: 'edit', path: 'a.txt', next: 'read' } as const;
    expect(refusalOutcome(refusal)).toEqual({ ok: false, code: 'NO_MATCH', path: 'a.txt', next: 'read' });
    expect(refusalOutcome({ ...refusal, path: '', detail: { count: 2 } })).toEqual({
      ok: false,
      code: 'NO_MATCH',
      next: 'read',
      detail: { count: 2 },
    });
  });

  it('a success has the fields of its operation, and no undefined ones', () => {
    expect(successOutcome(change)).toEqual({
      ok: true,
      path: 'a.txt',
      revision: 'r',
      created: false,
      changed: true,
      change: 'c1',
    });
    expect(successOutcome()).toEqual({ ok: true });
    expect(successOutcome({ path: 'a', complete: false })).toEqual({ ok: true, path: 'a', complete: false });
    expect(successOutcome({ ...change, notices: [{ kind: 'recreated' }] }).notice).toEqual([
      { kind: 'recreated' },
    ]);
  });

  it('a batch has one change and all notices; a dry run changed nothing', () => {
    const result: ApplyResult = {
      change: 'c9',
      dryRun: false,
      results: [change, { ...change, changed: false, notices: [{ kind: 'xattrs-lost' }] }],
    };
    expect(applyOutcome(result)).toEqual({
      ok: true,
      changed: true,
      change: 'c9',
      notice: [{ kind: 'xattrs-lost' }],
    });
    expect(applyOutcome({ dryRun: true, results: [change] })).toEqual({ ok: true, changed: false });
  });

  it('quotations are bounded', () => {
    const diff = 'z'.repeat(300_000);
    const refusal = {
      code: 'STALE',
      action: 'edit',
      path: 'a',
      next: 'read_again',
      detail: { diff, nearest: diff },
    } as const;
    expect(JSON.stringify(refusalOutcome(refusal)).length).toBeLessThan(50_000);
    const notices = [{ kind: 'changed-elsewhere', diff, truncated: false } as const];
    expect(JSON.stringify(successOutcome({ notices })).length).toBeLessThan(25_000);
  });
});
