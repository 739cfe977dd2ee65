import type { Effect, Side } from '../model/entry.ts';
import { sameContent, sameSide } from './side.ts';
import { isUnder, type UndoEvent } from './undo-events.ts';

/**
 * One thing to bring back. Steps are carried out in their order; one whose path already is as it is to be needs nothing,
 * and missing folders above it are made.
 */
export interface UndoStep {
  readonly key: string;
  /** Relative to the root. */
  readonly relative: string;
  /** What must be there, at this key, when the step is carried out. */
  readonly expect: Side;
  /** What is to be there afterwards. A folder that is to go is removed if it is empty, and otherwise stays. */
  readonly restore: Side;
  /** Where `expect` can be checked before the first step: this key, or where a moved folder has it now. Absent: an earlier step brings it about. */
  readonly lookAt?: string;
  /** Permissions that the folder around it had, should it have to be made for this. */
  readonly folderMode?: number;
  /** The folder to be restored is here now and only needs to be moved back, with everything in it. */
  readonly from?: { readonly key: string; readonly relative: string };
}

/** Changes that do not build on each other: someone else wrote in between. */
export interface Gap {
  readonly older: UndoEvent;
  readonly newer: UndoEvent;
}

/**
 * The steps that take the selected events back, newest first. Changes of one path that build on each other become one
 * step. A moved folder divides the steps: what happened after the move is taken back where it is, then the folder goes
 * back, then what happened before.
 */
export function undoSteps(events: readonly UndoEvent[]): { steps: UndoStep[]; gaps: Gap[] } {
  const steps: UndoStep[] = [];
  const gaps: Gap[] = [];
  const moves: UndoEvent[] = [];
  const whereNow = new Whereabouts(moves);
  let stretch: UndoEvent[] = [];
  const flush = (): void => {
    const collapsed = collapse(stretch.toReversed());
    gaps.push(...collapsed.gaps);
    for (const step of collapsed.steps) steps.push(whereNow.add(step));
    stretch = [];
  };
  for (const event of events.toReversed()) {
    if (!event.selected) continue;
    if (event.folderTo === undefined) {
      stretch.push(event);
      continue;
    }
    flush();
    steps.push(whereNow.add(moveBack(event.effect, event.folderTo)));
    moves.unshift(event);
  }
  flush();
  return { steps: steps.filter((step, index) => !isNeededAgain(step, () => steps.slice(index + 1))), gaps };
}

/**
 * A folder that would be made again for what comes back into it, with permissions that nobody has asked for. What lies before a
 * folder's move is not looked through: there it may have to make room.
 */
function isNeededAgain({ key, expect, restore }: UndoStep, following: () => readonly UndoStep[]): boolean {
  if (expect.kind !== 'directory' || restore.kind !== 'absent') return false;
  const later = following();
  if (later.some((step) => step.key === key || step.from !== undefined)) return false;
  const ends = new Map(later.map((step) => [step.key, step.restore.kind]));
  return [...ends].some(([other, kind]) => kind !== 'absent' && isUnder(other, key));
}

/** Tells where a path of an earlier time is now, and whether a step has already been there. */
class Whereabouts {
  /** Folder moves that later steps come after, oldest first. */
  readonly #moves: readonly UndoEvent[];
  readonly #touched = new Set<string>();

  constructor(moves: readonly UndoEvent[]) {
    this.#moves = moves;
  }

  add(step: UndoStep): UndoStep {
    const now = this.#now(step.key);
    if (now === undefined || this.#touched.has(now)) return step;
    this.#touched.add(now);
    return { ...step, lookAt: now };
  }

  #now(key: string): string | undefined {
    let now = key;
    for (const { effect, folderTo } of this.#moves) {
      const to = folderTo?.key ?? '';
      // Nothing was where the folder went, and nothing will be once it has gone back.
      if (now === to || isUnder(now, to)) return undefined;
      if (now === effect.key || isUnder(now, effect.key)) now = to + now.slice(effect.key.length);
    }
    return now;
  }
}

function moveBack(source: Effect, destination: Effect): UndoStep {
  const from = { key: destination.key, relative: destination.relative };
  return { ...stepOf(source, source), from };
}

/** One step per path and unbroken run of changes, in the order in which they can be carried out. */
function collapse(events: readonly UndoEvent[]): { steps: UndoStep[]; gaps: Gap[] } {
  const byKey = new Map<string, UndoEvent[]>();
  for (const event of events) {
    const same = byKey.get(event.effect.key) ?? [];
    byKey.set(event.effect.key, same);
    same.push(event);
  }
  const gaps: Gap[] = [];
  /** Round n has the nth run of each path, counted from the newest. */
  const rounds: UndoStep[][] = [];
  for (const same of byKey.values()) {
    const runs = unbrokenRuns(same, gaps);
    for (const [round, run] of runs.toReversed().entries()) {
      const step = stepOf(run.oldest.effect, run.newest.effect);
      rounds[round] ??= [];
      if (!sameSide(step.expect, step.restore)) rounds[round]?.push(step);
    }
  }
  return { steps: rounds.flatMap((round) => round.sort(inOrder)), gaps };
}

interface Run {
  readonly oldest: UndoEvent;
  readonly newest: UndoEvent;
}

function unbrokenRuns(events: readonly UndoEvent[], gaps: Gap[]): Run[] {
  const runs: Run[] = [];
  for (const event of events) {
    const last = runs.at(-1);
    if (last !== undefined && continues(last.newest.effect, event.effect)) {
      runs[runs.length - 1] = { oldest: last.oldest, newest: event };
      continue;
    }
    if (last !== undefined) gaps.push({ older: last.newest, newer: event });
    runs.push({ oldest: event, newest: event });
  }
  return runs;
}

/** A folder made or removed twice is no contradiction: it has no content of its own, and an undo may have found it as it was to be. */
function continues(earlier: Effect, later: Effect): boolean {
  return sameContent(earlier.after, later.before) || (isOfFolder(earlier) && isOfFolder(later));
}

function isOfFolder({ before, after }: Effect): boolean {
  return [before, after].every(({ kind }) => kind === 'absent' || kind === 'directory');
}

function stepOf(oldest: Effect, newest: Effect): UndoStep {
  return { key: oldest.key, relative: oldest.relative, expect: newest.after, restore: oldest.before };
}

/** What is to go goes first, from the inside out; what is to come comes from the outside in. */
export function inOrder(a: UndoStep, b: UndoStep): number {
  const [aGoes, bGoes] = [a.restore.kind === 'absent', b.restore.kind === 'absent'];
  if (aGoes !== bGoes) return aGoes ? -1 : 1;
  return aGoes ? depthOf(b) - depthOf(a) : depthOf(a) - depthOf(b);
}

function depthOf(step: UndoStep): number {
  let depth = 0;
  for (let at = step.key.indexOf('/'); at >= 0; at = step.key.indexOf('/', at + 1)) depth += 1;
  return depth;
}
