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

interface NumberingOptions {
  /** Right-aligns the numbers to this width. */
  readonly width?: number;
  /** A text to put after the last line. */
  readonly foot?: string;
}

/**
 * Numbers the lines of a text, or of its UTF-8 bytes, as `N<TAB>line`, starting at `first`. A text that ends with a
 * newline gets a last, empty line. Every read needs this function, so it copies four bytes at a time: joining strings
 * takes six times as long.
 */
export function numberLines(
  text: string | Uint8Array,
  first: number,
  { width = 0, foot = '' }: NumberingOptions = {},
): string {
  const source = typeof text === 'string' ? Buffer.from(text, 'utf8') : text;
  const prefixBytes = Math.max(width, String(first + source.length).length) + 1;
  const out = roomFor(source, prefixBytes, foot.length * MAX_CHAR_BYTES);
  const from = new DataView(source.buffer, source.byteOffset, source.length);
  const to = out === ROOM ? ROOM_VIEW : new DataView(out.buffer);
  let number = first;
  let end = putNumber(to, 0, number, width);
  let at = 0;
  let bits = 0;
  // Copies two words (of four bytes) per step, because most such pairs contain no newline.
  for (const last = source.length - 2 * WORD_BYTES; at <= last; ) {
    const one = from.getInt32(at, true);
    const two = from.getInt32(at + WORD_BYTES, true);
    to.setInt32(end, one, true);
    to.setInt32(end + WORD_BYTES, two, true);
    bits |= one | two;
    const inOne = newlineMarks(one);
    const inTwo = newlineMarks(two);
    if ((inOne | inTwo) === 0) {
      at += 2 * WORD_BYTES;
      end += 2 * WORD_BYTES;
      continue;
    }
    const step = inOne === 0 ? WORD_BYTES + bytesTo(inTwo) : bytesTo(inOne);
    at += step;
    end = putNumber(to, end + step, ++number, width);
  }
  for (; at < source.length; at += 1) {
    const byte = from.getUint8(at);
    to.setUint8(end, byte);
    end += 1;
    bits |= byte;
    if (byte === NEWLINE) end = putNumber(to, end, ++number, width);
  }
  const footBytes = out.write(foot, end, 'utf8');
  // Decode ASCII as `latin1`, which is many times faster. Most texts are ASCII.
  const isAscii = (bits & HIGH_BITS) === 0 && footBytes === foot.length;
  return out.toString(isAscii ? 'latin1' : 'utf8', 0, end + footBytes);
}

/**
 * A buffer with room for these lines and their numbers. The lines are counted only if the shared buffer `ROOM` may be
 * too small.
 */
function roomFor(source: Uint8Array, prefixBytes: number, footBytes: number): Buffer {
  if ((source.length + 1) * (prefixBytes + 1) + footBytes <= ROOM.length) return ROOM;
  const lines = countNewlineBytes(source) + 1;
  return Buffer.allocUnsafeSlow(source.length + lines * prefixBytes + footBytes);
}

/**
 * Marks the first newline in a word of four bytes: in the result, the high bit of that byte is set. The bits of
 * higher bytes may be wrong. Returns 0 if the word has no newline.
 */
function newlineMarks(word: number): number {
  const others = word ^ FOUR_NEWLINES;
  return (others - ONES) & ~others & HIGH_BITS;
}

/** The number of bytes of a word up to and including its first mark; see `newlineMarks`. */
function bytesTo(marks: number): number {
  return (ctz32(marks) >> 3) + 1;
}

/** Writes a number and a tab, and returns the offset after them. May overwrite the byte at that offset. */
function putNumber(out: DataView, at: number, number: number, width: number): number {
  if (width === 0) return putDigits(out, at, number);
  let start = at;
  for (let bound = 10 ** (width - 1); bound > number && bound >= 10; bound /= 10) {
    out.setUint8(start, SPACE);
    start += 1;
  }
  return putDigits(out, start, number);
}

/** Writes digits and a tab. Divides by 10 and 100 with a multiplication and a shift, exact for small numbers. */
function putDigits(out: DataView, at: number, number: number): number {
  if (number >= 1000) {
    const thousands = (number / 1000) | 0;
    // The last three digits overwrite the tab that `putDigits` writes after the thousands.
    return putThree(out, putDigits(out, at, thousands) - 1, number - thousands * 1000);
  }
  if (number >= 100) return putThree(out, at, number);
  if (number < 10) {
    out.setInt16(at, ONE_DIGIT + number, true);
    return at + 2;
  }
  const tens = (number * 103) >> 10;
  out.setInt32(at, TWO_DIGITS + tens + ((number - tens * 10) << 8), true);
  return at + 3;
}

function putThree(out: DataView, at: number, number: number): number {
  const hundreds = (number * 41) >> 12;
  const rest = number - hundreds * 100;
  const tens = (rest * 103) >> 10;
  out.setInt32(at, THREE_DIGITS + hundreds + (tens << 8) + ((rest - tens * 10) << 16), true);
  return at + 4;
}

/** The number of zero bits below the lowest bit that is 1. */
function ctz32(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
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
const FOUR_NEWLINES = 0x0a0a0a0a;
const LOW_BITS = 0x7f7f7f7f;
const ONES = 0x01010101;
const HIGH_BITS = 0x80808080 | 0;
const WORD_BYTES = 4;
/** UTF-8 needs at most this many bytes for one UTF-16 unit. */
const MAX_CHAR_BYTES = 3;
/** A shared buffer: numbering is synchronous, and allocating a buffer takes as long as the numbering. */
const ROOM = Buffer.allocUnsafeSlow(1 << 18);
const ROOM_VIEW = new DataView(ROOM.buffer);
const SPACE = 32;
/** The characters `0` and tab as one little-endian word, to which the digit is added. */
const ONE_DIGIT = 0x0930;
const TWO_DIGITS = 0x093030;
const THREE_DIGITS = 0x09303030;
/**
 * `countNewlineBytes` counts this many words (of four bytes) at a time. Each byte position of a
 * word has an 8-bit counter, which could overflow after more words. `countRound` requires a
 * multiple of four.
 */
const WORDS_PER_ROUND = 252;

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

/** Counts newlines in words of four bytes, so that the cost does not depend on the line lengths. */
export function countNewlineBytes(bytes: Uint8Array): number {
  if (bytes.length < WORDS_PER_ROUND) return countOneByOne(bytes, 0, bytes.length);
  const skew = (4 - (bytes.byteOffset & 3)) & 3;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + skew, (bytes.length - skew) >> 2);
  const rounds = words.length & ~3;
  let count = countOneByOne(bytes, 0, skew) + countOneByOne(bytes, skew + rounds * 4, bytes.length);
  for (let at = 0; at < rounds; at += WORDS_PER_ROUND) {
    const sums = countRound(words, at, Math.min(rounds, at + WORDS_PER_ROUND));
    count += (sums & 255) + ((sums >>> 8) & 255) + ((sums >>> 16) & 255) + (sums >>> 24);
  }
  return count;
}

/**
 * Counts the newlines of some words (of four bytes), separately for each of the four byte
 * positions. Returns four 8-bit counters in one number. Four words per step halve the time.
 */
function countRound(words: Int32Array, from: number, to: number): number {
  let sums = 0;
  for (let at = from; at < to; at += 4) {
    sums +=
      newlinesIn(words[at] ?? 0) +
      newlinesIn(words[at + 1] ?? 0) +
      newlinesIn(words[at + 2] ?? 0) +
      newlinesIn(words[at + 3] ?? 0);
    sums |= 0;
  }
  return sums;
}

/** Returns a word with a 1 in each byte where `word` has a newline. */
function newlinesIn(word: number): number {
  const others = word ^ FOUR_NEWLINES;
  return (~(((others & LOW_BITS) + LOW_BITS) | others) >>> 7) & ONES;
}

function countOneByOne(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at += 1) if (bytes[at] === NEWLINE) count += 1;
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
