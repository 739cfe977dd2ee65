import type { Effect, Entry } from '../model/entry.ts';
import { idleKeys, isUndo, movedTo, type UndoHistory } from './undo-history.ts';

/**
 * What to undo, in one workspace (`root`).
 * `change`: that change; if it is an undo, it is redone. `last`: the newest change still in effect,
 * of a session and of a file if given. Undos are skipped, so that undoing twice goes back one
 * further. `all`: every change still in effect. `since`: everything that the given sessions, or all
 * of them, did in the roots after an entry, including undos, so that files return to their state at
 * that time. With a key, only that file's part of a change is undone.
 */
export type UndoTarget = { readonly root: string; readonly key?: string } & (
  | { readonly kind: 'change'; readonly change: string }
  | { readonly kind: 'last'; readonly session?: string }
  | { readonly kind: 'all'; readonly session?: string; readonly sinceMs?: number }
  | {
      readonly kind: 'since';
      readonly afterSeq: number;
      readonly roots: readonly string[];
      /** The sessions whose changes are undone; absent: all sessions. */
      readonly sessions?: readonly string[];
    }
);

/** A change, with the effects to undo. */
export interface Selected {
  readonly entry: Entry;
  readonly effects: readonly Effect[];
}

/** The changes that a target selects, newest first; empty if there is nothing to undo. */
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

/** True if only folders remain of a partly undone change, kept because others need them. `last` skips it. */
function isRemainder(history: UndoHistory, entry: Entry, effects: readonly Effect[]): boolean {
  const isMadeFolder = ({ before, after }: Effect): boolean =>
    before.kind === 'absent' && after.kind === 'directory';
  return effects.every(isMadeFolder) && history.isPartlyUndone(entry);
}

/** True if some effects of a selected change are not undone. */
export function isPartial({ entry, effects }: Selected, history: UndoHistory): boolean {
  return effects.length < history.standing(entry).length;
}

/**
 * Selects every effect since an entry, except those undone by an undo outside the selection: that
 * pair cancels out. An undo inside the selection is undone first, then the changes it had taken
 * back.
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
  // A rewind counts as a step, so that the next undo redoes it.
  const isStep = !isUndo(entry) || (target.kind === 'last' && entry.rewindTo !== undefined);
  if (!isStep || (target.session !== undefined && target.session !== entry.session)) return false;
  return target.kind === 'last' || entry.atMs >= (target.sinceMs ?? 0);
}

/**
 * The effects of a change that concern a path: its own, those below it, and the other end of a
 * move. A change of a single file is taken as a whole, including the folders it created.
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
  // A deleted file is restored together with the folders that were deleted above it.
  const removedAround = (effect: Effect): boolean => effect.before.kind === 'directory' && isAbove(effect);
  return standing.filter((effect) => own.has(effect.key) || removedAround(effect));
}
