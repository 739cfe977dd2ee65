import { ABSENT, type Delta, inOrder, inverse } from '../model/delta.ts';
import { type Effect, type Entry, sameContent } from '../model/entry.ts';
import { isBelow, isWithin } from '../model/path.ts';
import { effective, isUndo, type Selected, takenBackBy, type UndoHistory } from './undo-history.ts';

/** A delta that takes one of a change back, at the present paths. */
export interface Inverse extends Delta {
  readonly entry: Entry;
  /** The key of the path when the change was made. */
  readonly oldKey: string;
}

/**
 * The deltas that take the selected changes back, newest first. A path is followed through later
 * folder moves that stay: they took its file along. Moves that are taken back too need no
 * following, because they are reversed first.
 */
export function inversesOf(history: UndoHistory, selection: readonly Selected[]): readonly Inverse[] {
  const selected = new Set(selection.flatMap(({ effects }) => effects));
  const start = selection.at(-1)?.entry.seq ?? 0;
  const found: FollowedDelta[] = [];
  for (const entry of history.changes.filter(({ seq }) => seq >= start)) {
    const own: FollowedDelta[] = [];
    for (const { delta, effect } of deltasOf(entry)) {
      if (selected.has(effect)) own.push(followedDelta(entry, delta));
      else for (const earlier of [found, own]) followMove(earlier, delta);
    }
    for (const each of entry.action === 'run' ? ordered(own) : own) found.push(each);
  }
  return found
    .reverse()
    .map(({ inverse: back, to, from }) => ({ ...back, ...to.now, ...(from && { movedFrom: from.now }) }));
}

/**
 * Orders the inverse deltas of a command, so that they can be applied from the last to the first.
 * The journal has the effects of a command in no order, except that a folder move divides them.
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

function followedDelta(entry: Entry, delta: Delta): FollowedDelta {
  const back = { ...inverse(delta), entry, oldKey: delta.movedFrom?.key ?? delta.key };
  const holds = back.before.kind === 'absent' ? 'empty' : 'entry';
  const from = back.movedFrom && new Followed(back.movedFrom, 'entry');
  return { inverse: back, to: new Followed(back, holds), from };
}

type PathNow = Pick<Delta, 'key' | 'relative'>;

/** A path that later folder moves take along. `empty`: nothing is there, so it follows only its folder. */
class Followed {
  now: PathNow;
  readonly #holds: 'entry' | 'empty';
  /** True after something else has moved to the path: what was there before is gone. */
  #isTaken = false;

  constructor({ key, relative }: PathNow, holds: 'entry' | 'empty') {
    this.now = { key, relative };
    this.#holds = holds;
  }

  follow(to: PathNow, from: PathNow): void {
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

/** The deltas of a change, each with the effect that the journal has for it. The two effects of a move are one delta. */
function* deltasOf(entry: Entry): Generator<{ readonly delta: Delta; readonly effect: Effect }> {
  const effects = effective(entry);
  const arrived = new Set<Effect>();
  for (const [index, effect] of effects.entries()) {
    const { key, relative, before, after, movedTo: to } = effect;
    if (arrived.has(effect)) continue;
    const next = effects[index + 1];
    // Search only the effects after the source: in a batch, an earlier effect may have the same key.
    const arrival = next?.key === to ? next : effects.find((each, at) => at > index && each.key === to);
    if (arrival === undefined || !isMove(effect, arrival))
      yield { delta: { key, relative, before, after }, effect };
    else {
      arrived.add(arrival);
      const place = { key: arrival.key, relative: arrival.relative };
      if (arrival.before.kind !== 'absent')
        yield { delta: { ...place, before: arrival.before, after: ABSENT }, effect: arrival };
      yield {
        delta: { ...place, before: ABSENT, after: arrival.after, movedFrom: { key, relative } },
        effect,
      };
    }
  }
}

/** True if the two effects are those of one move: the entry left its path and arrived unchanged. */
function isMove(source: Effect, arrival: Effect): boolean {
  return source.after.kind === 'absent' && sameContent(source.before, arrival.after);
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
  }: { readonly keys: readonly string[]; readonly older: Entry; readonly newer?: Entry | undefined },
): Entry | undefined {
  const selected = new Set(selection.flatMap(({ effects }) => effects));
  const end = newer?.seq ?? Number.POSITIVE_INFINITY;
  const since = history.changes.filter(({ seq }) => seq > older.seq && seq < end);
  const ids = new Set(since.map(({ change }) => change));
  return since.findLast(
    (entry) =>
      !takenBackBy(entry).changes.some((change) => ids.has(change)) &&
      history.standing(entry).some((effect) => keys.includes(effect.key) && !selected.has(effect)),
  );
}

/**
 * A change in effect by which another session did something in one of the folders after `moved`.
 * Undefined if there is none, or if the undo takes it back too.
 */
export function othersInside(
  history: UndoHistory,
  selection: readonly Selected[],
  { moved, folders }: { readonly moved: Entry; readonly folders: readonly string[] },
): Entry | undefined {
  const selected = new Set(selection.flatMap(({ effects }) => effects));
  const isInside = ({ key }: Effect): boolean => folders.some((folder) => isBelow(key, folder));
  return history.changes.find(
    (entry) =>
      entry.seq > moved.seq &&
      entry.session !== moved.session &&
      !isUndo(entry) &&
      history.standing(entry).some((effect) => isInside(effect) && !selected.has(effect)),
  );
}
