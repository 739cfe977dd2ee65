import { diffLines, type Hunk } from './diff.ts';
import { endingUsed, splitLines } from './lines.ts';

/** A merge result: clean, or with conflicts between markers that show both sides and the base. */
interface Merged {
  readonly clean: boolean;
  readonly text: string;
}

interface MergeOptions {
  /**
   * Maximum comparisons for each of the two diffs. Beyond it, everything between a side's first and
   * last change counts as one change.
   */
  readonly maxCost?: number;
}

/**
 * Merges two changed texts by lines (three-way merge). A change made by one side is applied, and
 * the same change made by both sides is applied once. Different changes of the same lines or of
 * adjacent lines are a conflict.
 */
export function merge3(base: string, ours: string, theirs: string, options: MergeOptions = {}): Merged {
  const lines = splitLines(base);
  const left = sideOf(base, ours, options);
  const right = sideOf(base, theirs, options);
  const newline = endingUsed(base) === '\r\n' ? '\r\n' : '\n';
  const out: string[] = [];
  let clean = true;
  let done = 0;
  for (let start = nextStart(left, right); start !== undefined; start = nextStart(left, right)) {
    out.push(lines.slice(done, start).join(''));
    const region = takeRegion(left, right, start);
    done = region.end;
    const [a, b] = [region.ours, region.theirs].map((part) => part?.join(''));
    if (a === undefined || b === undefined || a === b) out.push(a ?? b ?? '');
    else {
      out.push(conflictText({ ours: a, base: lines.slice(start, done).join(''), theirs: b }, newline));
      clean = false;
    }
  }
  out.push(lines.slice(done).join(''));
  return { clean, text: out.join('') };
}

/** One of the two changed texts, and how far it has been processed. */
interface State {
  readonly lines: readonly string[];
  readonly hunks: readonly Hunk[];
  next: number;
  /** The side's line number minus the base's line number, after the hunks processed so far. */
  shift: number;
}

function sideOf(base: string, text: string, options: MergeOptions): State {
  return { lines: splitLines(text), hunks: diffLines(base, text, options).hunks, next: 0, shift: 0 };
}

function nextStart(a: State, b: State): number | undefined {
  const starts = [a, b].flatMap((side) => side.hunks[side.next]?.beforeStart ?? []);
  return starts.length === 0 ? undefined : Math.min(...starts);
}

interface Region {
  /** The first line of the base text after the region. */
  readonly end: number;
  /** Each side's lines in the region; undefined if that side did not change it. */
  readonly ours: readonly string[] | undefined;
  readonly theirs: readonly string[] | undefined;
}

/** Advances both sides over all changes that overlap or touch the one at `start`, directly or through other changes. */
function takeRegion(ours: State, theirs: State, start: number): Region {
  const sides = [ours, theirs];
  const shifts = sides.map((side) => side.shift);
  const firsts = sides.map((side) => side.next);
  let end = start;
  for (let side = meeting(sides, end); side !== undefined; side = meeting(sides, end)) {
    const hunk = side.hunks[side.next];
    if (hunk === undefined) break;
    end = Math.max(end, hunk.beforeEnd);
    side.shift = hunk.afterEnd - hunk.beforeEnd;
    side.next += 1;
  }
  const [mine, others] = sides.map((side, index) =>
    side.next === firsts[index]
      ? undefined
      : side.lines.slice(start + (shifts[index] ?? 0), end + side.shift),
  );
  return { end, ours: mine, theirs: others };
}

function meeting(sides: readonly State[], end: number): State | undefined {
  return sides.find((side) => (side.hunks[side.next]?.beforeStart ?? Number.POSITIVE_INFINITY) <= end);
}

function conflictText(
  parts: { readonly ours: string; readonly base: string; readonly theirs: string },
  newline: string,
): string {
  const whole = (text: string): string => (text === '' || text.endsWith('\n') ? text : text + newline);
  return [
    `<<<<<<< ours${newline}`,
    whole(parts.ours),
    `||||||| base${newline}`,
    whole(parts.base),
    `=======${newline}`,
    whole(parts.theirs),
    `>>>>>>> theirs${newline}`,
  ].join('');
}
