import type { Change, LineChange } from './change.ts';
import { countNewlines } from './lines.ts';

/**
 * Converts changes of characters to changes of lines. A change that begins or ends inside
 * a line counts that line as removed and as added.
 */
export function lineChangesOf(before: string, after: string, changes: readonly Change[]): LineChange[] {
  const counter = new LineCounter(before);
  return joinedChanges(changes, (change) => {
    const start = startOfLine(before, change.before.start);
    const shared = !(endsLine(before, change.before.end) && endsLine(after, change.after.end));
    const end = shared ? endOfLine(before, change.before.end) : change.before.end;
    const newStart = startOfLine(after, change.after.start);
    const newEnd = shared ? endOfLine(after, change.after.end) : change.after.end;
    return {
      from: counter.lineAt(start),
      removed: linesIn(before, start, end),
      added: linesIn(after, newStart, newEnd),
      mixed: mixedLines({
        first: newStart < change.after.start,
        last: !isEnding(after, change.after.end, newEnd),
      }),
    };
  });
}

/**
 * The line changes of several changes. Two changes of the same line become one, in which every
 * added line may hold text of every replaced line.
 */
function joinedChanges(changes: readonly Change[], of: (change: Change) => LineChange): LineChange[] {
  const joined: LineChange[] = [];
  for (const next of changes.map(of)) {
    const last = joined.at(-1);
    if (last === undefined || next.from >= last.from + last.removed) joined.push(next);
    else {
      const [removed, added] = [last.removed + next.removed - 1, last.added + next.added - 1];
      joined[joined.length - 1] = { from: last.from, removed, added, mixed: 'all' };
    }
  }
  return joined;
}

/** The added lines that begin or end with text of the old lines. */
function mixedLines({
  first,
  last,
}: {
  readonly first: boolean;
  readonly last: boolean;
}): LineChange['mixed'] {
  if (first && last) return 'both';
  return first ? 'first' : last ? 'last' : undefined;
}

/** Counts newlines in one pass. Positions must be passed in ascending order. */
class LineCounter {
  readonly #text: string;
  #at = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text;
  }

  lineAt(offset: number): number {
    this.#line += countNewlines(this.#text, offset, this.#at);
    this.#at = offset;
    return this.#line;
  }
}

function startOfLine(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
}

function endOfLine(text: string, offset: number): number {
  const newline = text.indexOf('\n', offset);
  return newline < 0 ? text.length : newline + 1;
}

function endsLine(text: string, offset: number): boolean {
  return offset === 0 || offset === text.length || text[offset - 1] === '\n';
}

/** True if these characters are only a line ending, or none. */
function isEnding(text: string, start: number, end: number): boolean {
  return /^[\r\n]*$/.test(text.slice(start, end));
}

function linesIn(text: string, start: number, end: number): number {
  if (start >= end) return 0;
  return countNewlines(text, end, start) + (text[end - 1] === '\n' ? 0 : 1);
}
