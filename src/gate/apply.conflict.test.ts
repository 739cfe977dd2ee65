import { describe, expect, it } from 'vitest';
import { bench } from '../../test/support/disk.ts';
import { conflict } from '../disk/replace.ts';
import { explain } from '../report/explain.ts';
import { conflictRefusal } from './apply.ts';

function edit(): Parameters<typeof conflictRefusal>[0] {
  return { action: 'edit', path: bench([]).place('a.txt').path };
}

describe('a change of a file that another program changed first', () => {
  it.each([
    ['changed', 'it changed while it was being written [STALE]'],
    ['missing', 'it was deleted while it was being written [DELETED]'],
  ] as const)('is refused in one sentence if the file is %s', (reason, sentence) => {
    const text = explain(conflictRefusal(edit(), conflict(reason)), { nowMs: 0 });
    expect(text).toMatch(`refusing to edit a.txt: ${sentence}\n`);
  });

  it('names the files that were set aside', () => {
    const refusal = conflictRefusal(edit(), conflict('changed', { retained: ['/home/kept'] }));
    expect(refusal.detail?.kept).toEqual(['/home/kept']);
  });
});
