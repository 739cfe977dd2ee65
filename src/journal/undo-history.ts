import { byPath, type Delta, endsOf, joinMoves, type State, sameState } from '../model/delta.ts';
import type { ChangeEntry, Undone } from '../model/entry.ts';
import { foldersAbove, isWithin } from '../model/path.ts';
import { defined } from '../model/record.ts';
import type { EntryFilter, Store } from '../store/store.ts';

/**
 * The changes of a journal in the order they were made. Knows which of their deltas were undone.
 */
export class UndoHistory {
  /** All changes, oldest first. */
  readonly changes: readonly ChangeEntry[];
  readonly #undoers = new Map<string, ChangeEntry[]>();
  /** The keys that each partial undo covers. Sets, because they are searched for every file of a change. */
  readonly #covered = new Map<ChangeEntry, ReadonlySet<string>>();
  readonly #effective = new Map<ChangeEntry, readonly Delta[]>();

  /** Accepts entries in any order. */
  constructor(entries: readonly ChangeEntry[]) {
    this.changes = entries.toSorted((a, b) => a.seq - b.seq);
    for (const entry of this.changes) {
      const { changes, keys } = takenBackBy(entry);
      if (keys !== undefined) this.#covered.set(entry, new Set(keys));
      for (const change of changes) {
        const undoers = this.#undoers.get(change) ?? [];
        this.#undoers.set(change, undoers);
        undoers.push(entry);
      }
    }
  }

  /**
   * The undo that reverted a change at a path (`key`). Undefined if there is none, or if that undo
   * was itself undone.
   */
  undoerOf(entry: Pick<ChangeEntry, 'change' | 'seq'>, key: string): ChangeEntry | undefined {
    const undoers = this.#undoers.get(entry.change) ?? [];
    const covers = (undo: ChangeEntry): boolean => this.#covered.get(undo)?.has(key) ?? true;
    return undoers.find((undo) => undo.seq > entry.seq && covers(undo) && !this.undoerOf(undo, key));
  }

  /** The undo that reverted a delta of a change. For a move, it reverted both ends. */
  undoerOfDelta(entry: ChangeEntry, delta: Delta): ChangeEntry | undefined {
    return this.undoerOf(entry, oldKeyOf(delta));
  }

  isPartlyUndone(entry: ChangeEntry): boolean {
    return entry.deltas.some((delta) => this.undoerOfDelta(entry, delta) !== undefined);
  }

  /** The deltas of a change that are still in place: no undo in effect has reverted them. */
  standing(entry: ChangeEntry): Delta[] {
    return this.effective(entry).filter((delta) => this.undoerOfDelta(entry, delta) === undefined);
  }

  /**
   * The deltas of a change, without those at paths that it left in the same state as before. All
   * deltas if the change moved a folder: an undo must then reverse each of them.
   */
  effective(entry: ChangeEntry): readonly Delta[] {
    const known = this.#effective.get(entry) ?? effectiveDeltas(entry);
    this.#effective.set(entry, known);
    return known;
  }
}

/** The path of a delta before its change: the old path of what was moved. */
function oldKeyOf({ key, movedFrom }: Delta): string {
  return movedFrom?.key ?? key;
}

/** The changes that an entry undid; empty if it is not an undo. */
export function takenBackBy(entry: Pick<ChangeEntry, 'undoes' | 'undone'>): Undone {
  return entry.undone ?? { changes: entry.undoes === undefined ? [] : [entry.undoes] };
}

export function isUndo(entry: ChangeEntry): boolean {
  return takenBackBy(entry).changes.length > 0;
}

function effectiveDeltas({ deltas }: ChangeEntry): readonly Delta[] {
  const first = new Map<string, State>();
  const idle = new Set<string>();
  const halves = byPath(deltas);
  for (const { key, before, after, movedFrom } of halves) {
    if (movedFrom !== undefined && after.kind === 'directory') return deltas;
    const start = first.get(key) ?? before;
    first.set(key, start);
    if (sameState(start, after)) idle.add(key);
    else idle.delete(key);
  }
  return idle.size === 0 ? deltas : joinMoves(halves.filter(({ key }) => !idle.has(key)));
}

/**
 * Selects the changes to undo in these workspaces. With `key`, only that file's part of each change
 * is undone. The kinds are:
 * - `change`: the change with this id. If it is an undo, the changes that it undid are redone.
 * - `last`: the newest change still in effect, of one session if given. Undos are skipped, except
 * rewinds, so that a second undo reverts the next older change.
 * - `all`: every change still in effect, of one session and since a time if given.
 * - `since`: everything that the given sessions did after an entry. That includes undos, so that
 * files return to their state at that time.
 */
export type UndoTarget = { readonly roots: readonly string[]; readonly key?: string } & (
  | { readonly kind: 'change'; readonly change: string }
  | { readonly kind: 'last'; readonly session?: string }
  | { readonly kind: 'all'; readonly session?: string; readonly sinceMs?: number }
  | {
      readonly kind: 'since';
      readonly afterSeq: number;
      /** The sessions whose changes are undone; absent: all sessions. */
      readonly sessions?: readonly string[];
    }
);

/** A change, with the deltas to undo. */
export interface Selected {
  readonly entry: ChangeEntry;
  readonly deltas: readonly Delta[];
}

/** The changes that a target selects, newest first; empty if there is nothing to undo. */
export function selectChanges(history: UndoHistory, target: UndoTarget): Selected[] {
  if (target.kind === 'since') return selectSince(history, target);
  const selected: Selected[] = [];
  for (const entry of history.changes.toReversed()) {
    if (!isWanted(entry, target)) continue;
    const deltas = ofKey(history.standing(entry), target.key);
    if (deltas.length === 0 || (target.kind === 'last' && isRemainder(history, entry, deltas))) continue;
    selected.push({ entry, deltas });
    if (target.kind !== 'all') break;
  }
  return selected;
}

/**
 * True if a change was undone except for folders that it created and that other files need. An undo
 * of the last change skips such a change.
 */
function isRemainder(history: UndoHistory, entry: ChangeEntry, deltas: readonly Delta[]): boolean {
  const isMadeFolder = ({ before, after }: Delta): boolean =>
    before.kind === 'absent' && after.kind === 'directory';
  return deltas.every(isMadeFolder) && history.isPartlyUndone(entry);
}

/**
 * True if the selection leaves out a delta of its change. This also counts a delta that another
 * undo has already reverted, because that undo may itself be undone later.
 */
function isPartial(history: UndoHistory, { entry, deltas }: Selected): boolean {
  const selected = new Set(deltas.flatMap(endsOf));
  return history.effective(entry).some((delta) => endsOf(delta).some((key) => !selected.has(key)));
}

/**
 * Selects every delta since an entry, including undos. Leaves out a delta that is already undone
 * by an undo outside the selection.
 */
function selectSince(history: UndoHistory, target: Since): Selected[] {
  const selected: Selected[] = [];
  const taken = new Map<ChangeEntry, ReadonlySet<string>>();
  for (const entry of history.changes.toReversed()) {
    if (!isSince(entry, target)) continue;
    const deltas = history.effective(entry).filter((delta) => {
      const undoer = history.undoerOfDelta(entry, delta);
      return undoer === undefined || taken.get(undoer)?.has(oldKeyOf(delta)) === true;
    });
    taken.set(entry, new Set(deltas.flatMap(endsOf)));
    if (deltas.length > 0) selected.push({ entry, deltas });
  }
  return selected;
}

type Since = UndoTarget & { readonly kind: 'since' };

function isSince({ seq, root, session }: ChangeEntry, { afterSeq, roots, sessions }: Since): boolean {
  return seq > afterSeq && roots.includes(root) && (sessions?.includes(session) ?? true);
}

function isWanted(entry: ChangeEntry, target: Exclude<UndoTarget, Since>): boolean {
  if (!target.roots.includes(entry.root)) return false;
  if (target.kind === 'change') return entry.change === target.change;
  // For `last`, treat a rewind like any change, although it is an undo. The next undo then reverts
  // the rewind.
  const isStep = !isUndo(entry) || (target.kind === 'last' && entry.rewindTo !== undefined);
  if (!isStep || (target.session !== undefined && target.session !== entry.session)) return false;
  return target.kind === 'last' || entry.atMs >= (target.sinceMs ?? 0);
}

/**
 * The deltas of a change on a path: on the path itself, on everything below it, and at the other
 * end of a move. A change of a single file is taken as a whole, including the folders it created.
 */
function ofKey(standing: readonly Delta[], key: string | undefined): readonly Delta[] {
  if (key === undefined) return standing;
  if (!standing.some((delta) => endsOf(delta).includes(key))) return [];
  const own = new Set([key]);
  for (const delta of standing) {
    const ends = endsOf(delta);
    if (ends.some((each) => isWithin(each, key))) for (const end of ends) own.add(end);
  }
  const isOwn = (delta: Delta): boolean => endsOf(delta).some((each) => own.has(each));
  const above = foldersAbove(own);
  const isAbove = (delta: Delta): boolean => above.has(delta.key);
  const madeFor = (delta: Delta): boolean => delta.after.kind === 'directory' && isAbove(delta);
  if (standing.every((delta) => isOwn(delta) || madeFor(delta))) return standing;
  // Restore a deleted file together with the folders that were deleted above it.
  const removedAround = (delta: Delta): boolean => delta.before.kind === 'directory' && isAbove(delta);
  return standing.filter((delta) => isOwn(delta) || removedAround(delta));
}

/** Leaves out deltas on the given paths. A move is left out if one of its ends is. */
export function withoutPaths(
  selection: readonly Selected[],
  paths: ReadonlySet<string>,
): readonly Selected[] {
  if (paths.size === 0) return selection;
  return selection.flatMap(({ entry, deltas }) => {
    const left = new Set(paths);
    for (const delta of entry.deltas)
      if (endsOf(delta).some((end) => paths.has(end))) for (const end of endsOf(delta)) left.add(end);
    const rest = deltas.filter((delta) => !endsOf(delta).some((key) => left.has(key)));
    return rest.length === 0 ? [] : [{ entry, deltas: rest }];
  });
}

/** The selected changes, for the journal entry of their undo. */
export function undoneBy(history: UndoHistory, selection: readonly Selected[]): Undone {
  const changes = selection.map(({ entry }) => entry.change);
  return selection.some((each) => isPartial(history, each))
    ? { changes, keys: keysTouched(selection) }
    : { changes };
}

/** The keys of all paths that the selected changes touched. */
export function keysTouched(selection: readonly Selected[]): readonly string[] {
  return [...new Set(selection.flatMap(({ deltas }) => deltas.flatMap(endsOf)))];
}

/**
 * Everything in a workspace since the oldest change that the selection concerns, undos included,
 * newest first. Taking all of it back leads each folder through its earlier states. Undefined if
 * there is no undo among it, or if something must stay: a change in effect that is not selected.
 */
export function wholeCourse(
  history: UndoHistory,
  selection: readonly Selected[],
  root: string,
): readonly Selected[] | undefined {
  const start = courseStart(history, selection);
  const since = history.changes.filter(({ seq }) => start !== undefined && seq >= start);
  if (!since.some(isUndo)) return undefined;
  const selected = new Set(selection.flatMap(({ deltas }) => deltas));
  const keys = new Set(keysTouched(selection));
  const course: Selected[] = [];
  for (const entry of since.toReversed()) {
    const deltas = history
      .effective(entry)
      .filter((delta) => endsOf(delta).some((key) => isWithin(key, root) || keys.has(key)));
    const goes = (delta: Delta): boolean =>
      selected.has(delta) || isUndo(entry) || history.undoerOfDelta(entry, delta) !== undefined;
    if (!deltas.every(goes)) return undefined;
    course.push({ entry, deltas });
  }
  return course;
}

/**
 * The number of the oldest selected change, or of an even older one that a later undo reverted.
 * Undefined if that older change is not in the history.
 */
function courseStart(history: UndoHistory, selection: readonly Selected[]): number | undefined {
  const seqOf = new Map(history.changes.map(({ change, seq }) => [change, seq]));
  let start = selection.reduce((oldest, { entry }) => Math.min(oldest, entry.seq), Number.POSITIVE_INFINITY);
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

const FIRST_PAGE = 100;

/** The changes of all sessions, from the oldest that the target may select. */
export async function entriesForUndo(store: Store, target: UndoTarget): Promise<readonly ChangeEntry[]> {
  if (target.kind === 'since') return store.entries({ kinds: ['change'], afterSeq: target.afterSeq });
  if (target.kind === 'last') return pagesBackTo(store, target);
  const [oldest] = await store.entries(firstOf(target));
  if (oldest === undefined) return [];
  // Fetch only the entries after `oldest`, not `oldest` again: an entry of a command may take
  // megabytes.
  return [oldest, ...(await store.entries({ kinds: ['change'], afterSeq: oldest.seq }))];
}

/** The newest change that a target selects; undefined if there is nothing to undo. */
export async function newestSelected(store: Store, target: UndoTarget): Promise<ChangeEntry | undefined> {
  return selectChanges(new UndoHistory(await entriesForUndo(store, target)), target)[0]?.entry;
}

function firstOf(target: Exclude<UndoTarget, { readonly kind: 'since' }>): EntryFilter<'change'> {
  const { kind, roots, key } = target;
  const changes = { kinds: ['change'], order: 'oldest', limit: 1 } as const;
  if (kind === 'change') return { ...changes, change: target.change };
  return {
    ...changes,
    ...(roots.length === 1 ? { root: roots[0] } : {}),
    ...defined({ session: target.session, key }),
    ...(kind === 'all' && target.sinceMs !== undefined ? { sinceMs: target.sinceMs } : {}),
  };
}

/**
 * Fetches growing pages, newest first, until they contain a change that the target selects. The
 * first page usually does.
 */
async function pagesBackTo(
  store: Store,
  target: Exclude<UndoTarget, Since>,
): Promise<readonly ChangeEntry[]> {
  const entries: ChangeEntry[] = [];
  for (let limit = FIRST_PAGE; ; limit *= 2) {
    const page = await store.entries({ kinds: ['change'], limit, beforeSeq: entries.at(-1)?.seq });
    for (const entry of page) entries.push(entry);
    const isEnough = page.length < limit || selectChanges(new UndoHistory(entries), target).length > 0;
    if (isEnough) return entries;
    // Look for any change of the target before reading on. The newest one is found fast.
    const isFirst = entries.length === FIRST_PAGE;
    if (isFirst && (await store.entries({ ...firstOf(target), order: 'newest' })).length === 0) return [];
  }
}
