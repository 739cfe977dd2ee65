import { type Inverse, inversesOf } from '../../journal/inverses.ts';
import {
  entriesForUndo,
  newestSelected,
  type Selected,
  selectChanges,
  UndoHistory,
  type UndoTarget,
  wholeCourse,
  withoutPaths,
} from '../../journal/undo-history.ts';
import type { ClientCall } from '../../model/call.ts';
import { byPath } from '../../model/delta.ts';
import { Fault } from '../../model/fault.ts';
import { isOutside, type ResolvedPath } from '../../model/path.ts';
import { defined } from '../../model/record.ts';
import type { UndoSelection } from '../../model/session.ts';
import { type Outcome, passOn, type Refusal, refused, type UndoCall } from '../../model/verdict.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import type { World } from '../world.ts';
import {
  type Blocked,
  type BlockedPath,
  blockedBy,
  forTheUser,
  inReadOnlyRoot,
  type UndoOutcome,
} from './refusals.ts';

/**
 * Selects the changes to undo, and says who undoes them. If a session undoes another session's
 * change by its id (`by: 'session'`), it must have seen the files. A user need not.
 */
export interface UndoRequest extends UndoSelection {
  readonly by?: 'session';
  /** Set if an agent asks: only the user brings back what was outside the workspace. */
  readonly within?: 'workspace';
  /** If the signal fires before the first file is touched, nothing is undone. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Times at which the call arrived and was answered. Lines that other answers showed after the
   * arrival do not count as seen for this call.
   */
  readonly times?: ClientCall | undefined;
  /** Undo everything since a turn began, instead of the changes that the selection names. */
  readonly rewind?: RewindTarget;
}

/** A return to the beginning of a turn. */
interface RewindTarget {
  readonly turn: string;
  /** Sequence number of the turn's entry in the journal. */
  readonly afterSeq: number;
  /** Undo only the changes of these sessions. */
  readonly sessions?: readonly string[] | undefined;
}

/** The paths that a partial undo leaves as they are, by key, with the reason. */
type LeftPaths = Map<string, Refusal>;

/** Changes to take back, newest first, and the deltas that do it. */
interface Course {
  readonly selection: readonly Selected[];
  readonly inverses: readonly Inverse[];
}

/** The changes that an undo takes back. */
export interface ChosenChanges extends Course {
  readonly history: UndoHistory;
  /** All that happened since, undos included, if nothing of it must stay. It is tried first. */
  readonly course?: Course | undefined;
}

/**
 * Chooses the changes that an undo takes back, by the journal alone. A partial undo leaves out the
 * paths in `left`, and adds those that it may not change.
 */
export async function choose(
  world: World,
  knowledge: Knowledge,
  { selection: request, left }: { readonly selection: UndoRequest; readonly left: LeftPaths },
): Promise<UndoOutcome<{ readonly chosen: ChosenChanges }>> {
  const found = await targetOf(world, knowledge, request);
  if (!found.ok) return { ...found, blocked: [] };
  const { target } = found;
  const history = new UndoHistory(await entriesForUndo(world.store, target));
  const selected = selectChanges(history, target);
  for (;;) {
    const selection = withoutPaths(selected, new Set(left.keys()));
    if (selection.length === 0 && left.size > 0) return nothingLeft(left);
    if (selection.length === 0) {
      const refusal = await nothingToUndo(world, knowledge, { history, target });
      return { ...refused(refusal), blocked: [] };
    }
    const inverses = inversesOf(history, selection);
    const blocked = blockedBy(forbiddenPaths(world, inverses, request));
    if (blocked === undefined)
      return {
        ok: true,
        chosen: { history, selection, inverses, course: courseOf(history, selection, target) },
      };
    if (leaveBlocked(blocked, { selection: request, left }) === 'same') return blocked;
  }
}

function courseOf(
  history: UndoHistory,
  selection: readonly Selected[],
  { kind, roots }: UndoTarget,
): Course | undefined {
  const whole = kind === 'all' ? wholeCourse(history, selection, roots[0] ?? '') : undefined;
  return whole && { selection: whole, inverses: inversesOf(history, whole) };
}

/** The paths that an undo would change in a read-only root and, if an agent asks, outside the workspace. */
function forbiddenPaths(
  { workspace }: World,
  inverses: readonly Inverse[],
  { by, within }: UndoRequest,
): readonly BlockedPath[] {
  return inverses.flatMap(({ key, relative, movedFrom, oldKey }) => {
    if ((by ?? within) !== undefined && isOutside({ key, relative }, workspace.roots))
      return [{ key: oldKey, refusal: forTheUser(key) }];
    const fixed = [key, movedFrom?.key ?? key].find((each) => workspace.isReadOnly(each));
    return fixed === undefined ? [] : [{ key: oldKey, refusal: inReadOnlyRoot(fixed) }];
  });
}

/** The refusal if the journal has nothing to undo. For an unknown id, names the session's last change: perhaps the id was mistyped. */
async function nothingToUndo(
  world: World,
  { session }: Knowledge,
  { history, target }: { readonly history: UndoHistory; readonly target: UndoTarget },
): Promise<Refusal> {
  const refuse = (reason: string, undo?: UndoCall): Refusal => {
    const next = undo === undefined ? 'none' : 'fix_argument';
    return { code: 'NOT_FOUND', action: 'undo', path: '', next, detail: { reason, ...(undo && { undo }) } };
  };
  if (target.kind !== 'change') return refuse('there is no change left to undo');
  const { change, roots, key } = target;
  const entry = history.changes.find((each) => each.change === change && roots.includes(each.root));
  const delta = byPath(entry?.deltas).find((each) => each.key === (key ?? each.key));
  const undoer = entry && delta && history.undoerOf(entry, delta.key)?.change;
  if (undoer !== undefined)
    return refuse(`change ${change} was already undone by ${undoer}`, { change: undoer });
  const reason =
    entry === undefined
      ? `there is no change ${change} in this workspace`
      : `change ${change} has nothing left to undo here`;
  const last = (await newestSelected(world.store, { kind: 'last', session, roots }))?.change;
  if (last === undefined || last === change) return refuse(reason);
  return refuse(`${reason}; the last change of session ${session} is ${last}`, { change: last });
}

/** Adds the paths that cause a refusal to those that a partial undo leaves. `same`: there are no others. */
export function leaveBlocked(
  { blocked }: Blocked,
  { selection, left }: { readonly selection: UndoSelection; readonly left: LeftPaths },
): 'more' | 'same' {
  if (selection.partial !== true) return 'same';
  const before = left.size;
  for (const { key, refusal } of blocked) if (!left.has(key)) left.set(key, refusal);
  return left.size > before ? 'more' : 'same';
}

/** The refusal of a partial undo that can restore no path. */
function nothingLeft(left: LeftPaths): Blocked {
  const blocked = blockedPaths(left);
  const first = blockedBy(blocked);
  if (first === undefined) throw new Fault('MISUSE', 'no path was left out');
  return blocked.length === 1 ? first : { ...first, ...refused(withAll(first.refusal, blocked)) };
}

/** The paths that a partial undo leaves, as a list. */
export function blockedPaths(left: LeftPaths): readonly BlockedPath[] {
  return [...left].map(([key, refusal]) => ({ key, refusal }));
}

/** The refusal of an undo, with every path that the undo cannot restore. */
export function withAll(refusal: Refusal, blocked: readonly BlockedPath[]): Refusal {
  return passOn(refusal, { refusals: blocked.map((each) => each.refusal) });
}

async function targetOf(
  world: World,
  { session: own }: Knowledge,
  { change, path, session, sinceMs, rewind }: UndoRequest,
): Promise<Outcome<{ readonly target: UndoTarget }>> {
  const { roots } = world.workspace;
  if (rewind !== undefined) {
    const { afterSeq, sessions } = rewind;
    return { ok: true, target: { kind: 'since', roots, afterSeq, ...(sessions && { sessions }) } };
  }
  const file = path === undefined ? undefined : await fileNamed(world, path);
  if (file !== undefined && !file.ok) return file;
  const within = { roots, ...(file && { key: file.path.key }) };
  if (change !== undefined) return { ok: true, target: { kind: 'change', change, ...within } };
  if (session === undefined && sinceMs === undefined)
    return { ok: true, target: { kind: 'last', session: own, ...within } };
  // One undo of several changes works in one root.
  const root = file?.path.root ?? roots[0] ?? '';
  const limits = defined({ session, sinceMs });
  return { ok: true, target: { kind: 'all', ...within, roots: [root], ...limits } };
}

/**
 * The file whose changes a path selects. For a link, these are the changes of the link itself (a
 * move, a deletion) or, if there are none, the changes that were written through it.
 */
async function fileNamed(world: World, path: string): Promise<Outcome<{ readonly path: ResolvedPath }>> {
  const { workspace, store } = world;
  const own = workspace.resolve(path, 'undo', 'parents');
  if (!own.ok || !own.exists || !own.stats.isSymbolicLink()) return own;
  const [change] = await store.entries({ key: own.path.key, kinds: ['change'], limit: 1 });
  return change === undefined ? workspace.resolve(path, 'undo') : own;
}
