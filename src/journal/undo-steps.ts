import { type Delta, inOrder } from '../model/delta.ts';
import { type Effect, type State, sameContent, sameState } from '../model/entry.ts';
import { isWithin } from '../model/path.ts';
import type { UndoEvent } from './undo-events.ts';

/**
 * A delta of an undo, as the journal suggests it. Steps run in order. A step whose path already has
 * its target state does nothing; missing parent folders are created, and a folder that is not empty
 * stays.
 */
export interface UndoDelta extends Delta {
  /**
   * The path at which `before` is checked before the first step runs. It differs from `key` if the
   * file or folder is now inside a moved folder. Absent if an earlier step creates that state.
   */
  readonly lookAt?: string;
  /** The mode of the parent folder, in case it must be created. */
  readonly folderMode?: number;
  /**
   * Set if a rename has moved the file away from this path: the destination of that rename. The
   * file may have moved on since.
   */
  readonly movedTo?: string;
  /** The present place of a folder that only needs to be moved back, with its contents. */
  readonly movedFrom?: PlaceNow | undefined;
}

/** `lookAt`: the path at which the folder is now; absent if an earlier step moves it to `key`. */
type PlaceNow = Pick<UndoDelta, 'key' | 'relative' | 'lookAt'>;

/** Two changes of one path that do not connect: another program wrote in between. */
export interface Gap {
  readonly older: UndoEvent;
  readonly newer: UndoEvent;
}

/**
 * The steps that undo the selected events, newest first. Consecutive changes of one path become one
 * step. A folder move divides the steps: events after it are undone first, then the folder moves
 * back, then the earlier events follow.
 */
export function undoSteps(events: readonly UndoEvent[]): { steps: UndoDelta[]; gaps: Gap[] } {
  const steps: UndoDelta[] = [];
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
  return { steps: withoutNeeded(steps), gaps };
}

/**
 * Leaves out the removal of a folder that later steps need, because they would create it again with
 * default permissions. If a later step moves a folder, the removal stays: the moved folder may need
 * the path.
 */
function withoutNeeded(steps: readonly UndoDelta[]): UndoDelta[] {
  const kept: UndoDelta[] = [];
  /** `later`: keys of later steps. `needed`: folders that contain something after the last step. */
  const [later, needed] = [new Set<string>(), new Set<string>()];
  let hasMove = false;
  for (const step of steps.toReversed()) {
    const { key, before, after, movedFrom } = step;
    const isRemoved = before.kind === 'directory' && after.kind === 'absent';
    if (!isRemoved || hasMove || later.has(key) || !needed.has(key)) kept.push(step);
    hasMove ||= movedFrom !== undefined;
    if (after.kind !== 'absent' && !later.has(key)) addFoldersAbove(key, needed);
    later.add(key);
  }
  return kept.reverse();
}

function addFoldersAbove(key: string, folders: Set<string>): void {
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
    const folder = key.slice(0, end);
    if (folders.has(folder)) return;
    folders.add(folder);
  }
}

/** Maps a path from an earlier time to its current path, and tracks which paths already have a step. */
class Whereabouts {
  /** The folder moves that earlier steps undo, oldest move first. */
  readonly #moves: readonly UndoEvent[];
  readonly #touched = new Set<string>();

  constructor(moves: readonly UndoEvent[]) {
    this.#moves = moves;
  }

  add(step: UndoDelta): UndoDelta {
    const { movedFrom } = step;
    const source = movedFrom && { movedFrom: { ...movedFrom, ...this.#lookAt(movedFrom.key) } };
    const place = this.#lookAt(step.key);
    if (place.lookAt !== undefined) this.#touched.add(place.lookAt);
    return { ...step, ...source, ...place };
  }

  #lookAt(key: string): Pick<UndoDelta, 'lookAt'> {
    const now = this.#now(key);
    return now === undefined || this.#touched.has(now) ? {} : { lookAt: now };
  }

  #now(key: string): string | undefined {
    let now = key;
    for (const { effect, folderTo } of this.#moves) {
      const to = folderTo?.key ?? '';
      // Before this move, nothing was at its destination. So a path inside the destination has no
      // current path.
      if (isWithin(now, to)) return undefined;
      if (isWithin(now, effect.key)) now = to + now.slice(effect.key.length);
    }
    return now;
  }
}

function moveBack(source: Effect, destination: Effect): UndoDelta {
  const movedFrom = { key: destination.key, relative: destination.relative };
  return { ...stepOf(source, source), movedFrom };
}

/**
 * Creates one step for all consecutive changes of a path. If another program wrote in between, the
 * path gets several steps. Returns the steps in an executable order.
 */
function collapse(events: readonly UndoEvent[]): { steps: UndoDelta[]; gaps: Gap[] } {
  const byKey = new Map<string, UndoEvent[]>();
  for (const event of events) {
    const same = byKey.get(event.effect.key);
    if (same === undefined) byKey.set(event.effect.key, [event]);
    else same.push(event);
  }
  const gaps: Gap[] = [];
  /**
   * The steps by round; rounds run one after the other. Usually a path has one step, in the first
   * round. If another program wrote between its changes, its older steps are in later rounds.
   */
  const rounds: UndoDelta[][] = [];
  for (const same of byKey.values()) {
    const runs = unbrokenRuns(same, gaps);
    for (let round = 0; round < runs.length; round += 1) {
      const run = runs[runs.length - 1 - round];
      rounds[round] ??= [];
      if (run === undefined || sameState(run.newest.effect.after, run.oldest.effect.before)) continue;
      rounds[round]?.push(stepOf(run.oldest.effect, run.newest.effect));
    }
  }
  return {
    steps: rounds.flatMap((round) => round.sort(inOrder)),
    gaps,
  };
}

interface Run {
  readonly oldest: UndoEvent;
  newest: UndoEvent;
  /** The states that the path had in this run. */
  readonly states: State[];
}

function unbrokenRuns(events: readonly UndoEvent[], gaps: Gap[]): readonly Run[] {
  const runs: Run[] = [];
  for (const event of events) {
    const { before, after } = event.effect;
    const last = runs.at(-1);
    if (last !== undefined && (continues(last.newest.effect, event.effect) || hasReturned(last, before))) {
      last.newest = event;
      last.states.push(after);
      continue;
    }
    if (last !== undefined) gaps.push({ older: last.newest, newer: event });
    runs.push({ oldest: event, newest: event, states: [before, after] });
  }
  return runs;
}

/**
 * True if the path was in the state `now` earlier in the run. Another program has then only
 * reverted changes of the run, so restoring the oldest state loses nothing of that program.
 */
function hasReturned({ states }: Run, now: State): boolean {
  return states.some((state) => sameContent(state, now));
}

/**
 * True if the later effect starts from the state that the earlier one left. Always true for
 * folders: they have no content, and an undo skips a folder that already has its target state.
 */
function continues(earlier: Effect, later: Effect): boolean {
  return sameContent(earlier.after, later.before) || (isOfFolder(earlier) && isOfFolder(later));
}

function isOfFolder({ before, after }: Effect): boolean {
  return [before, after].every(({ kind }) => kind === 'absent' || kind === 'directory');
}

function stepOf(oldest: Effect, newest: Effect): UndoDelta {
  const { key, relative, before } = oldest;
  const { after, movedTo } = newest;
  return { key, relative, before: after, after: before, ...(movedTo === undefined ? {} : { movedTo }) };
}
