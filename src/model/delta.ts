import type { Effect, State } from './entry.ts';

/** The state of a path at which nothing exists. */
export const ABSENT: State = { kind: 'absent' };

/**
 * One path goes from the state `before` to the state `after`. With `movedFrom`, the entry comes from
 * that path, a folder with its contents; `before` is then absent. Has an inverse.
 */
export interface Delta {
  /** Canonical absolute path. */
  readonly key: string;
  /** The path relative to the root. */
  readonly relative: string;
  readonly before: State;
  readonly after: State;
  readonly movedFrom?: Pick<Delta, 'key' | 'relative'> | undefined;
}

/** The delta that takes a delta back. */
export function inverse({ key, relative, before, after, movedFrom }: Delta): Delta {
  if (movedFrom === undefined) return { key, relative, before: after, after: before };
  return { ...movedFrom, before: ABSENT, after, movedFrom: { key, relative } };
}

interface TimedDelta extends Delta {
  /** The time since which the path has had the state `before`: its ctime in microseconds, if known. */
  readonly sinceUs?: number | undefined;
}

/** The effects that the journal records for deltas, in order. */
export function effectsOf(deltas: readonly TimedDelta[]): readonly Effect[] {
  const effects: Effect[] = [];
  for (const delta of deltas) addEffects(effects, delta);
  return effects;
}

/**
 * Adds the effects of a delta to those of the deltas before it. A move has two effects. If it takes
 * the place of a file that the delta before it has removed, its second effect names that file.
 */
export function addEffects(effects: Effect[], delta: TimedDelta): void {
  const { key, relative, before, after, movedFrom, sinceUs } = delta;
  const since = sinceUs === undefined ? {} : { sinceUs };
  // The fields are in alphabetical order, so that the journal need not sort them.
  if (movedFrom === undefined) {
    effects.push({ after, before: asKept(before), key, relative, ...since });
    return;
  }
  const last = effects.at(-1);
  const cleared = last?.key === key && last.after.kind === 'absent' ? effects.pop() : undefined;
  // A rename stores no bytes.
  const moved: State = after.kind === 'file' ? { ...after, kept: false } : after;
  effects.push({
    after: ABSENT,
    before: moved,
    key: movedFrom.key,
    movedTo: key,
    relative: movedFrom.relative,
  });
  effects.push({ ...cleared, after: moved, before: cleared?.before ?? ABSENT, key, relative });
}

/** The bytes of a file are stored before it is replaced or removed. */
function asKept(side: State): State {
  return side.kind === 'file' ? { ...side, kept: true } : side;
}

type Ordered = Pick<Delta, 'key' | 'after'>;

/** Orders deltas: removals first, innermost first; then the others, outermost first. */
export function inOrder(a: Ordered, b: Ordered): number {
  const [aGoes, bGoes] = [a.after.kind === 'absent', b.after.kind === 'absent'];
  if (aGoes !== bGoes) return aGoes ? -1 : 1;
  return aGoes ? depthOf(b) - depthOf(a) : depthOf(a) - depthOf(b);
}

function depthOf({ key }: Ordered): number {
  let depth = 0;
  for (let at = key.indexOf('/'); at >= 0; at = key.indexOf('/', at + 1)) depth += 1;
  return depth;
}
