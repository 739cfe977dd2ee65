import { describe, expect, it } from 'vitest';
import { carryCoverage } from '../text/change.ts';
import { planEdits } from './plan-text.ts';

const OPTIONS = { path: 'a.txt', quotes: 'off', loosest: 'punctuation', matching: 'safe' } as const;

describe('the line changes of edits', () => {
  it('are one change if two edits share a line', () => {
    const edits = [
      { oldString: 'B\nc', newString: '1' },
      { oldString: 'd\ne', newString: '2' },
    ];
    const planned = planEdits(Buffer.from('AB\ncxd\nef\ng\n'), edits, OPTIONS);
    if (!planned.ok) throw new Error(planned.kind);
    expect(Buffer.from(planned.bytes).toString()).toBe('A1x2f\ng\n');
    expect(planned.changes).toEqual([
      { beforeStart: 0, beforeEnd: 3, afterStart: 0, afterEnd: 1, mixed: 'all' },
    ]);
    // The new first line begins with text of line 1, which was not seen.
    const seen = { kind: 'lines', ranges: [{ from: 2, to: 4 }] } as const;
    const carry = { changes: planned.changes, addedAre: 'seen', totalLines: 4 } as const;
    expect(carryCoverage(seen, carry)).toEqual({ kind: 'lines', ranges: [{ from: 2, to: 2 }] });
  });

  it('stay apart if the edits are in different lines', () => {
    const edits = [
      { oldString: 'a', newString: '1' },
      { oldString: 'b', newString: '2\n3' },
    ];
    const planned = planEdits(Buffer.from('a\nb\nc\n'), edits, OPTIONS);
    expect(planned).toMatchObject({
      changes: [
        { beforeStart: 0, beforeEnd: 1, afterStart: 0, afterEnd: 1 },
        { beforeStart: 1, beforeEnd: 2, afterStart: 1, afterEnd: 3 },
      ],
    });
  });
});
