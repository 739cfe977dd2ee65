import type { LineRange } from '../model/coverage.ts';
import { lineStart, linesOfSpan, sliceLines, toLf } from './lines.ts';
import { findAnchor } from './match.ts';

/** The lines of one anchor in the old and the new text. */
export interface SamePlace {
  readonly before: LineRange;
  readonly after: LineRange;
}

/**
 * Finds an anchor in two versions of a text. Both must contain it exactly once, in the same whole lines, and the line
 * before or after must be the same too. A diff may align such lines differently if similar text was added nearby.
 */
export function samePlace(before: string, after: string, anchor: string): SamePlace | undefined {
  const was = onlyPlace(before, anchor);
  const is = was && onlyPlace(after, anchor);
  if (was === undefined || is === undefined) return undefined;
  if (linesAt(before, was) !== linesAt(after, is)) return undefined;
  const above = lineAbove(before, was);
  const below = lineBelow(before, was);
  const kept =
    (above !== undefined && above === lineAbove(after, is)) ||
    (below !== undefined && below === lineBelow(after, is));
  return kept ? { before: was, after: is } : undefined;
}

function onlyPlace(text: string, anchor: string): LineRange | undefined {
  const found = findAnchor(text, anchor, { loosest: 'line-endings' });
  const [span] = found?.spans ?? [];
  return found?.count === 1 && span !== undefined ? linesOfSpan(text, span) : undefined;
}

function linesAt(text: string, range: LineRange): string {
  return toLf(sliceLines(text, range));
}

function lineAbove(text: string, { from }: LineRange): string | undefined {
  return from === 1 ? undefined : linesAt(text, { from: from - 1, to: from - 1 });
}

function lineBelow(text: string, { to }: LineRange): string | undefined {
  const line = { from: to + 1, to: to + 1 };
  return lineStart(text, line.from) === undefined ? undefined : linesAt(text, line);
}
