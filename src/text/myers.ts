import { diff_core as myers } from 'fast-myers-diff';

/** A run of `length` equal items, starting at `before` in one sequence and at `after` in the other. */
export interface EqualRun {
  readonly before: number;
  readonly after: number;
  readonly length: number;
}

/** Number of comparisons after which a diff is aborted; they take 0.1 to 0.2 seconds. */
const DEFAULT_MAX_COST = 4_000_000;

/**
 * The longest common subsequence of two sequences, as runs in order. Undefined if it would cost more than
 * `maxCost` comparisons. The limit counts work, not time, so that every machine returns the same result.
 */
export function equalRuns(
  before: readonly string[],
  after: readonly string[],
  maxCost: number = DEFAULT_MAX_COST,
): EqualRun[] | undefined {
  const head = commonHead(before, after);
  const tail = commonTail(before, after, head);
  const [left, right] = shared(
    before.slice(head, before.length - tail),
    after.slice(head, after.length - tail),
  );
  const matches = matchKept(left, right, maxCost);
  if (matches === undefined) return undefined;
  const runs: EqualRun[] = [];
  append(runs, { before: 0, after: 0, length: head });
  for (const [before, after] of matches)
    append(runs, { before: before + head, after: after + head, length: 1 });
  append(runs, { before: before.length - tail, after: after.length - tail, length: tail });
  return runs;
}

/** Items as numbers, without the items that the other side lacks. Those cannot match and would cost most. */
interface Kept {
  readonly ids: Int32Array;
  /** Original index of each item. */
  readonly at: Int32Array;
}

function shared(before: readonly string[], after: readonly string[]): [Kept, Kept] {
  const ids = new Map<string, number>();
  for (const item of before) if (!ids.has(item)) ids.set(item, ids.size);
  const afterIds = after.map((item) => ids.get(item) ?? -1);
  const present = new Set(afterIds);
  const beforeIds = before.map((item) => ids.get(item) ?? -1);
  return [keep(beforeIds, (id) => present.has(id)), keep(afterIds, (id) => id >= 0)];
}

function keep(ids: readonly number[], wanted: (id: number) => boolean): Kept {
  const at = Int32Array.from(ids.keys()).filter((index) => wanted(ids[index] ?? -1));
  return { at, ids: at.map((index) => ids[index] ?? -1) };
}

class OverBudget extends Error {}

function matchKept(left: Kept, right: Kept, maxCost: number): [number, number][] | undefined {
  let cost = 0;
  const same = (i: number, j: number): boolean => {
    cost += 1;
    if (cost > maxCost) throw new OverBudget();
    return left.ids[i] === right.ids[j];
  };
  try {
    return matchesBetween([...myers(0, left.ids.length, 0, right.ids.length, same)], left, right);
  } catch (error) {
    if (error instanceof OverBudget) return undefined;
    throw error;
  }
}

/** Pairs the items between two differences; they are equal one by one. */
function matchesBetween(
  differences: readonly (readonly [number, number, number, number])[],
  left: Kept,
  right: Kept,
): [number, number][] {
  const matches: [number, number][] = [];
  let i = 0;
  let j = 0;
  for (const [start, end, , afterEnd] of [...differences, [left.at.length, 0, 0, 0] as const]) {
    for (; i < start; i += 1, j += 1) matches.push([left.at[i] ?? 0, right.at[j] ?? 0]);
    i = end;
    j = afterEnd;
  }
  return matches;
}

function append(runs: EqualRun[], run: EqualRun): void {
  if (run.length === 0) return;
  const last = runs.at(-1);
  if (
    last !== undefined &&
    last.before + last.length === run.before &&
    last.after + last.length === run.after
  ) {
    runs[runs.length - 1] = { ...last, length: last.length + run.length };
  } else runs.push(run);
}

function commonHead(before: readonly string[], after: readonly string[]): number {
  const limit = Math.min(before.length, after.length);
  let head = 0;
  while (head < limit && before[head] === after[head]) head += 1;
  return head;
}

function commonTail(before: readonly string[], after: readonly string[], head: number): number {
  const limit = Math.min(before.length, after.length) - head;
  let tail = 0;
  while (tail < limit && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return tail;
}
