import type { LineRange } from '../model/coverage.ts';
import type { Change } from './change.ts';
import { endingUsed, neighbourEndings, withEnding } from './endings.ts';
import { type Ending, endingOf, lineCount, lineStart } from './lines.ts';

export interface LinesInserted {
  readonly text: string;
  /** The inserted lines, numbered as in the new text; undefined if nothing was inserted. */
  readonly inserted: LineRange | undefined;
  readonly change: Change;
}

/**
 * Inserts whole lines after a line (0 = top, undefined = end). Returns undefined if the line does not exist. The
 * inserted lines use the ending of the line before (at the top: after) them, and the last one always gets an
 * ending. An old last line without newline gets one. Empty content changes nothing.
 */
export function insertAfterLine(
  text: string,
  afterLine: number | undefined,
  content: string,
): LinesInserted | undefined {
  const total = lineCount(text);
  const after = afterLine ?? total;
  if (!Number.isInteger(after) || after < 0 || after > total) return undefined;
  const at = after === total ? text.length : (lineStart(text, after + 1) ?? text.length);
  const lines = content === '' ? '' : wholeLines(text, at, content);
  const end = at + lines.length;
  return {
    text: text.slice(0, at) + lines + text.slice(at),
    inserted: content === '' ? undefined : { from: after + 1, to: after + lineCount(content) },
    change: { before: { start: at, end: at }, after: { start: at, end } },
  };
}

function wholeLines(text: string, at: number, content: string): string {
  const fileEnding = endingAround(text, at);
  const ending = fileEnding ?? (endingUsed(content) === '\r\n' ? '\r\n' : '\n');
  const missing = at > 0 && !text.slice(0, at).endsWith('\n') ? ending : '';
  const lines = withEnding(content, fileEnding);
  return missing + lines + (lines.endsWith('\n') ? '' : ending);
}

function endingAround(text: string, at: number): Ending | undefined {
  const before = endingOf(text.slice(0, at));
  return before === '' ? neighbourEndings(text)({ start: at, end: at }) : before;
}
