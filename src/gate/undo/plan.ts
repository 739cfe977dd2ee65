import { type Blocked, type BlockedPath, blockedBy, type UndoOutcome } from '../../journal/undo-blocked.ts';
import { entriesForUndo, newestSelected, type UndoTarget } from '../../journal/undo-history.ts';
import { planUndo, type UndoPlans } from '../../journal/undo-plan.ts';
import type { ClientCall } from '../../model/call.ts';
import { Fault } from '../../model/fault.ts';
import { isOutside, type ResolvedPath } from '../../model/path.ts';
import type { UndoSelection } from '../../model/session.ts';
import { type Outcome, passOn, type Refusal, type Refused, reasonOf, refused } from '../../model/verdict.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import type { World } from '../world.ts';
import { mergedCall } from './check.ts';

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
export type LeftPaths = Map<string, Refusal>;

/**
 * Plans an undo by the journal, without reading the workspace. A partial undo leaves out paths that
 * the journal says cannot be restored, and adds them to `left`.
 */
export async function plan(
  world: World,
  knowledge: Knowledge,
  { selection, left }: { readonly selection: UndoRequest; readonly left: LeftPaths },
): Promise<UndoOutcome<UndoPlans>> {
  const { rewind } = selection;
  const target =
    rewind === undefined
      ? await targetOf(world, knowledge, selection)
      : { ok: true as const, target: sinceTurn(world, rewind) };
  if (!target.ok) return { ...target, blocked: [] };
  const entries = await entriesForUndo(world.store, target.target);
  for (;;) {
    const planned = planUndo(entries, target.target, {
      merge: selection.merge === true,
      session: knowledge.session,
      merged: mergedCall(selection),
      leave: new Set(left.keys()),
    });
    const outcome = planned.ok ? (blockedBy(forbiddenPaths(world, planned, selection)) ?? planned) : planned;
    if (outcome.ok) return outcome;
    if (leaveBlocked(outcome, { selection, left }) === 'more') continue;
    if (left.size > 0) return nothingLeft(left);
    const refusal = await withLastChange(world, knowledge, { planned: outcome, selection });
    return { ...refusal, blocked: outcome.blocked };
  }
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

/** Adds the session's last change to the refusal of an unknown id, which was perhaps mistyped. */
async function withLastChange(
  world: World,
  knowledge: Knowledge,
  { planned, selection }: { readonly planned: Refused; readonly selection: UndoRequest },
): Promise<Refused> {
  const { refusal } = planned;
  if (refusal.next !== 'none' || selection.change === undefined) return planned;
  const last = await targetOf(world, knowledge, {});
  const { session } = knowledge;
  const newest = last.ok ? await newestSelected(world.store, last.target) : undefined;
  if (newest?.change === undefined || newest.change === selection.change) return planned;
  const reason = `${reasonOf(refusal)}; the last change of session ${session} is ${newest.change}`;
  return refused({ ...passOn(refusal, { reason, undo: { change: newest.change } }), next: 'fix_argument' });
}

/** The paths that an undo would change in a read-only folder and, if an agent asks, outside the workspace. */
function forbiddenPaths(
  { workspace }: World,
  { plan }: UndoPlans,
  { by, within }: UndoRequest,
): readonly BlockedPath[] {
  return plan.steps.flatMap(({ key, relative, movedFrom }) => {
    if ((by ?? within) !== undefined && isOutside({ key, relative }, workspace.roots))
      return [{ key, refusal: forTheUser(key) }];
    const fixed = [key, movedFrom?.key ?? key].find((each) => workspace.isReadOnly(each));
    if (fixed === undefined) return [];
    const refusal = { code: 'READ_ONLY', action: 'undo', path: fixed, next: 'ask_human' } as const;
    return [{ key, refusal: { ...refusal, detail: { cause: 'root' } } }];
  });
}

function forTheUser(path: string): Refusal {
  const detail = {
    reason: 'it is outside the workspace, so only the user may bring it back, with lookfirst undo',
  };
  return { code: 'OUTSIDE_WORKSPACE', action: 'undo', path, next: 'ask_human', detail };
}

async function targetOf(
  world: World,
  knowledge: Knowledge,
  { change, path, session, sinceMs }: UndoSelection,
): Promise<Outcome<{ target: UndoTarget }>> {
  const file = path === undefined ? undefined : await fileNamed(world, path);
  if (file !== undefined && !file.ok) return file;
  const key = file === undefined ? {} : { key: file.path.key };
  const root = file?.path.root ?? world.workspace.roots[0] ?? '';
  if (change !== undefined) {
    const [entry] = await world.store.entries({ change, kinds: ['change'], limit: 1 });
    const known = entry !== undefined && world.workspace.roots.includes(entry.root) ? entry.root : root;
    return { ok: true, target: { kind: 'change', change, root: known, ...key } };
  }
  if (session !== undefined || sinceMs !== undefined) {
    const limits = {
      ...(session === undefined ? {} : { session }),
      ...(sinceMs === undefined ? {} : { sinceMs }),
    };
    return { ok: true, target: { kind: 'all', root, ...limits, ...key } };
  }
  const last = { kind: 'last', session: knowledge.session, root, ...key } as const;
  return { ok: true, target: await newestOf(world, last) };
}

/**
 * The file whose changes a path selects. For a link, these are the changes of the link itself (a
 * move, a deletion) or, if there are none, the changes that were written through it.
 */
async function fileNamed(world: World, path: string): Promise<Outcome<{ readonly path: ResolvedPath }>> {
  const { workspace, store } = world;
  const outcome = workspace.locate(path, 'undo', 'parents');
  if (!outcome.ok) return outcome;
  const { located } = outcome;
  located.place.dir.close();
  const own = located.place.path;
  if (!located.exists || !located.stats.isSymbolicLink()) return { ok: true, path: own };
  const [change] = await store.entries({ key: own.key, kinds: ['change'], limit: 1 });
  return change === undefined ? workspace.resolve(path, 'undo') : { ok: true, path: own };
}

function sinceTurn({ workspace: { roots } }: World, { afterSeq, sessions }: RewindTarget): UndoTarget {
  const since = { kind: 'since', root: roots[0] ?? '', roots, afterSeq } as const;
  return sessions === undefined ? since : { ...since, sessions };
}

/**
 * Selects the root that has the newest of the selected changes. Several roots may have such
 * changes, but one undo works in one root.
 */
async function newestOf(world: World, target: UndoTarget): Promise<UndoTarget> {
  const { roots } = world.workspace;
  if (roots.length === 1) return target;
  const found = await Promise.all(roots.map((root) => newestSelected(world.store, { ...target, root })));
  const newest = found.reduce((best, entry) => ((entry?.seq ?? 0) > (best?.seq ?? 0) ? entry : best));
  return newest === undefined ? target : { ...target, root: newest.root };
}
