/** Lines that a read showed with their numbers. */
export interface NumberedText {
  readonly from: number;
  readonly to: number;
  /** The lines without their numbers, `\n` between them. */
  readonly text: string;
}

const SPACE = 32;
const TAB = 9;
const ARROW = 0x2192;
const ZERO = 48;
const MAX_SPACES = 12;
const MAX_DIGITS = 12;

/**
 * Reads lines of the form `N<TAB>text` (also padded, also with an arrow), numbered without a gap.
 * Undefined as soon as one line is not: then this is no such view.
 */
export function parseNumbered(text: string): NumberedText | undefined {
  const first = numberAt(text, 0);
  if (first === undefined) return undefined;
  const lines: string[] = [];
  let start = 0;
  while (start <= text.length) {
    const number = start === 0 ? first : numberAt(text, start);
    if (number === undefined || number.value !== first.value + lines.length) return undefined;
    const newline = text.indexOf('\n', number.end);
    const end = newline === -1 ? text.length : newline;
    lines.push(text.slice(number.end, end));
    start = end + 1;
    // A newline after the last line ends it; it does not begin another.
    if (start === text.length) break;
  }
  return { from: first.value, to: first.value + lines.length - 1, text: lines.join('\n') };
}

/** The number that a line begins with, and where its text begins. */
function numberAt(text: string, start: number): { readonly value: number; readonly end: number } | undefined {
  let at = start;
  while (text.charCodeAt(at) === SPACE && at - start < MAX_SPACES) at += 1;
  const digits = at;
  let value = 0;
  for (
    let digit = digitAt(text, at);
    digit !== undefined && at - digits < MAX_DIGITS;
    digit = digitAt(text, at)
  ) {
    value = value * 10 + digit;
    at += 1;
  }
  const mark = text.charCodeAt(at);
  return at > digits && (mark === TAB || mark === ARROW) ? { value, end: at + 1 } : undefined;
}

function digitAt(text: string, at: number): number | undefined {
  const digit = text.charCodeAt(at) - ZERO;
  return digit >= 0 && digit <= 9 ? digit : undefined;
}
