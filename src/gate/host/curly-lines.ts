import { type LineRange, mergeRanges } from '../../model/coverage.ts';
import type { Policy } from '../../model/policy.ts';
import { decodeText } from '../../text/decode.ts';
import { diffLines } from '../../text/diff.ts';
import { splitLines } from '../../text/lines.ts';
import { hasCurlyQuotes, straightenContent } from '../../text/quotes/quotes.ts';

interface Written {
  readonly mode: Policy['quotes'];
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}

/** The new lines of a file in which a change of our own would have straightened quotes. */
export function curlyLines(path: string, { mode, before, after }: Written): readonly LineRange[] {
  const [old, text] = [decodeText(before)?.text, decodeText(after)?.text];
  if (old === undefined || text === undefined || !hasCurlyQuotes(text)) return [];
  const straight = splitLines(straightenContent(path, text, { mode }).text);
  const was = splitLines(old);
  const ranges: LineRange[] = [];
  for (const { beforeStart, beforeEnd, afterStart, afterEnd } of diffLines(old, text).hunks) {
    // Replaced text that had such quotes has them on purpose.
    if (hasCurlyQuotes(was.slice(beforeStart, beforeEnd).join(''))) continue;
    for (const [at, line] of splitLines(text).slice(afterStart, afterEnd).entries())
      if (straight[afterStart + at] !== line)
        ranges.push({ from: afterStart + at + 1, to: afterStart + at + 1 });
  }
  return mergeRanges(ranges);
}
