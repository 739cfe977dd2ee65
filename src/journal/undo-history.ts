import type { Effect, Entry, Side, Undone } from '../model/entry.ts';
import { sameSide } from './side.ts';

/** Changes in the order they were made, with their undone effects. */
export class UndoHistory {
  /** All changes, oldest first. */
  readonly changes: readonly Entry[];
  readonly #undoers = new Map<string, Entry[]>();

  /** Accepts entries in any order; ignores those that are not changes. */
  constructor(entries: readonly Entry[]) {
    this.changes = entries.filter((entry) => entry.kind === 'change').sort((a, b) => a.seq - b.seq);
    for (const entry of this.changes) {
      for (const change of takenBackBy(entry).changes) {
        const undoers = this.#undoers.get(change) ?? [];
        this.#undoers.set(change, undoers);
        undoers.push(entry);
      }
    }
  }

  /** The undo that took this effect back, unless that undo was itself undone. */
  undoerOf(entry: Entry, key: string): Entry | undefined {
    const undoers = entry.change === undefined ? [] : (this.#undoers.get(entry.change) ?? []);
    return undoers.find((undo) => undo.seq > entry.seq && takesBack(undo, key) && !this.undoerOf(undo, key));
  }

  isPartlyUndone(entry: Entry): boolean {
    return (entry.effects ?? []).some(({ key }) => this.undoerOf(entry, key) !== undefined);
  }

  /** The effects that changed something and have not been undone. */
  standing(entry: Entry): Effect[] {
    const idle = idleKeys(entry);
    return (entry.effects ?? []).filter(
      ({ key }) => !idle.has(key) && this.undoerOf(entry, key) === undefined,
    );
  }
}

/** The changes that an entry undid; empty if it is not an undo. */
export function takenBackBy(entry: Pick<Entry, 'undoes' | 'undone'>): Undone {
  return entry.undone ?? { changes: entry.undoes === undefined ? [] : [entry.undoes] };
}

export function isUndo(entry: Entry): boolean {
  return takenBackBy(entry).changes.length > 0;
}

/**
 * The destination of a moved file or folder. In a single move it may be implicit: the effect after
 * the source.
 */
export function movedTo(entry: Entry, effect: Effect): string | undefined {
  if (effect.movedTo !== undefined) return effect.movedTo;
  if (entry.action !== 'move' || effect.before.kind === 'absent' || effect.after.kind !== 'absent')
    return undefined;
  const effects = entry.effects ?? [];
  return effects[effects.indexOf(effect) + 1]?.key;
}

/**
 * Keys whose state after the change equals the state before: nothing to undo. Empty if a folder was
 * moved, because the folder must return through the same paths.
 */
export function idleKeys(entry: Entry): ReadonlySet<string> {
  const first = new Map<string, Side>();
  const idle = new Set<string>();
  for (const effect of entry.effects ?? []) {
    if (effect.before.kind === 'directory' && movedTo(entry, effect) !== undefined) return new Set();
    const before = first.get(effect.key) ?? effect.before;
    first.set(effect.key, before);
    if (sameSide(before, effect.after)) idle.add(effect.key);
    else idle.delete(effect.key);
  }
  return idle;
}

function takesBack(undo: Entry, key: string): boolean {
  return takenBackBy(undo).keys?.includes(key) ?? true;
}
