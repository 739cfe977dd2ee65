import type { LineRange } from '../model/coverage.ts';
import { viewOf } from './buffer-view.ts';

const NEWLINE = 10;
const FOUR_NEWLINES = 0x0a0a0a0a;
const LOW_BITS = 0x7f7f7f7f;
const ONES = 0x01010101;
/**
 * Number of words per round. Chosen so that the newline count of each byte position fits in an 8-bit counter;
 * a multiple of four.
 */
const WORDS_PER_ROUND = 252;

/**
 * The number of lines, by the rules of lines.ts. For encodings in which `\n` is the single byte 0A:
 * ASCII, UTF-8 and legacy encodings, not UTF-16.
 */
export function countLines(bytes: Uint8Array): number {
  const newlines = countNewlineBytes(bytes);
  return bytes.length === 0 || bytes[bytes.length - 1] === NEWLINE ? newlines : newlines + 1;
}

/** The bytes of lines `from` to `to` with their endings, not copied. Lines that do not exist are skipped. */
export function sliceLineBytes(bytes: Uint8Array, range: LineRange): Uint8Array {
  const buffer = viewOf(bytes);
  const start = skipLines(buffer, 0, range.from - 1);
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

/** Keeps four 8-bit counters in one number. The unrolled loop takes half the time of one word per step. */
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

function skipLines(buffer: Buffer, from: number, lines: number): number {
  let at = from;
  for (let passed = 0; passed < lines && at < buffer.length; passed += 1) {
    const end = buffer.indexOf(NEWLINE, at);
    at = end === -1 ? buffer.length : end + 1;
  }
  return at;
}
