import { clampLine } from './clamp.ts';
import { splitLines, withoutEnding } from './lines.ts';

/** Lines in the form in which a read shows them. */
export interface NumberedLines {
  /**
   * The lines joined with `
   * `, without one at the end.
   */
  readonly text: string;
  /** Numbers of the lines that are shown only in part. */
  readonly clamped: readonly number[];
}

/**
 * Numbers the lines of a text, starting at `first`, as `N<TAB>line`. Lines longer than `maxLineChars` are cut and
 * marked.
 */
export function numberLines(text: string, first: number, maxLineChars: number): NumberedLines {
  return showLines(text, { first, maxLineChars }, (line, number) => `${number}\t${line}`);
}

/** Like {@link numberLines}, but without the numbers. */
export function clampLines(text: string, first: number, maxLineChars: number): NumberedLines {
  return showLines(text, { first, maxLineChars }, (line) => line);
}

function showLines(
  text: string,
  bounds: { readonly first: number; readonly maxLineChars: number },
  show: (line: string, number: number) => string,
): NumberedLines {
  const clamped: number[] = [];
  const lines = splitLines(text).map((line, index) => {
    const number = bounds.first + index;
    const bounded = clampLine(withoutEnding(line), bounds.maxLineChars);
    if (bounded.clamped) clamped.push(number);
    return show(bounded.text, number);
  });
  return { text: lines.join('\n'), clamped };
}
