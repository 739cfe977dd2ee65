import { endingUsed, withEnding } from '../endings.ts';
import { lineAt, type Span, splitLines } from '../lines.ts';
import { findAnchor } from '../match.ts';
import type { Landing, Rivals, Texts } from './landing.ts';

/** Formats in which tools print a numbered line: with a tab (Lookfirst), an arrow, a colon (grep). */
const FORMS: readonly RegExp[] = [/^ *(\d{1,7})\t/, /^ *(\d{1,7})→/, /^(\d{1,7}):/, /^ *(\d{1,7}): /];

/**
 * Matches an anchor that was copied with the line numbers of a read. Every line must have a number in one format, and
 * the numbers must be correct for the only place of the remaining text. The numbers never choose between two places.
 */
export function landNumbered(text: string, { oldString, newString }: Texts): Landing | Rivals | undefined {
  for (const form of FORMS) {
    const anchor = unnumbered(oldString, form);
    if (anchor === undefined) continue;
    const found = findAnchor(text, anchor.text, { loosest: 'trailing-space' });
    if (found === undefined) continue;
    if (found.count > 1) return { spans: found.spans };
    const [span] = found.spans;
    if (span === undefined || !isAt(text, span, anchor.first)) continue;
    const replacement = withoutNumbers(newString, form, anchor.first);
    const used = endingUsed(text.slice(span.start, span.end)) ?? endingUsed(text);
    return {
      tier: 'line-numbers',
      span,
      replacement: withEnding(replacement, used === 'mixed' ? undefined : used),
    };
  }
  return undefined;
}

/** Whether the span begins at the start of this line. A read numbers only whole lines. */
function isAt(text: string, span: Span, line: number): boolean {
  const begins = span.start === 0 || text[span.start - 1] === '\n';
  return begins && lineAt(text, span.start) === line;
}

/** Returns undefined unless every line has a number and the numbers are consecutive. */
function unnumbered(
  text: string,
  form: RegExp,
): { readonly text: string; readonly first: number } | undefined {
  let first: number | undefined;
  const lines: string[] = [];
  for (const [index, line] of splitLines(text).entries()) {
    const [mark, digits] = form.exec(line) ?? [];
    if (mark === undefined) return undefined;
    first ??= Number(digits);
    if (Number(digits) !== first + index) return undefined;
    lines.push(line.slice(mark.length));
  }
  return first === undefined ? undefined : { text: lines.join(''), first };
}

/** The new text without numbers that count up from the first one. Lines without a number are the model's own. */
function withoutNumbers(text: string, form: RegExp, first: number): string {
  let last = first - 1;
  return splitLines(text)
    .map((line) => {
      const [mark, digits] = form.exec(line) ?? [];
      if (mark === undefined || Number(digits) <= last) return line;
      last = Number(digits);
      return line.slice(mark.length);
    })
    .join('');
}
