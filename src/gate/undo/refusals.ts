import type { Inverse } from '../../journal/inverses.ts';
import type { NamedPath, State } from '../../model/delta.ts';
import type { Entry } from '../../model/entry.ts';
import type { UndoSelection } from '../../model/session.ts';
import { type Refusal, type Refused, refused, type UndoCall } from '../../model/verdict.ts';
import { maskedDiff } from '../../text/unified.ts';
import { diffOptions } from '../masking.ts';
import type { World } from '../world.ts';

/** The request of an undo, and the session that undoes. */
export type PlanRequest = UndoSelection & { readonly undoer: string };

/** A path that an undo cannot restore, and why. */
export interface BlockedPath {
  readonly key: string;
  readonly refusal: Refusal;
}

/** The refusal of an undo, and the paths that cause it. A partial undo leaves them out. */
export interface Blocked extends Refused {
  readonly blocked: readonly BlockedPath[];
}

/** The outcome of planning or checking an undo. */
export type UndoOutcome<T> = ({ readonly ok: true } & T) | Blocked;

/** The refusal of an undo for the first of the paths that cause it. Undefined without such a path. */
export function blockedBy(blocked: readonly BlockedPath[]): Blocked | undefined {
  const [first] = blocked;
  return first === undefined ? undefined : { ...refused(first.refusal), blocked };
}

/** The call that repeats this undo with a merge; undefined if it merges already or a tool call cannot express it. */
function mergedCall(selection: UndoSelection): UndoCall | undefined {
  const { change, path, session, sinceMs, merge } = selection;
  if (merge === true || session !== undefined || sinceMs !== undefined) return undefined;
  return {
    ...(change === undefined ? {} : { change }),
    ...(path === undefined ? {} : { path }),
    merge: true,
  };
}

/** The refusal of an undo, because a change that it does not concern came after an undone one. */
export function inTheWay(
  { workspace }: World,
  inverse: Inverse,
  {
    by,
    isFolder,
    request,
  }: { readonly by: Entry; readonly isFolder: boolean; readonly request?: PlanRequest },
): Refusal {
  const { change, session: author, atMs } = by;
  const canMerge = request !== undefined && !isFolder && request.merge !== true && author !== request.undoer;
  const undo = canMerge ? mergedCall(request) : change === undefined ? undefined : { change };
  const reason = `change ${change} by session ${author} came after change ${inverse.entry.change} and is not part of this undo`;
  const detail = { reason, writer: { session: author, atMs }, ...(undo && { undo }) };
  return { code: 'STALE', action: 'undo', path: workspace.shownAt(inverse), next: 'fix_argument', detail };
}

interface ChangedSince {
  readonly state: State;
  /** The bytes that the change left, and the present ones. */
  readonly left: Uint8Array | undefined;
  readonly now: Uint8Array | undefined;
  /** The newer undone change, if the path was changed before it. */
  readonly newer: Entry | undefined;
  readonly request: PlanRequest;
}

/** The refusal of an undo of a path that another program has changed since, with the diff. */
export function changedSince(
  world: World,
  inverse: Inverse,
  { state, left, now, newer, request }: ChangedSince,
): Refusal {
  const base = { action: 'undo', path: world.workspace.shownAt(inverse) } as const;
  const areFiles = [state, inverse.before, inverse.after].every(({ kind }) => kind === 'file');
  const undo = areFiles ? mergedCall(request) : undefined;
  if (newer !== undefined) {
    const reason = `another program changed it between change ${inverse.entry.change} and change ${newer.change}`;
    return { ...base, code: 'STALE', next: 'fix_argument', detail: { reason, ...(undo && { undo }) } };
  }
  if (state.kind === 'absent') {
    const detail = { reason: 'it was deleted since that change' };
    return { ...base, code: 'DELETED', next: 'other_tool', detail };
  }
  const next = undo !== undefined ? 'fix_argument' : state.kind === 'file' ? 'read' : 'ask_human';
  const detail = { reason: 'it was changed since that change', ...(undo && { undo }) };
  if (left === undefined || now === undefined) return { ...base, code: 'STALE', next, detail };
  const { text } = maskedDiff<Uint8Array>(left, now, diffOptions(world, inverse.relative));
  return { ...base, code: 'STALE', next, detail: { ...detail, diff: text } };
}

/** The refusal of an undo of a path whose earlier bytes are not stored here. */
export async function notKept(world: World, inverse: Inverse): Promise<Refusal> {
  const { after } = inverse;
  const path = world.workspace.shownAt(inverse);
  const keeper = after.kind === 'file' && (await world.images.keeper?.(after.fingerprint.sha256));
  const reason = keeper
    ? `its earlier bytes are only on the machine ${keeper}, because they are secret or over 1 MB: undo the change there`
    : after.kind === 'file' && after.kept
      ? 'its earlier bytes are no longer kept'
      : 'Lookfirst has no copy of its earlier content';
  return { code: 'NOT_FOUND', action: 'undo', path, next: 'use_edit', detail: { reason } };
}

/** The refusal of an undo that would change a file in a read-only root. */
export function inReadOnlyRoot(path: string): Refusal {
  return { code: 'READ_ONLY', action: 'undo', path, next: 'ask_human', detail: { cause: 'root' } };
}

/** The refusal of an undo that would change a file that has become read-only. */
export function readOnly({ workspace }: World, inverse: Inverse): Refusal {
  return { code: 'READ_ONLY', action: 'undo', path: workspace.shownAt(inverse), next: 'ask_human' };
}

/** The refusal to an agent of an undo outside the workspace. */
export function forTheUser(path: string): Refusal {
  const reason = 'it is outside the workspace, so only the user may bring it back, with lookfirst undo';
  return { code: 'OUTSIDE_WORKSPACE', action: 'undo', path, next: 'ask_human', detail: { reason } };
}

/** The refusal to remove a folder in which other entries stay. */
export function folderInUse({ workspace }: World, path: NamedPath): Refusal {
  const detail = { reason: 'another program or session has put something into it since that change' };
  return { code: 'STALE', action: 'undo', path: workspace.shownAt(path), next: 'list', detail };
}
