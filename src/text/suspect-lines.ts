/** A line of a content, without its ending. */
export interface SuspectLine {
  /** 0-based. */
  readonly index: number;
  /** Where it begins. */
  readonly start: number;
  readonly line: string;
}

/** What comments, dots, brackets, fences and numbers begin with; where it says so, only before one of these characters. */
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
/** What our own marks inside a line begin with; short, for the engine finds short strings twenty times faster. */
const MARKS = ['[REDAC', '[secre', '… [+'];

/**
 * The lines that placeholder.ts must look at: by how they begin, or all of them if one of our marks is anywhere.
 * A content is looked through on every write, and most of it is left alone here.
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
