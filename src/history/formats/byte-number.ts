const ZERO = 48;
const NINE = 57;

export function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}

/** Where the digits end that begin at a position; the position itself if there are none. */
export function endOfDigits(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && isDigit(bytes[at] ?? 0)) at += 1;
  return at;
}

/** The number that digits are. */
export function numberBetween(bytes: Uint8Array, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at += 1) number = 10 * number + (bytes[at] ?? 0) - ZERO;
  return number;
}
