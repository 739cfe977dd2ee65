import type { Effect, Entry, Side, Undone } from '../model/entry.ts';
import { sameSide } from './side.ts';

/** Changes in the order they were made, and which of their effects were taken back since. */
export class UndoHistory {
  /** Oldest first. */
  readonly changes: readonly Entry[];
  readonly #undoers = new Map<string, Entry[]>();

  /** Entries in any order; those that are no changes are left out. */
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

  /** The undo that took this effect back, unless that undo was itself taken back. */
  undoerOf(entry: Entry, key: string): Entry | undefined {
    const undoers = entry.change === undefined ? [] : (this.#undoers.get(entry.change) ?? []);
    return undoers.find((undo) => undo.seq > entry.seq && takesBack(undo, key) && !this.undoerOf(undo, key));
  }

  isPartlyUndone(entry: Entry): boolean {
    return (entry.effects ?? []).some(({ key }) => this.undoerOf(entry, key) !== undefined);
  }

  /** The effects that still stand and made a difference. */
  standing(entry: Entry): Effect[] {
    const idle = idleKeys(entry);
    return (entry.effects ?? []).filter(
      ({ key }) => !idle.has(key) && this.undoerOf(entry, key) === undefined,
    );
  }
}

/** What an entry took back; of an entry that is no undo: nothing. */
export function takenBackBy(entry: Pick<Entry, 'undoes' | 'undone'>): Undone {
  return entry.undone ?? { changes: entry.undoes === undefined ? [] : [entry.undoes] };
}

export function isUndo(entry: Entry): boolean {
  return takenBackBy(entry).changes.length > 0;
}

/** Where a moved thing went. Entries of a single move need not say it: the effect after the source is the destination. */
export function movedTo(entry: Entry, effect: Effect): string | undefined {
  if (effect.movedTo !== undefined) return effect.movedTo;
  if (entry.action !== 'move' || effect.before.kind === 'absent' || effect.after.kind !== 'absent')
    return undefined;
  const effects = entry.effects ?? [];
  return effects[effects.indexOf(effect) + 1]?.key;
}

/**
 * Keys at which everything was as before when the change was over: there is nothing to take back. None where a folder
 * was moved, for then every step counts: the folder has to find its way back through the same places.
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
