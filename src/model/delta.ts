import { type Fingerprint, sameFingerprint } from './fingerprint.ts';

/** A path's state before or after a change, with enough data to restore it. */
export type State =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'file';
      readonly fingerprint: Fingerprint;
      /** Permission bits (without file type). */
      readonly mode: number;
      /**
       * True if the store holds the bytes. Without them, an undo that would restore this state is
       * refused.
       */
      readonly kept: boolean;
    }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'directory'; readonly mode: number };

/** The path at which something is or was. */
export interface NamedPath {
  /** Canonical absolute path. */
  readonly key: string;
  /** The path, relative to the root. */
  readonly relative: string;
}

/**
 * The change of one path from the state `before` to the state `after`. Says everything that an undo
 * needs, in the plan of a change as well as in the journal.
 */
export interface Delta extends NamedPath {
  readonly before: State;
  readonly after: State;
  /**
   * The path from which the entry came, a folder with its contents; nothing is left there. `was`:
   * its state there, if that is not `after`.
   */
  readonly movedFrom?: (NamedPath & { readonly was?: State }) | undefined;
  /** The path has had the state `before` since this time: its ctime in microseconds. Absent if it is not known. */
  readonly sinceUs?: number | undefined;
}

/** The paths that a delta changes: of a move, the old one and the new one. */
export function endsOf({ key, movedFrom }: Delta): readonly string[] {
  return movedFrom === undefined ? [key] : [movedFrom.key, key];
}

/** True if a folder is or was at the path of a delta. */
export function isOfFolder({ before, after }: Delta): boolean {
  return before.kind === 'directory' || after.kind === 'directory';
}

/** Converts a ctime to microseconds, for `Delta.sinceUs`. */
export function microseconds(ctimeNs: bigint): number {
  return Number(ctimeNs / 1000n);
}

/** The state of a path at which nothing exists. */
export const ABSENT: State = { kind: 'absent' };

/** The delta that takes a delta back. For a move that replaced nothing and changed no content. */
export function inverse({ key, relative, before, after, movedFrom }: Delta): Delta {
  if (movedFrom === undefined) return { key, relative, before: after, after: before };
  return { ...movedFrom, before: ABSENT, after, movedFrom: { key, relative } };
}

/**
 * Adds a planned delta to those of the journal. A move that takes the place of a file that the delta
 * before it has removed becomes one delta with it.
 */
export function addDelta(deltas: Delta[], delta: Delta): void {
  const { key, relative, before, after, movedFrom, sinceUs } = delta;
  const since = sinceUs === undefined ? {} : { sinceUs };
  // The fields are in alphabetical order, so that the journal need not sort them.
  if (movedFrom === undefined) {
    deltas.push({ after, before: asKept(before), key, relative, ...since });
    return;
  }
  const last = deltas.at(-1);
  const cleared = last?.key === key && last.after.kind === 'absent' ? deltas.pop() : undefined;
  // A rename stores no bytes.
  const moved: State = after.kind === 'file' ? { ...after, kept: false } : after;
  const from = { key: movedFrom.key, relative: movedFrom.relative };
  const wasSince = cleared?.sinceUs === undefined ? {} : { sinceUs: cleared.sinceUs };
  deltas.push({
    after: moved,
    before: cleared?.before ?? ABSENT,
    key,
    movedFrom: from,
    relative,
    ...wasSince,
  });
}

/** The bytes of a file are stored before it is replaced or removed. */
function asKept(side: State): State {
  return side.kind === 'file' ? { ...side, kept: true } : side;
}

/** The deltas, each about one path: a move becomes a removal and an arrival, which names the old path. */
export function byPath(deltas: readonly Delta[] = []): readonly Delta[] {
  if (!deltas.some(({ movedFrom }) => movedFrom)) return deltas;
  return deltas.flatMap((delta) => {
    if (delta.movedFrom === undefined) return [delta];
    const { was = delta.after, key, relative } = delta.movedFrom;
    return [{ key, relative, before: was, after: ABSENT }, delta];
  });
}

/** The last delta at a path, also the removal of an entry that was moved away. */
export function lastAt(deltas: readonly Delta[] | undefined, key: string): Delta | undefined {
  return byPath(deltas).findLast((delta) => delta.key === key);
}

/** Joins the two halves of each move again. An arrival without its removal stays alone. */
export function joinMoves(halves: readonly Delta[]): Delta[] {
  const sources = new Map<Delta, Delta>();
  for (const [index, arrival] of halves.entries()) {
    const isSource = ({ key, after }: Delta): boolean =>
      key === arrival.movedFrom?.key && after.kind === 'absent';
    const isMove = arrival.movedFrom !== undefined && arrival.after.kind !== 'absent';
    const source = isMove ? halves.slice(0, index).findLast(isSource) : undefined;
    if (source !== undefined) sources.set(arrival, source);
  }
  const joined = new Set(sources.values());
  return halves.flatMap((half) => {
    if (joined.has(half)) return [];
    const { movedFrom, ...rest } = half;
    const source = sources.get(half);
    if (movedFrom === undefined || source === undefined) return [rest];
    const { key, relative, before } = source;
    const was = sameState(before, half.after) ? {} : { was: before };
    return [{ ...rest, movedFrom: { key, relative, ...was } }];
  });
}

/**
 * True if two states of a path have the same kind and content. Ignores permissions and whether the
 * bytes are kept.
 */
export function sameContent(a: State, b: State): boolean {
  if (a.kind === 'file' && b.kind === 'file') return sameFingerprint(a.fingerprint, b.fingerprint);
  if (a.kind === 'link' && b.kind === 'link') return a.target === b.target;
  return a.kind === b.kind;
}

/** True if two states of a path have the same content and permissions. */
export function sameState(a: State, b: State): boolean {
  return sameContent(a, b) && modeOf(a) === modeOf(b);
}

function modeOf(side: State): number | undefined {
  return side.kind === 'file' || side.kind === 'directory' ? side.mode : undefined;
}

type Ordered = Pick<Delta, 'key' | 'after'>;

/** Orders deltas: removals first, innermost first; then the others, outermost first. */
export function inOrder(a: Ordered, b: Ordered): number {
  const [aGoes, bGoes] = [a.after.kind === 'absent', b.after.kind === 'absent'];
  if (aGoes !== bGoes) return aGoes ? -1 : 1;
  return aGoes ? depthOf(b) - depthOf(a) : depthOf(a) - depthOf(b);
}

function depthOf({ key }: Ordered): number {
  let depth = 0;
  for (let at = key.indexOf('/'); at >= 0; at = key.indexOf('/', at + 1)) depth += 1;
  return depth;
}
