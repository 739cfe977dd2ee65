import type { Span } from './lines.ts';

/** A stretch of the old text and the stretch that replaces it. */
export interface Change {
  readonly before: Span;
  readonly after: Span;
}

/**
 * The changes made by replacing `spans` with texts of these lengths. Spans must be ascending and
 * disjoint.
 */
export function changesOf(spans: readonly Span[], lengths: readonly number[]): Change[] {
  let shift = 0;
  return spans.map((span, index) => {
    const start = span.start + shift;
    const end = start + (lengths[index] ?? 0);
    shift = end - span.end;
    return { before: span, after: { start, end } };
  });
}

/**
 * Composes two steps: `first` leads from A to B, `second` from B to C, the result from A to C. Both
 * must be ascending and disjoint. Changes that meet in B become one. Linear in their number.
 */
export function composeChanges(first: readonly Change[], second: readonly Change[]): Change[] {
  const composed: Change[] = [];
  let i = 0;
  let j = 0;
  let toBefore = 0;
  let toAfter = 0;
  while (i < first.length || j < second.length) {
    const start = Math.min(
      first[i]?.after.start ?? Number.POSITIVE_INFINITY,
      second[j]?.before.start ?? Number.POSITIVE_INFINITY,
    );
    const before = start + toBefore;
    const after = start + toAfter;
    let end = start;
    for (;;) {
      const a = first[i];
      const b = second[j];
      if (a !== undefined && a.after.start <= end) {
        end = Math.max(end, a.after.end);
        toBefore = a.before.end - a.after.end;
        i += 1;
      } else if (b !== undefined && b.before.start <= end) {
        end = Math.max(end, b.before.end);
        toAfter = b.after.end - b.before.end;
        j += 1;
      } else break;
    }
    composed.push({
      before: { start: before, end: end + toBefore },
      after: { start: after, end: end + toAfter },
    });
  }
  return composed;
}
