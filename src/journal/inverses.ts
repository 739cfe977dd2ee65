import { ABSENT, type Delta, endsOf, inOrder, inverse, type NamedPath, sameContent } from '../model/delta.ts';
import type { ChangeEntry } from '../model/entry.ts';
import { isBelow, isWithin } from '../model/path.ts';
import { isUndo, type Selected, takenBackBy, type UndoHistory } from './undo-history.ts';

/** A delta that takes one of a change back, at the present paths. */
export interface Inverse extends Delta {
  readonly entry: ChangeEntry;
  /** The key of the path when the change was made. */
  readonly oldKey: string;
}

/**
 * The deltas that take the selected changes back, newest first. A path is followed through later
 * folder moves that stay: they took its file along. Moves that are taken back too need no
 * following, because they are reversed first.
 */
export function inversesOf(history: UndoHistory, selection: readonly Selected[]): readonly Inverse[] {
  const selected = new Set(selection.flatMap(({ deltas }) => deltas));
  const start = selection.at(-1)?.entry.seq ?? 0;
  const found: FollowedDelta[] = [];
  for (const entry of history.changes.filter(({ seq }) => seq >= start)) {
    const own: FollowedDelta[] = [];
    const steps = history
      .effective(entry)
      .flatMap((delta) => stepsOf(delta).map((step) => ({ step, isTaken: selected.has(delta) })));
    for (const { step, isTaken } of steps) {
      if (isTaken) own.push(followedDelta(entry, step));
      else for (const earlier of [found, own]) followMove(earlier, step);
    }
    for (const each of entry.action === 'run' ? ordered(own) : own) found.push(each);
  }
  return found
    .reverse()
    .map(({ inverse: back, to, from }) => ({ ...back, ...to.now, ...(from && { movedFrom: from.now }) }));
}

/**
 * Orders the inverse deltas of a command, so that they can be applied from the last to the first.
 * The journal has the deltas of a command in no order, except that a folder move divides them.
 */
function ordered(found: readonly FollowedDelta[]): readonly FollowedDelta[] {
  const at = found.findLastIndex(
    ({ inverse: { movedFrom, after } }) => movedFrom && after.kind === 'directory',
  );
  const [earlier, later] = [found.slice(0, Math.max(at, 0)), found.slice(at + 1)];
  const made = new Set(
    later.flatMap(({ inverse: { key, after } }) => (after.kind === 'directory' ? [key] : [])),
  );
  const isEarly = ({ inverse: { key, movedFrom } }: FollowedDelta): boolean =>
    movedFrom !== undefined && !made.has(key.slice(0, key.lastIndexOf('/')));
  const rest = later.filter((each) => !isEarly(each)).sort((a, b) => inOrder(b.inverse, a.inverse));
  const move = at < 0 ? [] : found.slice(at, at + 1);
  return [...(at < 0 ? earlier : ordered(earlier)), ...move, ...rest, ...later.filter(isEarly)];
}

interface FollowedDelta {
  readonly inverse: Inverse;
  readonly to: Followed;
  readonly from: Followed | undefined;
}

function followMove(found: readonly FollowedDelta[], { movedFrom, after, ...place }: Delta): void {
  if (movedFrom === undefined || after.kind !== 'directory') return;
  for (const { to, from } of found) {
    to.follow(place, movedFrom);
    from?.follow(place, movedFrom);
  }
}

function followedDelta(entry: ChangeEntry, delta: Delta): FollowedDelta {
  const back = { ...inverse(delta), entry, oldKey: delta.movedFrom?.key ?? delta.key };
  const holds = back.before.kind === 'absent' ? 'empty' : 'entry';
  const from = back.movedFrom && new Followed(back.movedFrom, 'entry');
  return { inverse: back, to: new Followed(back, holds), from };
}

/** A path that later folder moves take along. `empty`: nothing is there, so it follows only its folder. */
class Followed {
  now: NamedPath;
  readonly #holds: 'entry' | 'empty';
  /** True after something else has moved to the path: what was there before is gone. */
  #isTaken = false;

  constructor({ key, relative }: NamedPath, holds: 'entry' | 'empty') {
    this.now = { key, relative };
    this.#holds = holds;
  }

  follow(to: NamedPath, from: NamedPath): void {
    const { key, relative } = this.now;
    if (this.#isTaken) return;
    if (isWithin(key, to.key)) this.#isTaken = true;
    else if (this.#holds === 'entry' ? isWithin(key, from.key) : isBelow(key, from.key))
      this.now = {
        key: to.key + key.slice(from.key.length),
        relative: to.relative + relative.slice(from.relative.length),
      };
  }
}

/**
 * A delta in steps that have an inverse. A move that replaced a file removed it first. A file that was
 * changed after its move counts as removed there and made here.
 */
function stepsOf({ movedFrom, ...delta }: Delta): readonly Delta[] {
  if (movedFrom === undefined) return [delta];
  const { key, relative, before, after } = delta;
  const { was = after, ...from } = movedFrom;
  if (!sameContent(was, after)) return [{ ...from, before: was, after: ABSENT }, delta];
  const move = { key, relative, before: ABSENT, after, movedFrom: from };
  return before.kind === 'absent' ? [move] : [{ key, relative, before, after: ABSENT }, move];
}

/**
 * The newest change in effect that an undo does not concern and that touched one of the paths after
 * `older` (and before `newer`). An undo of a change since `older` does not count.
 */
export function changeBetween(
  history: UndoHistory,
  selection: readonly Selected[],
  {
    keys,
    older,
    newer,
  }: {
    readonly keys: readonly string[];
    readonly older: ChangeEntry;
    readonly newer?: ChangeEntry | undefined;
  },
): ChangeEntry | undefined {
  const selected = new Set(selection.flatMap(({ deltas }) => deltas));
  const end = newer?.seq ?? Number.POSITIVE_INFINITY;
  const since = history.changes.filter(({ seq }) => seq > older.seq && seq < end);
  const ids = new Set(since.map(({ change }) => change));
  return since.findLast(
    (entry) =>
      !takenBackBy(entry).changes.some((change) => ids.has(change)) &&
      history
        .standing(entry)
        .some((delta) => endsOf(delta).some((key) => keys.includes(key)) && !selected.has(delta)),
  );
}

/**
 * A change in effect by which another session did something in one of the folders after `moved`.
 * Undefined if there is none, or if the undo takes it back too.
 */
export function othersInside(
  history: UndoHistory,
  selection: readonly Selected[],
  { moved, folders }: { readonly moved: ChangeEntry; readonly folders: readonly string[] },
): ChangeEntry | undefined {
  const selected = new Set(selection.flatMap(({ deltas }) => deltas));
  const isInside = (delta: Delta): boolean =>
    endsOf(delta).some((key) => folders.some((folder) => isBelow(key, folder)));
  return history.changes.find(
    (entry) =>
      entry.seq > moved.seq &&
      entry.session !== moved.session &&
      !isUndo(entry) &&
      history.standing(entry).some((delta) => isInside(delta) && !selected.has(delta)),
  );
}
