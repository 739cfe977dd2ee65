import type { LineRange } from '../model/coverage.ts';
import { CLAMP_MARK } from './lines.ts';
import { MASK } from './secrets.ts';

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@/;
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
 * end with the sign for a carriage return, are left out. The counts of each `@@` row say how many
 * rows belong to it, so text around the diff is ignored.
 */
export function shownBefore(diff: string): ShownBefore {
  const ranges: LineRange[] = [];
  const lines: string[] = [];
  let number = 0;
  let left = 0;
  for (const row of diff.split('\n')) {
    const hunk = left > 0 ? null : HUNK.exec(row);
    if (hunk !== null) {
      number = Number(hunk[1]);
      left = Number(hunk[2] ?? 1);
    } else if (left > 0 && (row.startsWith(' ') || row.startsWith('-'))) {
      const line = row.slice(1);
      if (isWhole(line)) {
        addLine(ranges, number);
        lines.push(`${line}\n`);
      }
      number += 1;
      left -= 1;
    }
  }
  return { ranges, content: lines.join('') };
}

function isWhole(line: string): boolean {
  return !CLAMP_MARK.test(line) && !line.includes(MASK) && !line.endsWith(CARRIAGE_RETURN);
}

function addLine(ranges: LineRange[], line: number): void {
  const last = ranges.at(-1);
  if (last?.to === line - 1) ranges[ranges.length - 1] = { from: last.from, to: line };
  else ranges.push({ from: line, to: line });
}
