import { splitLines } from './lines.ts';
import { type Content, type Middle, middleOf } from './middle.ts';
import { equalRuns } from './myers.ts';

/** Lines replaced by other lines, as 0-based indexes with exclusive ends. Either side may be empty. */
export interface Hunk {
  readonly beforeStart: number;
  readonly beforeEnd: number;
  readonly afterStart: number;
  readonly afterEnd: number;
}

/** Differences in ascending order. Lines between hunks are equal, including their endings. */
export interface LineDiff {
  readonly hunks: readonly Hunk[];
  /**
   * True if an exact diff would cost too much: one hunk then covers everything from the first to the last
   * change.
   */
  readonly rough: boolean;
}

export interface DiffOptions {
  /** Number of comparisons after which the diff becomes rough. */
  readonly maxCost?: number;
}

/**
 * Computes a minimal line diff, unless `rough`. Bytes are compared without decoding; they must not be UTF-16.
 */
export function diffLines<T extends Content>(before: T, after: T, options: DiffOptions = {}): LineDiff {
  const middle = middleOf(before, after);
  return middle === undefined ? { hunks: [], rough: false } : diffMiddle(middle, options);
}

/** The diff of the part that {@link middleOf} returns, with line numbers of the whole text. */
export function diffMiddle(middle: Middle, options: DiffOptions = {}): LineDiff {
  const before = splitLines(middle.before);
  const after = splitLines(middle.after);
  const runs = equalRuns(before, after, options.maxCost);
  const hunks: Hunk[] = [];
  let beforeStart = 0;
  let afterStart = 0;
  for (const run of [...(runs ?? []), { before: before.length, after: after.length, length: 0 }]) {
    if (run.before > beforeStart || run.after > afterStart) {
      hunks.push(
        shifted({ beforeStart, beforeEnd: run.before, afterStart, afterEnd: run.after }, middle.headLines),
      );
    }
    beforeStart = run.before + run.length;
    afterStart = run.after + run.length;
  }
  return { hunks, rough: runs === undefined };
}

function shifted(hunk: Hunk, by: number): Hunk {
  return {
    beforeStart: hunk.beforeStart + by,
    beforeEnd: hunk.beforeEnd + by,
    afterStart: hunk.afterStart + by,
    afterEnd: hunk.afterEnd + by,
  };
}
