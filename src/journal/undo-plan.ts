import { type Effect, type Entry, type State, sameState, type Undone } from '../model/entry.ts';
import { isWithin } from '../model/path.ts';
import { type Refused, refused, type UndoCall } from '../model/verdict.ts';
import { type Blocked, type BlockedPath, blockedBy, type UndoOutcome } from './undo-blocked.ts';
import {
  eventsOf,
  eventsSince,
  findObstacle,
  type Obstacle,
  oldestSeq,
  type UndoEvent,
} from './undo-events.ts';
import {
  isPartial,
  isUndo,
  movedTo,
  type Selected,
  selectChanges,
  takenBackBy,
  UndoHistory,
  type UndoTarget,
} from './undo-history.ts';
import { type Gap, type UndoDelta, undoSteps } from './undo-steps.ts';

/**
 * A plan that undoes changes. The executor first checks every step that has a `lookAt` path. It
 * then saves the current bytes of all files, because a step may need bytes that another step
 * overwrites. Finally it runs the steps in order.
 */
export interface UndoPlan {
  readonly steps: readonly UndoDelta[];
  /** The undone changes, for the journal entry of the undo. */
  readonly undone: Undone;
  /** The keys of all paths that the selected changes touched. */
  readonly keys: readonly string[];
}

export interface UndoOptions {
  /**
   * Keep other changes to the same file instead of refusing. A file may then have several steps,
   * and a file with unexpected bytes is merged.
   */
  readonly merge?: boolean;
  /**
   * The session that undoes. If one of its own later changes is in the way, the refusal recommends
   * undoing that change first, not a merge.
   */
  readonly session?: string;
  /** The call that repeats this undo with a merge. A refusal recommends it. */
  readonly merged?: UndoCall | undefined;
  /** Keys of paths to leave as they are. */
  readonly leave?: ReadonlySet<string>;
}

/**
 * A plan and an alternative. The alternative reaches the same result by reversing fewer changes. It
 * is used if the files on disk do not match the first plan.
 */
export interface UndoPlans {
  readonly plan: UndoPlan;
  readonly instead?: UndoPlan;
}

/**
 * Plans an undo, without reading the disk. `entries` are the changes of all sessions since the
 * oldest change that may be selected. NOT_FOUND: there is nothing to undo, or the bytes were not
 * kept. STALE: a change that must stay is in the way.
 */
export function planUndo(
  entries: readonly Entry[],
  target: UndoTarget,
  options: UndoOptions = {},
): UndoOutcome<UndoPlans> {
  const history = new UndoHistory(entries);
  const selection = withoutLeft(selectChanges(history, target), options.leave ?? new Set());
  if (selection.length === 0) return { ...nothingToUndo(history, target), blocked: [] };
  const chosen = { history, selection };
  const course = target.kind === 'all' ? wholeCourse(history, selection, target.root) : undefined;
  const through = course && planFor(course, chosen, {});
  const across = planFor(eventsSince(history, selection), chosen, options);
  if (!through?.ok) return across;
  return across.ok ? { ok: true, plan: through.plan, instead: across.plan } : through;
}

/** Leaves out effects on the given paths. Of a move, both ends are left out if one is. */
function withoutLeft(selection: readonly Selected[], leave: ReadonlySet<string>): readonly Selected[] {
  if (leave.size === 0) return selection;
  return selection.flatMap(({ entry, effects }) => {
    const left = new Set(leave);
    for (const effect of entry.effects ?? []) {
      const ends = [effect.key, movedTo(entry, effect) ?? effect.key];
      if (ends.some((end) => leave.has(end))) for (const end of ends) left.add(end);
    }
    const rest = effects.filter(({ key }) => !left.has(key));
    return rest.length === 0 ? [] : [{ entry, effects: rest }];
  });
}

interface Chosen {
  readonly history: UndoHistory;
  readonly selection: readonly Selected[];
}

function planFor(
  events: readonly UndoEvent[],
  { history, selection }: Chosen,
  options: UndoOptions,
): UndoOutcome<{ readonly plan: UndoPlan }> {
  const obstacle = findObstacle(events, options.merge === true ? 'folders' : 'all');
  if (obstacle !== undefined) return inTheWay(obstacle, options);
  const { steps, gaps } = undoSteps(events);
  const between = options.merge === true ? [] : gaps.map((gap) => changedBetween(gap, options));
  const held = heldBytes(history, steps);
  const lost = steps.filter((step) => step.after.kind === 'file' && !held.has(step.after.fingerprint.sha256));
  const blocked = blockedBy([...between, ...lost.map(notKept)]);
  if (blocked !== undefined) return blocked;
  return {
    ok: true,
    plan: {
      steps: withFolderModes(steps.map(asKept), history, selection),
      undone: undoneBy(selection),
      keys: keysOf(selection),
    },
  };
}

/**
 * The hashes of all bytes that the steps can restore: stored file contents, and bytes that are
 * still on disk.
 */
function heldBytes(history: UndoHistory, steps: readonly UndoDelta[]): ReadonlySet<string> {
  const held = new Set<string>();
  const add = (side: State): void => {
    if (side.kind === 'file') held.add(side.fingerprint.sha256);
  };
  for (const { before, after } of history.changes.flatMap((entry): readonly Effect[] => entry.effects ?? []))
    for (const side of [before, after]) if (side.kind === 'file' && side.kept) add(side);
  for (const step of steps) if (step.lookAt !== undefined) add(step.before);
  return held;
}

/** Adds the mode of the parent folder to steps, in case the folder is missing and no step restores it. */
function withFolderModes(
  steps: readonly UndoDelta[],
  history: UndoHistory,
  selection: readonly Selected[],
): UndoDelta[] {
  const start = oldestSeq(selection);
  const first = new Map<string, State>();
  for (const entry of history.changes)
    for (const { key, before } of entry.seq < start ? [] : (entry.effects ?? []))
      if (!first.has(key)) first.set(key, before);
  return steps.map((step) => {
    const folder = first.get(step.key.slice(0, step.key.lastIndexOf('/')));
    return folder?.kind === 'directory' && step.after.kind !== 'absent'
      ? { ...step, folderMode: folder.mode }
      : step;
  });
}

function asKept(step: UndoDelta): UndoDelta {
  return step.after.kind === 'file' ? { ...step, after: { ...step.after, kept: true } } : step;
}

function undoneBy(selection: readonly Selected[]): Undone {
  const changes = selection.map(({ entry }) => entry.change ?? '');
  if (!selection.some(isPartial)) return { changes };
  return { changes, keys: keysOf(selection) };
}

function keysOf(selection: readonly Selected[]): readonly string[] {
  return [...new Set(selection.flatMap(({ effects }) => effects.map((effect) => effect.key)))];
}

function nothingToUndo(history: UndoHistory, target: UndoTarget): Refused {
  if (target.kind !== 'change') return refuse('NOT_FOUND', '', { reason: 'there is no change left to undo' });
  const entry = history.changes.find((each) => each.change === target.change && each.root === target.root);
  if (entry === undefined)
    return refuse('NOT_FOUND', '', { reason: `there is no change ${target.change} in this workspace` });
  const [effect] = (entry.effects ?? []).filter((each) => each.key === (target.key ?? each.key));
  const undoer = effect && history.undoerOf(entry, effect.key)?.change;
  if (undoer === undefined)
    return refuse('NOT_FOUND', '', {
      reason: `change ${target.change} has nothing left to undo here`,
    });
  const reason = `change ${target.change} was already undone by ${undoer}`;
  return refuse('NOT_FOUND', '', { reason, undo: { change: undoer } });
}

function inTheWay({ event, by, folder }: Obstacle, { session, merge, merged }: UndoOptions): Blocked {
  const { change, session: author, atMs } = by.entry;
  const canMerge = !folder && merge !== true && author !== session;
  const undo = canMerge ? merged : change === undefined ? undefined : { change };
  const refusal = refuse('STALE', event.effect.relative, {
    reason: `change ${change} by session ${author} came after change ${event.entry.change} and is not part of this undo`,
    writer: { session: author, atMs },
    undo,
  });
  return { ...refusal, blocked: [{ key: event.effect.key, refusal: refusal.refusal }] };
}

function changedBetween({ older, newer }: Gap, { merged }: UndoOptions): BlockedPath {
  const { refusal } = refuse('STALE', newer.effect.relative, {
    reason: `another program changed it between change ${older.entry.change} and change ${newer.entry.change}`,
    undo: merged,
  });
  return { key: newer.effect.key, refusal };
}

function notKept({ key, relative: path }: UndoDelta): BlockedPath {
  const detail = { reason: 'Lookfirst has no copy of its earlier content' };
  return { key, refusal: { code: 'NOT_FOUND', action: 'undo', path, next: 'use_edit', detail } };
}

function refuse(
  code: 'NOT_FOUND' | 'STALE',
  path: string,
  {
    undo,
    ...detail
  }: { reason: string; writer?: { session: string; atMs: number }; undo?: UndoCall | undefined },
): Refused {
  const next = code === 'STALE' || undo !== undefined ? 'fix_argument' : 'none';
  return refused({ code, action: 'undo', path, next, detail: { ...detail, ...(undo && { undo }) } });
}

/**
 * All events in a workspace since the change that `startOf` finds, oldest first, all marked as
 * selected. Events in other roots are included if they are at selected paths. `withoutIdlePairs`
 * leaves out events that cancel out. Reversing the others, including undos, takes each folder back
 * through its earlier states. Undefined if `startOf` finds no change, if one of the events must
 * stay, or if none is an undo.
 */
function wholeCourse(
  history: UndoHistory,
  selection: readonly Selected[],
  root: string,
): readonly UndoEvent[] | undefined {
  const start = startOf(history, selection);
  if (start === undefined) return undefined;
  const selected = new Set(selection.flatMap(({ effects }) => effects));
  const keys = new Set(keysOf(selection));
  const eventsIn = (entries: readonly Entry[]): readonly UndoEvent[] =>
    entries
      .flatMap((entry) => eventsOf(entry, selected))
      .filter(({ effect: { key } }) => isWithin(key, root) || keys.has(key));
  const goes = ({ entry, effect, selected: wanted }: UndoEvent): boolean =>
    wanted || isUndo(entry) || history.undoerOf(entry, effect.key) !== undefined;
  const since = history.changes.filter(({ seq }) => seq >= start);
  if (!since.some(isUndo)) return undefined;
  // Check all events before `withoutIdlePairs` drops pairs of a change and its undo. If the undo of
  // such a pair was itself undone later, the change is in effect again. If the user did not select
  // it, it must not be undone.
  if (!eventsIn(since).every(goes)) return undefined;
  const course = withoutIdlePairs(since);
  if (!course.some(isUndo)) return undefined;
  return eventsIn(course).map((event) => ({ ...event, selected: true }));
}

/**
 * The number of the first event to reverse: the oldest selected change, or an even older change
 * that one of the later undos reversed. Undefined if that older change is no longer in the history.
 */
function startOf(history: UndoHistory, selection: readonly Selected[]): number | undefined {
  const seqOf = new Map(history.changes.map(({ change, seq }) => [change, seq]));
  let start = oldestSeq(selection);
  // Go from new to old: an undo comes after the changes it reversed, so one pass finds undos of
  // undos too.
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

/**
 * Returns the changes, oldest first, without pairs of a change and its full undo: reversing both
 * would only move files back and forth. Keeps a pair if another change in between touched one of
 * its paths, or a path above or below one.
 */
function withoutIdlePairs(changes: readonly Entry[]): readonly Entry[] {
  const left = new Map<string, Entry>();
  const paths = new PathUse();
  for (const entry of changes) {
    const undone = takenBackBy(entry).changes;
    const taken = undone.flatMap((change) => left.get(change) ?? []).sort((a, b) => a.seq - b.seq);
    const isPair = taken.length > 0 && taken.length === undone.length && isIdle([...taken, entry]);
    if (isPair && !paths.isUsedByOthers(taken)) {
      for (const each of taken) {
        left.delete(idOf(each));
        paths.forget(each);
      }
    } else {
      left.set(idOf(entry), entry);
      paths.add(entry);
    }
  }
  return [...left.values()];
}

/** True if the changes together leave every path as it was. */
function isIdle(changes: readonly Entry[]): boolean {
  const first = new Map<string, State>();
  const last = new Map<string, State>();
  for (const { key, before, after } of changes.flatMap(effectsOf)) {
    if (!first.has(key)) first.set(key, before);
    last.set(key, after);
  }
  return [...last].every(([key, after]) => sameState(first.get(key) ?? after, after));
}

/** Tracks which changes touched a path or something below it. */
class PathUse {
  readonly #at = new Map<string, Entry[]>();
  readonly #below = new Map<string, Entry[]>();
  readonly #forgotten = new Set<Entry>();

  add(entry: Entry): void {
    for (const { key } of effectsOf(entry)) {
      addTo(this.#at, key, entry);
      for (const folder of foldersOf(key)) addTo(this.#below, folder, entry);
    }
  }

  forget(entry: Entry): void {
    this.#forgotten.add(entry);
  }

  /**
   * True if, since the first of `changes`, another change touched one of their paths, or a path
   * above or below one.
   */
  isUsedByOthers(changes: readonly Entry[]): boolean {
    const own = new Set(changes);
    const start = changes[0]?.seq ?? 0;
    return changes.flatMap(effectsOf).some(({ key }) => {
      const near = [
        this.#at.get(key),
        this.#below.get(key),
        ...foldersOf(key).map((each) => this.#at.get(each)),
      ];
      return near.some((entries) => entries !== undefined && this.#hasOther(entries, own, start));
    });
  }

  #hasOther(entries: Entry[], own: ReadonlySet<Entry>, start: number): boolean {
    // If entries at the end of the list were passed to `forget`, remove them from the list. Later
    // searches then need not skip them.
    for (let last = entries.at(-1); last !== undefined && this.#forgotten.has(last); last = entries.at(-1))
      entries.pop();
    const other = entries.findLast(
      (entry) => entry.seq < start || !(own.has(entry) || this.#forgotten.has(entry)),
    );
    return other !== undefined && other.seq >= start;
  }
}

function addTo(map: Map<string, Entry[]>, key: string, entry: Entry): void {
  const entries = map.get(key) ?? [];
  map.set(key, entries);
  if (entries.at(-1) !== entry) entries.push(entry);
}

function idOf({ change, seq }: Entry): string {
  return change ?? `${seq}`;
}

function effectsOf(entry: Entry): readonly Effect[] {
  return entry.effects ?? [];
}

/** The keys of all folders above a key. */
function foldersOf(key: string): string[] {
  const folders: string[] = [];
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1))
    folders.push(key.slice(0, end));
  return folders;
}
