import type { Effect, Entry } from '../model/entry.ts';
import { idleKeys, isUndo, movedTo, type UndoHistory } from './undo-history.ts';

/**
 * What to take back, in one workspace (`root`).
 * `change`: that change, also an undo, which is then redone. `last`: the newest change that still stands, of a session
 * and of a file if given; undos are passed over, so that undoing twice goes one further back. `all`: every change that
 * still stands. `since`: everything that some sessions, or all of them, did in the roots after an entry, their undos
 * included, so that files become as they were then. With a key, of a change of many files only that file is taken back.
 */
export type UndoTarget = { readonly root: string; readonly key?: string } & (
  | { readonly kind: 'change'; readonly change: string }
  | { readonly kind: 'last'; readonly session?: string }
  | { readonly kind: 'all'; readonly session?: string; readonly sinceMs?: number }
  | {
      readonly kind: 'since';
      readonly afterSeq: number;
      readonly roots: readonly string[];
      /** Absent: everyone. */
      readonly sessions?: readonly string[];
    }
);

/** A change and those of its effects that are to be taken back. */
export interface Selected {
  readonly entry: Entry;
  readonly effects: readonly Effect[];
}

/** Newest first; empty if there is nothing to take back. */
export function selectChanges(history: UndoHistory, target: UndoTarget): Selected[] {
  if (target.kind === 'since') return selectSince(history, target);
  const selected: Selected[] = [];
  for (const entry of history.changes.toReversed()) {
    if (!isWanted(entry, target)) continue;
    const effects = ofKey(entry, history.standing(entry), target.key);
    if (effects.length === 0 || (target.kind === 'last' && isRemainder(history, entry, effects))) continue;
    selected.push({ entry, effects });
    if (target.kind !== 'all') break;
  }
  return selected;
}

/** Only folders are left of it, which stayed because others need them: whoever goes back step by step is past it. */
function isRemainder(history: UndoHistory, entry: Entry, effects: readonly Effect[]): boolean {
  const isMadeFolder = ({ before, after }: Effect): boolean =>
    before.kind === 'absent' && after.kind === 'directory';
  return effects.every(isMadeFolder) && history.isPartlyUndone(entry);
}

/** True if effects of a selected change are left where they are. */
export function isPartial({ entry, effects }: Selected, history: UndoHistory): boolean {
  return effects.length < history.standing(entry).length;
}

/**
 * Every effect since an entry, except those that an undo outside the selection has taken back: that pair leaves things
 * as they were. An undo within the selection is taken back itself, and then what it had taken back.
 */
function selectSince(history: UndoHistory, target: Since): Selected[] {
  const selected: Selected[] = [];
  const taken = new Map<Entry, ReadonlySet<string>>();
  for (const entry of history.changes.toReversed()) {
    if (!isSince(entry, target)) continue;
    const idle = idleKeys(entry);
    const effects = (entry.effects ?? []).filter(({ key }) => {
      const undoer = history.undoerOf(entry, key);
      return !idle.has(key) && (undoer === undefined || taken.get(undoer)?.has(key) === true);
    });
    taken.set(entry, new Set(effects.map(({ key }) => key)));
    if (effects.length > 0) selected.push({ entry, effects });
  }
  return selected;
}

type Since = UndoTarget & { readonly kind: 'since' };

function isSince({ seq, root, session }: Entry, { afterSeq, roots, sessions }: Since): boolean {
  return seq > afterSeq && roots.includes(root) && (sessions?.includes(session) ?? true);
}

function isWanted(entry: Entry, target: Exclude<UndoTarget, Since>): boolean {
  if (entry.root !== target.root) return false;
  if (target.kind === 'change') return entry.change === target.change;
  // A rewind is a step of its own, so that the next undo is its redo.
  const isStep = !isUndo(entry) || (target.kind === 'last' && entry.rewindTo !== undefined);
  if (!isStep || (target.session !== undefined && target.session !== entry.session)) return false;
  return target.kind === 'last' || entry.atMs >= (target.sinceMs ?? 0);
}

/**
 * The effects that belong to a path's part in a change: its own, those below it, and the other end of a move. A change of one file is
 * taken whole, with the folders it made on the way.
 */
function ofKey(entry: Entry, standing: readonly Effect[], key: string | undefined): readonly Effect[] {
  if (key === undefined) return standing;
  if (!standing.some((effect) => effect.key === key)) return [];
  const isOwn = (each: string): boolean => each === key || each.startsWith(`${key}/`);
  const own = new Set([key]);
  for (const effect of standing) {
    const ends = [effect.key, movedTo(entry, effect) ?? effect.key];
    if (ends.some(isOwn)) for (const end of ends) own.add(end);
  }
  const isAbove = (effect: Effect): boolean => [...own].some((each) => each.startsWith(`${effect.key}/`));
  const madeFor = (effect: Effect): boolean => effect.after.kind === 'directory' && isAbove(effect);
  if (standing.every((effect) => own.has(effect.key) || madeFor(effect))) return standing;
  // A deleted file comes back with the folders that were deleted around it.
  const removedAround = (effect: Effect): boolean => effect.before.kind === 'directory' && isAbove(effect);
  return standing.filter((effect) => own.has(effect.key) || removedAround(effect));
}
