import type { Effect, Entry, Side } from '../model/entry.ts';
import { idleKeys, isUndo, movedTo, takenBackBy, type UndoHistory } from './undo-history.ts';
import type { Selected } from './undo-selection.ts';

/** One effect in the course of things; a moved folder's two effects are one event. */
export interface UndoEvent {
  readonly entry: Entry;
  readonly effect: Effect;
  readonly selected: boolean;
  /** Set when this is a folder that went elsewhere: the effect at its destination. */
  readonly folderTo?: Effect;
}

/**
 * Everything that happened since the oldest selected change, oldest first, without what left things as they were, and
 * without what was taken back and what took it back: those cancel out. If they did not quite (a merge), the bytes on disk are not the ones expected, and whoever
 * carries out the plan sees it.
 */
export function eventsSince(history: UndoHistory, selection: readonly Selected[]): UndoEvent[] {
  const selected = new Set(selection.flatMap((each) => each.effects));
  const start = Math.min(...selection.map((each) => each.entry.seq));
  const since = history.changes.filter((entry) => entry.seq >= start);
  const byChange = new Map(since.map((entry) => [entry.change ?? '', entry]));
  const cancelsOut = (entry: Entry, effect: Effect): boolean =>
    history.undoerOf(entry, effect.key) !== undefined ||
    takenBackBy(entry).changes.some((change) => touches(byChange.get(change), effect.key));
  const keys = new Set([...selected].map((effect) => effect.key));
  // What an undo took back from before all this stays taken back.
  const earlier = keysByChange(history.changes.filter((entry) => entry.seq < start));
  const tookBackEarlier = (entry: Entry, { key }: Effect): boolean =>
    takenBackBy(entry).changes.some(
      (change) => !byChange.has(change) && (earlier.get(change)?.has(key) ?? true),
    );
  const goesAlong = (entry: Entry, effect: Effect): boolean =>
    keys.has(effect.key) && !tookBackEarlier(entry, effect);
  return since.flatMap((entry) =>
    eventsOf(entry, selected).flatMap((event) => {
      if (event.selected) return [event];
      if (cancelsOut(entry, event.effect)) return [];
      if (!isUndo(entry) || !isOnlyOfFolder(entry, event.effect)) return [event];
      return goesAlong(entry, event.effect) ? [{ ...event, selected: true }] : [];
    }),
  );
}

/** What one change did, without what left things as they were. */
export function eventsOf(entry: Entry, selected: ReadonlySet<Effect>): UndoEvent[] {
  const idle = idleKeys(entry);
  const destinations = new Set<Effect>();
  const events: UndoEvent[] = [];
  for (const effect of entry.effects ?? []) {
    if (idle.has(effect.key) || destinations.has(effect)) continue;
    const event = { entry, effect, selected: selected.has(effect) };
    const folderTo = folderDestination(entry, effect);
    if (folderTo === undefined) events.push(event);
    else {
      destinations.add(folderTo);
      events.push({ ...event, folderTo });
    }
  }
  return events;
}

/** The change that stands in the way of a selected one. */
export interface Obstacle {
  readonly event: UndoEvent;
  readonly by: UndoEvent;
  /** A folder is concerned: nothing could be merged. */
  readonly folder: boolean;
}

/** The first change that was not selected and came after a selected one in the same place. */
export function findObstacle(events: readonly UndoEvent[]): Obstacle | undefined {
  const passed = new Map<string, UndoEvent>();
  const first = new Map<string, Side>();
  const moved: UndoEvent[] = [];
  for (const by of events) {
    const { key } = by.effect;
    if (by.selected) {
      passed.set(key, by);
      first.set(key, first.get(key) ?? by.effect.before);
      if (by.folderTo !== undefined) moved.push(by);
      continue;
    }
    const around =
      moved.find((event) => isInside(by, event)) ?? insideOf(by, moved) ?? insideOf(by, passed.values());
    if (around !== undefined) return { event: around, by, folder: true };
    const event = passed.get(key);
    if (event !== undefined && !hasBroughtBack(by, event, first.get(key)))
      return { event, by, folder: false };
  }
  return undefined;
}

/** Someone has made a deleted folder again, or removed a made one: what is to be undone is so already. */
function hasBroughtBack(by: UndoEvent, event: UndoEvent, first: Side | undefined): boolean {
  const [now, then] = [by.effect.after.kind, first?.kind];
  return now === then && (event.effect.after.kind === 'directory' || then === 'directory');
}

/** The first of the events in the folder that this one has moved, if it is such a move. */
function insideOf(by: UndoEvent, passed: Iterable<UndoEvent>): UndoEvent | undefined {
  if (by.folderTo === undefined) return undefined;
  for (const event of passed) if (isInside(event, by)) return event;
  return undefined;
}

export function isUnder(key: string, folder: string): boolean {
  return key.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** True if one event happened in a folder that the other has moved, or led there: in its old place, its new one, or itself. */
function isInside(event: UndoEvent, moved: UndoEvent): boolean {
  if (moved.folderTo === undefined) return false;
  const keys = [event.effect.key, ...(event.folderTo === undefined ? [] : [event.folderTo.key])];
  const places = [moved.effect.key, moved.folderTo.key];
  return places.some((place) => keys.some((key) => key === place || isUnder(key, place)));
}

/**
 * Folders that an undo has made or left behind for what it brought back are nobody's change, and no obstacle to any. They go
 * with what is taken back at the same place.
 */
function isOnlyOfFolder(entry: Entry, effect: Effect): boolean {
  if (movedTo(entry, effect) !== undefined) return false;
  return [effect.before, effect.after].every(({ kind }) => kind === 'absent' || kind === 'directory');
}

function keysByChange(entries: readonly Entry[]): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(
    entries.map(({ change, effects }) => [change ?? '', new Set(effects?.map(({ key }) => key))]),
  );
}

function touches(entry: Entry | undefined, key: string): boolean {
  return entry?.effects?.some((effect) => effect.key === key) ?? false;
}

function folderDestination(entry: Entry, effect: Effect): Effect | undefined {
  if (effect.before.kind !== 'directory') return undefined;
  const key = movedTo(entry, effect);
  // After the source: earlier in a batch something else may have happened at the destination.
  const following = entry.effects?.slice(entry.effects.indexOf(effect) + 1);
  return key === undefined ? undefined : following?.find((other) => other.key === key);
}
