/** Lines that a read showed with their numbers. */
export interface NumberedText {
  readonly from: number;
  readonly to: number;
  /** The lines without their numbers, `\n` between them. */
  readonly text: string;
}

const NUMBERED = /^ {0,12}(\d{1,12})(?:\t|→)/;

/**
 * Reads lines of the form `N<TAB>text` (also padded, also with an arrow), numbered without a gap.
 * Undefined as soon as one line is not: then this is no such view.
 */
export function parseNumbered(text: string): NumberedText | undefined {
  const first = NUMBERED.exec(text);
  if (first === null) return undefined;
  const from = Number(first[1]);
  const lines: string[] = [];
  let start = 0;
  while (start <= text.length) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    const line = numberedLine(text.slice(start, end), from + lines.length);
    if (line === undefined) return undefined;
    lines.push(line);
    start = end + 1;
    // A newline after the last line ends it; it does not begin another.
    if (start === text.length) break;
  }
  return { from, to: from + lines.length - 1, text: lines.join('\n') };
}

function numberedLine(line: string, number: number): string | undefined {
  const match = NUMBERED.exec(line);
  if (match === null || Number(match[1]) !== number) return undefined;
  return line.slice(match[0].length);
}
