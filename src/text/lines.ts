import type { LineRange } from '../model/coverage.ts';

/** A line ending; `''` for a last line without a newline. A lone `\r` does not end a line. */
export type LineEnding = '\n' | '\r\n' | '';

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
 * The 1-based number of the line at `offset`. After a final newline, this is one more than the last
 * line.
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

export function endingOf(line: string): LineEnding {
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

/**
 * True if the two texts contain the same lines, regardless of line endings. Here, a lone `\r` also
 * counts as a line ending. The last line of either text may lack its ending.
 */
export function sameLines(shown: Buffer, there: Buffer): boolean {
  return shown.equals(there) || plain(shown) === plain(there);
}

function plain(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  const unix = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  return unix.endsWith('\n') ? unix.slice(0, -1) : unix;
}

/** Rewrites every line ending of a text as `ending`; undefined leaves the text unchanged. */
export function withEnding(text: string, ending: LineEnding | undefined): string {
  if (!ending || !text.includes('\n')) return text;
  return text.replaceAll(/\r?\n/g, () => ending);
}

/** The line ending a text uses: `mixed` if there are several kinds, undefined if it has none. */
export function endingUsed(text: string): LineEnding | 'mixed' | undefined {
  if (!text.includes('\n')) return undefined;
  if (!text.includes('\r\n')) return '\n';
  return /(?:^|[^\r])\n/.test(text) ? 'mixed' : '\r\n';
}

/**
 * Returns a function that finds the ending of the line in which a span ends. If that line has none, the function
 * finds the ending of the line before the span. Spans must be passed in ascending order, so that the text is searched
 * only once.
 */
export function neighbourEndings(text: string): (span: Span) => LineEnding | undefined {
  let next = -1;
  return (span) => {
    if (next < span.end && next !== text.length) {
      const found = text.indexOf('\n', span.end);
      next = found === -1 ? text.length : found;
    }
    if (next < text.length) return endingAt(text, next);
    const previous = span.start === 0 ? -1 : text.lastIndexOf('\n', span.start - 1);
    return previous === -1 ? undefined : endingAt(text, previous);
  };
}

function endingAt(text: string, newline: number): LineEnding {
  return newline > 0 && text[newline - 1] === '\r' ? '\r\n' : '\n';
}

/** A line cut to a maximum length, with a mark if it was cut. */
interface ClampedLine {
  readonly text: string;
  readonly clamped: boolean;
}

/** Matches the mark that {@link clampLine} puts at the end of a line it cut. */
export const CLAMP_MARK: RegExp = /… \[\+\d+ characters\]$/;

/**
 * Cuts a line to `maxChars` UTF-16 units, never inside a surrogate pair, and appends the number of
 * missing characters. A shorter line is returned unchanged. `missing`: the number of further
 * characters, if `line` is only the beginning of a line.
 */
export function clampLine(line: string, maxChars: number, missing = 0): ClampedLine {
  if (line.length <= maxChars && missing === 0) return { text: line, clamped: false };
  const last = line.charCodeAt(maxChars - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? maxChars - 1 : maxChars;
  const shown = line.slice(0, end);
  return { text: `${shown}… [+${line.length + missing - shown.length} characters]`, clamped: true };
}

/** Lines cut to a maximum length. */
interface ClampedLines {
  /** The lines, separated by newlines, without one at the end. */
  readonly text: string;
  /** Numbers of the lines that are shown only in part. */
  readonly clamped: readonly number[];
}

/**
 * Numbers the lines of a text as `N<TAB>line`, starting at `first`. A text that ends with a newline
 * gets a last, empty line. `foot`: a text to put after the last line.
 */
export function numberLines(text: string, first: number, foot = ''): string {
  let numbered = '';
  let number = first;
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    numbered += `${number}\t${text.slice(start, end + 1)}`;
    number += 1;
    start = end + 1;
  }
  return `${numbered}${number}\t${text.slice(start)}${foot}`;
}

/** Cuts lines longer than `maxLineChars` and marks them. The first line has the number `first`. */
export function clampLines(text: string, first: number, maxLineChars: number): ClampedLines {
  const clamped: number[] = [];
  const lines = splitLines(text).map((line, index) => {
    const bounded = clampLine(withoutEnding(line), maxLineChars);
    if (bounded.clamped) clamped.push(first + index);
    return bounded.text;
  });
  return { text: lines.join('\n'), clamped };
}

const NEWLINE = 10;

/**
 * The number of lines in encoded text, counted as by `lineCount`. For encodings in which `\n` is
 * the single byte 0A: ASCII, UTF-8 and legacy encodings, not UTF-16.
 */
export function countLines(bytes: Uint8Array): number {
  const newlines = countNewlineBytes(bytes);
  return bytes.length === 0 || bytes[bytes.length - 1] === NEWLINE ? newlines : newlines + 1;
}

/** The bytes of lines `from` to `to` with their endings, not copied. Lines that do not exist are skipped. */
export function sliceLineBytes(bytes: Uint8Array, range: LineRange): Uint8Array {
  const buffer = viewOf(bytes);
  const start = offsetOfLine(buffer, range.from);
  return buffer.subarray(start, skipLines(buffer, start, range.to - range.from + 1));
}

export function countNewlineBytes(bytes: Uint8Array): number {
  const buffer = viewOf(bytes);
  let count = 0;
  for (let at = buffer.indexOf(NEWLINE); at !== -1; at = buffer.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

/** The offset at which a line begins, or the length if there are fewer lines. */
export function offsetOfLine(buffer: Buffer, line: number): number {
  return skipLines(buffer, 0, line - 1);
}

function skipLines(buffer: Buffer, from: number, lines: number): number {
  let at = from;
  for (let passed = 0; passed < lines && at < buffer.length; passed += 1) {
    const end = buffer.indexOf(NEWLINE, at);
    at = end === -1 ? buffer.length : end + 1;
  }
  return at;
}

/**
 * Views the same bytes as a Buffer without copying. Buffer has the native search and compare that Uint8Array
 * lacks.
 */
export function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
