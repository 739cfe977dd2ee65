import type { Effect, Entry, State } from '../model/entry.ts';
import { isWithin } from '../model/path.ts';
import { idleKeys, isUndo, movedTo, type Selected, takenBackBy, type UndoHistory } from './undo-history.ts';

/** One effect in the history. The two effects of a folder move form one event. */
export interface UndoEvent {
  readonly entry: Entry;
  readonly effect: Effect;
  readonly selected: boolean;
  /** Set for a folder move: the effect at the destination. */
  readonly folderTo?: Effect;
}

/** The number of the oldest selected change. */
export function oldestSeq(selection: readonly Selected[]): number {
  return selection.reduce((oldest, { entry }) => Math.min(oldest, entry.seq), Number.POSITIVE_INFINITY);
}

/**
 * All events since the oldest selected change, oldest first. Omits effects that changed nothing,
 * and each undone effect together with its undo. This is safe even for an undo that did not restore
 * the old state exactly, for example because it merged: the executor of the plan checks the bytes.
 */
export function eventsSince(history: UndoHistory, selection: readonly Selected[]): UndoEvent[] {
  const selected = new Set(selection.flatMap((each) => each.effects));
  const start = oldestSeq(selection);
  const since = history.changes.filter((entry) => entry.seq >= start);
  const byChange = new Map(since.map((entry) => [entry.change ?? '', entry]));
  const moves = since.flatMap((entry) => eventsOf(entry, selected).filter(isFolderMove));
  const keysOf = lazily((change) => placesOf(byChange.get(change), moves));
  const cancelsOut = (entry: Entry, effect: Effect): boolean =>
    history.undoerOf(entry, effect.key) !== undefined ||
    takenBackBy(entry).changes.some((change) => keysOf(change).has(effect.key));
  const keys = new Set([...selected].map((effect) => effect.key));
  // An undo also makes or removes the parent folders of the files that it restores. `goesAlong`
  // selects such a folder if it is at a selected path, unless the undo reverted a change from before
  // `start`: that change must stay undone.
  const earlier = keysByChange(history.changes.filter((entry) => entry.seq < start));
  const tookBackEarlier = (entry: Entry, { key }: Effect): boolean =>
    takenBackBy(entry).changes.some(
      (change) => !byChange.has(change) && (earlier.get(change)?.has(key) ?? true),
    );
  const goesAlong = (entry: Entry, effect: Effect): boolean =>
    keys.has(effect.key) && !tookBackEarlier(entry, effect);
  const events = since.flatMap((entry) =>
    eventsOf(entry, selected).flatMap((event) => {
      if (event.selected) return [event];
      if (cancelsOut(entry, event.effect)) return [];
      if (!isUndo(entry) || !isOnlyOfFolder(entry, event.effect)) return [event];
      return goesAlong(entry, event.effect) ? [{ ...event, selected: true }] : [];
    }),
  );
  return carriedAlong(events);
}

/** The keys at which the files of a change have been: folder moves since have taken them along. */
function placesOf(entry: Entry | undefined, moves: readonly UndoEvent[]): ReadonlySet<string> {
  const places = new Set(entry?.effects?.map(({ key }) => key));
  for (const { entry: by, effect, folderTo } of moves) {
    if (folderTo === undefined || by.seq <= (entry?.seq ?? 0)) continue;
    for (const key of [...places])
      if (isWithin(key, effect.key)) places.add(folderTo.key + key.slice(effect.key.length));
  }
  return places;
}

/**
 * The events at the paths where later folder moves that stay have taken their files. A moved folder
 * keeps its own path, because its move is undone as a whole.
 */
function carriedAlong(events: readonly UndoEvent[]): UndoEvent[] {
  const carried: UndoEvent[] = [];
  for (const event of events) {
    if (!event.selected && isFolderMove(event))
      for (const [index, earlier] of carried.entries()) carried[index] = carriedBy(earlier, event);
    carried.push(event);
  }
  return carried;
}

function carriedBy(event: UndoEvent, { effect: from, folderTo: to }: UndoEvent): UndoEvent {
  const { effect } = event;
  if (to === undefined || isFolderMove(event) || !isWithin(effect.key, from.key)) return event;
  // An empty path follows the folder around it. It is not the folder that moved.
  if (effect.after.kind === 'absent' && effect.key === from.key) return event;
  const key = to.key + effect.key.slice(from.key.length);
  const relative = to.relative + effect.relative.slice(from.relative.length);
  return { ...event, effect: { ...effect, key, relative } };
}

function isFolderMove({ folderTo }: UndoEvent): boolean {
  return folderTo !== undefined;
}

/** The events of one change, without effects that changed nothing. */
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

/** A later event (`by`) that blocks undoing a selected one (`event`). */
export interface Obstacle {
  readonly event: UndoEvent;
  readonly by: UndoEvent;
  /** True if the obstacle involves a folder, so that it cannot be merged. */
  readonly folder: boolean;
}

/**
 * The first unselected change that blocks the undo of an earlier selected one. Either both changed
 * the same path, or another session changed something in a folder that the selected one moved, or
 * that folder is in another one that was moved. `folders`: leaves out obstacles that can be merged.
 */
export function findObstacle(events: readonly UndoEvent[], which: 'all' | 'folders'): Obstacle | undefined {
  const passed = new Map<string, UndoEvent>();
  const first = new Map<string, State>();
  const moved: UndoEvent[] = [];
  for (const by of events) {
    const { key } = by.effect;
    if (by.selected) {
      passed.set(key, by);
      first.set(key, first.get(key) ?? by.effect.before);
      if (by.folderTo !== undefined) moved.push(by);
      continue;
    }
    const around = moved.find((event) => isTheirs(by, event) && isInside(by, event)) ?? insideOf(by, moved);
    if (around !== undefined) return { event: around, by, folder: true };
    if (which === 'folders') continue;
    const event = passed.get(key);
    if (event !== undefined && !hasBroughtBack(by, event, first.get(key)))
      return { event, by, folder: false };
  }
  return undefined;
}

/**
 * True if a later change (`by`) already restored the state before `event`: it recreated a deleted
 * folder, or removed a created one.
 */
function hasBroughtBack(by: UndoEvent, event: UndoEvent, first: State | undefined): boolean {
  const [now, then] = [by.effect.after.kind, first?.kind];
  return now === then && (event.effect.after.kind === 'directory' || then === 'directory');
}

/** True if another session made the later change. */
function isTheirs(by: UndoEvent, event: UndoEvent): boolean {
  return by.entry.session !== event.entry.session;
}

/**
 * The first of the `passed` events that happened in the folder that `by` moved. Undefined if there
 * is none, or if `by` is not a folder move.
 */
function insideOf(by: UndoEvent, passed: Iterable<UndoEvent>): UndoEvent | undefined {
  if (by.folderTo === undefined) return undefined;
  for (const event of passed) if (isInside(event, by)) return event;
  return undefined;
}

/**
 * True if an event happened in a folder that `moved` has moved, at the folder's old or new path.
 * Moving something into that folder also counts.
 */
function isInside(event: UndoEvent, moved: UndoEvent): boolean {
  if (moved.folderTo === undefined) return false;
  const keys = [event.effect.key, ...(event.folderTo === undefined ? [] : [event.folderTo.key])];
  const places = [moved.effect.key, moved.folderTo.key];
  return places.some((place) => keys.some((key) => isWithin(key, place)));
}

/**
 * True if an effect only creates or removes a folder. An undo has such effects for the parent
 * folders of restored files. They block no other undo.
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

/** Computes each value once, when it is first needed. */
function lazily<T>(compute: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    const value = known.get(name) ?? compute(name);
    known.set(name, value);
    return value;
  };
}

function folderDestination(entry: Entry, effect: Effect): Effect | undefined {
  if (effect.before.kind !== 'directory') return undefined;
  const key = movedTo(entry, effect);
  if (key === undefined) return undefined;
  // Search only the effects after the move's source: in a batch, an earlier effect may have the
  // same key as the destination.
  const following = entry.effects?.slice(entry.effects.indexOf(effect) + 1);
  return following?.find((other) => other.key === key);
}
