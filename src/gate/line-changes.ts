import type { LineChange } from '../ledger/carry-coverage.ts';
import type { LineRange } from '../model/coverage.ts';
import { countNewlineBytes } from '../text/byte-lines.ts';
import type { Change } from '../text/change.ts';

/** Text as characters or as bytes; line numbers are equal in both. */
type Chars = string | Uint8Array;

/**
 * Converts changes given as spans to line changes: which lines were replaced by how many. A change that begins or ends
 * inside a line counts the whole line on both sides.
 */
export function lineChangesOf(before: Chars, after: Chars, changes: readonly Change[]): LineChange[] {
  const counter = new LineCounter(before);
  return changes.map((change) => {
    const start = startOfLine(before, change.before.start);
    const shared = !(endsLine(before, change.before.end) && endsLine(after, change.after.end));
    const end = shared ? endOfLine(before, change.before.end) : change.before.end;
    const newStart = startOfLine(after, change.after.start);
    const newEnd = shared ? endOfLine(after, change.after.end) : change.after.end;
    return {
      from: counter.lineAt(start),
      removed: linesIn(before, start, end),
      added: linesIn(after, newStart, newEnd),
    };
  });
}

/** The lines of the old text that the changes touch. For a pure insertion: the existing neighbour lines. */
export function touchedLines(changes: readonly LineChange[], totalLines: number): LineRange[] {
  return changes.map(({ from, removed }) =>
    removed > 0
      ? { from, to: from + removed - 1 }
      : { from: Math.max(1, from - 1), to: Math.max(1, Math.min(from, totalLines)) },
  );
}

export function totalAfter(totalLines: number, changes: readonly LineChange[]): number {
  return changes.reduce((total, change) => total + change.added - change.removed, totalLines);
}

/** Counts newlines in one pass. Positions must be passed in ascending order. */
class LineCounter {
  readonly #text: Chars;
  #at = 0;
  #line = 1;

  constructor(text: Chars) {
    this.#text = text;
  }

  lineAt(offset: number): number {
    this.#line += newlines(this.#text, this.#at, offset);
    this.#at = offset;
    return this.#line;
  }
}

function startOfLine(text: Chars, offset: number): number {
  return offset === 0 ? 0 : lastNewline(text, offset - 1) + 1;
}

function endOfLine(text: Chars, offset: number): number {
  const newline = nextNewline(text, offset);
  return newline < 0 ? text.length : newline + 1;
}

function endsLine(text: Chars, offset: number): boolean {
  return offset === 0 || offset === text.length || isNewline(text, offset - 1);
}

function linesIn(text: Chars, start: number, end: number): number {
  if (start >= end) return 0;
  return newlines(text, start, end) + (isNewline(text, end - 1) ? 0 : 1);
}

function newlines(text: Chars, start: number, end: number): number {
  if (typeof text !== 'string') return countNewlineBytes(text.subarray(start, end));
  let count = 0;
  for (let at = nextNewline(text, start); at >= 0 && at < end; at = nextNewline(text, at + 1)) count += 1;
  return count;
}

function isNewline(text: Chars, at: number): boolean {
  return typeof text === 'string' ? text.charCodeAt(at) === 10 : text[at] === 10;
}

function nextNewline(text: Chars, from: number): number {
  return typeof text === 'string' ? text.indexOf('\n', from) : text.indexOf(10, from);
}

function lastNewline(text: Chars, from: number): number {
  return typeof text === 'string' ? text.lastIndexOf('\n', from) : text.lastIndexOf(10, from);
}
