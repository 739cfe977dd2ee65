import { withoutIdlePairs } from './undo-course-pairs.ts';
import { eventsOf, isUnder, type UndoEvent } from './undo-events.ts';
import { isUndo, takenBackBy, type UndoHistory } from './undo-history.ts';
import type { Selected } from './undo-selection.ts';

/**
 * Everything that happened in a workspace since the oldest selected change, oldest first, also what was taken back and what
 * took it back, all of it selected: whoever goes back through it comes by every state there was, also of folders that were
 * made, moved and removed between a change and its undo. Undefined if something of it is to stay, and if no undo among it
 * is mixed up with other changes: then those that still stand say it all.
 */
export function wholeCourse(
  history: UndoHistory,
  selection: readonly Selected[],
  root: string,
): readonly UndoEvent[] | undefined {
  const start = startOf(history, selection);
  if (start === undefined) return undefined;
  const selected = new Set(selection.flatMap(({ effects }) => effects));
  const course = withoutIdlePairs(history.changes.filter(({ seq }) => seq >= start));
  if (!course.some(isUndo)) return undefined;
  const events = course
    .flatMap((entry) => eventsOf(entry, selected))
    .filter(({ effect }) => effect.key === root || isUnder(effect.key, root));
  const goes = ({ entry, effect, selected: wanted }: UndoEvent): boolean =>
    wanted || isUndo(entry) || history.undoerOf(entry, effect.key) !== undefined;
  return events.every(goes) ? events.map((event) => ({ ...event, selected: true })) : undefined;
}

/** The oldest selected change, or what an undo since has taken back from before it. Undefined if that is not known any more. */
function startOf(history: UndoHistory, selection: readonly Selected[]): number | undefined {
  const seqOf = new Map(history.changes.map(({ change, seq }) => [change, seq]));
  let start = Math.min(...selection.map(({ entry }) => entry.seq));
  // From the newest on: an undo comes after what it took back, so that one pass also meets those that this brings in.
  for (const entry of history.changes.toReversed()) {
    if (entry.seq < start) break;
    for (const change of takenBackBy(entry).changes) {
      const seq = seqOf.get(change);
      if (seq === undefined) return undefined;
      start = Math.min(start, seq);
    }
  }
  return start;
}
