import { timeOf } from '../json-value.ts';

const PATTERN = Buffer.from('2026-01-02T03:04:05.678Z');
export const TIME_LENGTH: number = PATTERN.length;
const ZERO = 48;
const NINE = 57;

/** Milliseconds since 1970 of a time as hosts write it, without making a string of it. Any other text of that length is parsed. */
export function timeAt(bytes: Buffer, at: number): number | undefined {
  const year = numberAt(bytes, at, 4);
  const month = numberAt(bytes, at + 5, 2);
  const day = numberAt(bytes, at + 8, 2);
  const hour = numberAt(bytes, at + 11, 2);
  const minute = numberAt(bytes, at + 14, 2);
  const second = numberAt(bytes, at + 17, 2);
  const isDay = year >= 1000 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
  if (!isDay || hour > 23 || minute > 59 || second > 59 || !looksRight(bytes, at))
    return timeOf(bytes.toString('latin1', at, at + TIME_LENGTH));
  return Date.UTC(year, month - 1, day, hour, minute, second, numberAt(bytes, at + 20, 3));
}

/** Digits where digits should be, and between them what should be. */
function looksRight(bytes: Buffer, at: number): boolean {
  for (let index = 0; index < PATTERN.length; index += 1) {
    const byte = bytes[at + index] ?? 0;
    const expected = PATTERN[index] ?? 0;
    const isRight = isDigit(expected) ? isDigit(byte) : byte === expected;
    if (!isRight) return false;
  }
  return true;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}

function numberAt(bytes: Buffer, start: number, length: number): number {
  let number = 0;
  for (let at = start; at < start + length; at += 1) number = 10 * number + (bytes[at] ?? 0) - ZERO;
  return number;
}
