import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Change, changesOf, composeChanges } from './change.ts';

/**
 * Replaces spans of a text by `put`. The `cuts` are offsets. After sorting, the first and second cut
 * delimit one span, the third and fourth the next, and so on. Returns the new text and the changes.
 */
function step(text: string, cuts: readonly number[], put: string): { text: string; changes: Change[] } {
  const sorted = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  const spans = [];
  for (let i = 0; i + 1 < sorted.length; i += 2) spans.push({ start: sorted[i]!, end: sorted[i + 1]! });
  let out = '';
  let at = 0;
  for (const span of spans) {
    out += text.slice(at, span.start) + put;
    at = span.end;
  }
  return {
    text: out + text.slice(at),
    changes: changesOf(
      spans,
      spans.map(() => put.length),
    ),
  };
}

describe('composeChanges', () => {
  it('keeps the text between the changes, over any number of steps', () => {
    const steps = fc.array(
      fc.tuple(fc.array(fc.nat(60), { maxLength: 6 }), fc.constantFrom('', 'X', 'YYYY')),
      {
        maxLength: 5,
      },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const first = Array.from({ length: 40 }, (_, index) => String.fromCharCode(97 + (index % 26))).join(
          '',
        );
        let text = first;
        let changes: Change[] = [];
        for (const [cuts, put] of all) {
          const next = step(text, cuts, put);
          changes = composeChanges(changes, next.changes);
          text = next.text;
        }
        let before = 0;
        let after = 0;
        for (const change of changes) {
          expect(change.before.start).toBeGreaterThanOrEqual(before);
          expect(text.slice(after, change.after.start)).toBe(first.slice(before, change.before.start));
          before = change.before.end;
          after = change.after.end;
        }
        expect(text.slice(after)).toBe(first.slice(before));
      }),
    );
  });

  it('joins changes that touch and keeps others separate', () => {
    const one = changesOf([{ start: 2, end: 4 }], [1]);
    const two = changesOf(
      [
        { start: 3, end: 5 },
        { start: 9, end: 10 },
      ],
      [0, 2],
    );
    expect(composeChanges(one, two)).toEqual([
      { before: { start: 2, end: 6 }, after: { start: 2, end: 3 } },
      { before: { start: 10, end: 11 }, after: { start: 7, end: 9 } },
    ]);
  });
});
