import { timeOf } from '../json-value.ts';
import { isDigit, numberBetween } from './byte-number.ts';

const PATTERN = Buffer.from('2026-01-02T03:04:05.678Z');
export const TIME_LENGTH: number = PATTERN.length;

/** Milliseconds since 1970 of a time as hosts write it, without making a string of it. Any other text of that length is parsed. */
export function timeAt(bytes: Buffer, at: number): number | undefined {
  const year = numberBetween(bytes, at, at + 4);
  const month = numberBetween(bytes, at + 5, at + 7);
  const day = numberBetween(bytes, at + 8, at + 10);
  const hour = numberBetween(bytes, at + 11, at + 13);
  const minute = numberBetween(bytes, at + 14, at + 16);
  const second = numberBetween(bytes, at + 17, at + 19);
  const isDay = year >= 1000 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
  if (!isDay || hour > 23 || minute > 59 || second > 59 || !looksRight(bytes, at))
    return timeOf(bytes.toString('latin1', at, at + TIME_LENGTH));
  return Date.UTC(year, month - 1, day, hour, minute, second, numberBetween(bytes, at + 20, at + 23));
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
