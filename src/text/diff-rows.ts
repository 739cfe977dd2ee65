import { type LineRange, mergeRanges } from '../model/coverage.ts';
import { CLAMP_MARK } from './lines.ts';
import { MASK } from './secrets.ts';

/** A line that a unified diff shows, with its number in the text before (`-`) or after (`+`) the change. */
interface DiffRow {
  readonly number: number;
  readonly text: string;
}

const HUNK = /^@@ -(\d{1,12})(?:,(\d{1,12}))? \+(\d{1,12})(?:,(\d{1,12}))? @@/;

/**
 * The lines that the hunks of a unified diff show of one side. The counts of each `@@` row say how
 * many rows belong to it, so text around the diff is ignored.
 */
export function* diffRows(rows: readonly string[], side: '-' | '+'): Generator<DiffRow> {
  let number = 0;
  let left = 0;
  for (const row of rows) {
    const hunk = left > 0 ? undefined : hunkAt(row, side);
    if (hunk !== undefined) [number, left] = hunk;
    else if (!/^[-+ \\]/.test(row)) left = 0;
    else if (left > 0 && (row.startsWith(' ') || row.startsWith(side))) {
      yield { number, text: row.slice(1) };
      number += 1;
      left -= 1;
    }
  }
}

/** The first line and the number of lines that an `@@` row announces. */
function hunkAt(row: string, side: '-' | '+'): [first: number, lines: number] | undefined {
  const [, ...numbers] = HUNK.exec(row) ?? [];
  const [first, count = 1] = side === '-' ? numbers : numbers.slice(2);
  return first === undefined ? undefined : [Number(first), Number(count)];
}

/** Our unified diffs show this character instead of a carriage return if line endings differ. */
const CARRIAGE_RETURN = '␍';

/** Lines that a diff shows of the text before the change. */
interface ShownBefore {
  readonly ranges: readonly LineRange[];
  /** The text of all shown lines, in order. */
  readonly content: string;
}

/**
 * The lines of the old text that a unified diff shows whole. Lines that were cut or masked, or that
 * end with the sign for a carriage return, are left out.
 */
export function shownBefore(diff: string): ShownBefore {
  const rows = [...diffRows(diff.split('\n'), '-')].filter(({ text }) => isWhole(text));
  return {
    ranges: mergeRanges(rows.map(({ number }) => ({ from: number, to: number }))),
    content: rows.map(({ text }) => `${text}\n`).join(''),
  };
}

function isWhole(line: string): boolean {
  return !CLAMP_MARK.test(line) && !line.includes(MASK) && !line.endsWith(CARRIAGE_RETURN);
}
