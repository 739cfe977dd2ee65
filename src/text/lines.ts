import type { LineRange } from '../model/coverage.ts';

/** A line ending. A lone `\r` does not end a line. `''` only for a last line without a newline. */
export type Ending = '\n' | '\r\n' | '';

/** A range of offsets, `end` exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The number of lines. A final newline does not start another line, and an empty text has none. */
export function lineCount(text: string): number {
  const newlines = countNewlines(text, text.length);
  return text === '' || text.endsWith('\n') ? newlines : newlines + 1;
}

/**
 * The 1-based number of the line that contains the character at `offset`. An offset at the end of the text belongs to
 * the last line.
 */
export function lineAt(text: string, offset: number): number {
  return countNewlines(text, offset) + 1;
}

/** The lines that a span touches. An empty span touches the line of its position. */
export function linesOfSpan(text: string, span: Span): LineRange {
  const from = lineAt(text, span.start);
  const last = Math.max(span.start, span.end - 1);
  return { from, to: from + countNewlines(text, last, span.start) };
}

/** Splits a text into lines with their endings; joining them restores the text. */
export function splitLines(text: string): string[] {
  const lines: string[] = [];
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    lines.push(text.slice(start, end + 1));
    start = end + 1;
  }
  if (start < text.length) lines.push(text.slice(start));
  return lines;
}

/** Lines `from` to `to` with their endings. Lines that do not exist are skipped. */
export function sliceLines(text: string, range: LineRange): string {
  const start = lineStart(text, range.from);
  if (start === undefined) return '';
  const end = lineStart(text.slice(start), range.to - range.from + 2);
  return end === undefined ? text.slice(start) : text.slice(start, start + end);
}

/** Offset of the beginning of a 1-based line; undefined past the last line. A final newline does not begin a line. */
export function lineStart(text: string, line: number): number | undefined {
  let start = 0;
  for (let passed = 1; passed < line; passed += 1) {
    const end = text.indexOf('\n', start);
    if (end === -1) return undefined;
    start = end + 1;
  }
  return start < text.length ? start : undefined;
}

export function endingOf(line: string): Ending {
  if (line.endsWith('\r\n')) return '\r\n';
  return line.endsWith('\n') ? '\n' : '';
}

export function withoutEnding(line: string): string {
  return line.slice(0, line.length - endingOf(line).length);
}

/** The text with every line ending written as `\n`. */
export function toLf(text: string): string {
  return text.includes('\r\n') ? text.replaceAll('\r\n', '\n') : text;
}

/** The number of newlines in `text` between `from` and `end`. */
export function countNewlines(text: string, end: number, from = 0): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
