/** A line of a content, without its ending. */
export interface SuspectLine {
  /** 0-based line index. */
  readonly index: number;
  /** Offset of the line. */
  readonly start: number;
  readonly line: string;
}

/**
 * First characters of lines with comments, dots, brackets, fences and numbers. With a second string, the next character
 * must be one of it.
 */
const BEGINNINGS: readonly (readonly [string, string?])[] = [
  ...[...'#;%[…0123456789'].map((first): readonly [string] => [first]),
  ['/', '/*'],
  ['<', '!.…'],
  ['-', '-'],
  ['{', '/ '],
  ['.', '.'],
  ['(', '.…'],
  ['`', '`'],
  ['~', '~'],
];
const FIRST: ReadonlyMap<number, string | undefined> = new Map(
  BEGINNINGS.map(([first, second]) => [first.charCodeAt(0), second]),
);
/**
 * Beginnings of Lookfirst's own marks within a line. They are short because the engine finds short strings twenty times
 * faster.
 */
const MARKS = ['[REDAC', '[secre', '… [+'];

/**
 * Selects the lines that placeholder.ts must check: by their first characters, or all lines if any of Lookfirst's marks
 * occurs. This runs on every write, so it must reject most lines cheaply.
 */
export function suspectLines(content: string): SuspectLine[] {
  const marked = MARKS.some((mark) => content.includes(mark));
  const suspects: SuspectLine[] = [];
  let start = 0;
  for (let index = 0; start < content.length; index += 1) {
    const newline = content.indexOf('\n', start);
    const end = newline === -1 ? content.length : newline;
    if (marked || isSuspect(content, start, end)) {
      suspects.push({ index, start, line: content.slice(start, content[end - 1] === '\r' ? end - 1 : end) });
    }
    start = end + 1;
  }
  return suspects;
}

function isSuspect(content: string, start: number, end: number): boolean {
  let at = start;
  while (at < end && content.charCodeAt(at) <= 32) at += 1;
  if (at === end) return false;
  const first = content.charCodeAt(at);
  if (!FIRST.has(first)) return false;
  const second = FIRST.get(first);
  return second === undefined || second.includes(content.charAt(at + 1));
}
