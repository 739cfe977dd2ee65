import { viewOf } from './buffer-view.ts';
import { countNewlineBytes } from './byte-lines.ts';
import { countNewlines } from './lines.ts';

/**
 * A text, or its bytes if `
 * ` is the byte 0A. Lengths and offsets are in characters or bytes accordingly.
 */
export type Content = string | Uint8Array;

/** Two different contents without the whole lines that they share at the beginning and the end. */
export interface Middle {
  readonly head: number;
  readonly headLines: number;
  readonly tail: number;
  /** The differing part; bytes are read as Latin-1, one character each. */
  readonly before: string;
  readonly after: string;
}

const NEWLINE = 10;
/** Block sizes for comparing: large blocks for speed, smaller ones to find the exact position. */
const STEPS = [65536, 4096, 256, 16, 1];

/**
 * Removes the equal beginning and end; undefined if the contents are equal. Nothing is decoded or split, so that
 * one changed line in a large file costs little more than a comparison.
 */
export function middleOf<T extends Content>(before: T, after: T): Middle | undefined {
  const a = readerOf(before);
  const b = readerOf(after);
  const limit = Math.min(a.length, b.length);
  const same = advance(limit, (at, size) => a.same(after, { at, otherAt: at, size }));
  if (same === a.length && same === b.length) return undefined;
  const head = a.newlineBefore(same) + 1;
  const tailMatch = advance(limit - head, (at, size) =>
    a.same(after, { at: a.length - at - size, otherAt: b.length - at - size, size }),
  );
  const newline = a.newlineFrom(a.length - tailMatch);
  const tail = newline === -1 ? 0 : a.length - newline - 1;
  return {
    head,
    headLines: a.newlines(head),
    tail,
    before: a.slice(head, a.length - tail),
    after: b.slice(head, b.length - tail),
  };
}

/** The last `count` lines before an offset at the beginning of a line. */
export function linesBefore(content: Content, offset: number, count: number): string {
  const reader = readerOf(content);
  let start = offset;
  for (let passed = 0; passed < count && start > 0; passed += 1) start = reader.newlineBefore(start - 1) + 1;
  return reader.slice(start, offset);
}

/** The first `count` lines from an offset at the beginning of a line. */
export function linesFrom(content: Content, offset: number, count: number): string {
  const reader = readerOf(content);
  let end = offset;
  for (let passed = 0; passed < count && end < reader.length; passed += 1) {
    const newline = reader.newlineFrom(end);
    end = newline === -1 ? reader.length : newline + 1;
  }
  return reader.slice(offset, end);
}

/** Operations that text and bytes have in common. */
interface Reader {
  readonly length: number;
  same(
    other: Content,
    piece: { readonly at: number; readonly otherAt: number; readonly size: number },
  ): boolean;
  newlineFrom(offset: number): number;
  /** Offset of the last newline before an offset, or -1. */
  newlineBefore(offset: number): number;
  /** Number of newlines before an offset. */
  newlines(offset: number): number;
  slice(start: number, end: number): string;
}

function readerOf(content: Content): Reader {
  return typeof content === 'string' ? textReader(content) : byteReader(viewOf(content));
}

function textReader(text: string): Reader {
  return {
    length: text.length,
    same: (other, { at, otherAt, size }) =>
      typeof other === 'string' && text.slice(at, at + size) === other.slice(otherAt, otherAt + size),
    newlineFrom: (offset) => text.indexOf('\n', offset),
    newlineBefore: (offset) => (offset === 0 ? -1 : text.lastIndexOf('\n', offset - 1)),
    newlines: (offset) => countNewlines(text, offset),
    slice: (start, end) => text.slice(start, end),
  };
}

function byteReader(bytes: Buffer): Reader {
  return {
    length: bytes.length,
    same: (other, { at, otherAt, size }) =>
      typeof other !== 'string' && bytes.compare(other, otherAt, otherAt + size, at, at + size) === 0,
    newlineFrom: (offset) => bytes.indexOf(NEWLINE, offset),
    newlineBefore: (offset) => (offset === 0 ? -1 : bytes.lastIndexOf(NEWLINE, offset - 1)),
    newlines: (offset) => countNewlineBytes(bytes.subarray(0, offset)),
    slice: (start, end) => bytes.toString('latin1', start, end),
  };
}

/** The length of the equal stretch of two contents, at most `limit`. */
function advance(limit: number, same: (at: number, size: number) => boolean): number {
  let at = 0;
  for (const size of STEPS) while (at + size <= limit && same(at, size)) at += size;
  return at;
}
