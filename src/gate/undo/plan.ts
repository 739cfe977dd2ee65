import { fingerprintOf } from '../../disk/read.ts';
import { changeBetween, type Inverse, othersInside } from '../../journal/inverses.ts';
import { keysTouched, undoneBy } from '../../journal/undo-history.ts';
import { byPath, microseconds, type NamedPath, type State, sameContent } from '../../model/delta.ts';
import type { ChangeEntry, Undone } from '../../model/entry.ts';
import { isWithin } from '../../model/path.ts';
import { type Outcome, refused } from '../../model/verdict.ts';
import { isGitIndex, stagedContent } from '../../process/git-index.ts';
import { decodeText } from '../../text/decode.ts';
import { merge3 } from '../../text/merge.ts';
import type { PlannedDelta } from '../plan.ts';
import type { World } from '../world.ts';
import type { ChosenChanges } from './choice.ts';
import { Picture, type Pictured } from './picture.ts';
import {
  type BlockedPath,
  blockedBy,
  changedSince,
  folderInUse,
  inTheWay,
  notKept,
  type PlanRequest,
  readOnly,
  type UndoOutcome,
} from './refusals.ts';

/** An undo that fits the present files. */
export interface UndoPlan {
  readonly undone: Undone;
  /** The keys of all paths that the selected changes touched. */
  readonly keys: readonly string[];
  readonly deltas: readonly PlannedDelta[];
  /** Folders that would be removed, but are in use. */
  readonly stay: readonly NamedPath[];
  /** The bytes, by hash, of files that are on the disk now, and of merged files. */
  readonly bytes: ReadonlyMap<string, Uint8Array>;
}

/**
 * Plans an undo against the present files. The whole course of changes is tried first. If something
 * outside the journal has changed, each change that was undone already is left out together with
 * its undo.
 */
export async function planUndo(
  world: World,
  { course, ...chosen }: ChosenChanges,
  request: PlanRequest,
): Promise<UndoOutcome<{ readonly plan: UndoPlan }>> {
  if (course !== undefined) {
    const { history, selection } = chosen;
    const exactly = { ...request, merge: false, partial: false };
    const outcome = await new Plan(world, { history, ...course }, exactly).make();
    const undone = { undone: undoneBy(history, selection), keys: keysTouched(selection) };
    if (outcome.ok) return { ok: true, plan: { ...outcome.plan, ...undone } };
  }
  return new Plan(world, chosen, request).make();
}

class Plan {
  readonly #world: World;
  readonly #chosen: ChosenChanges;
  readonly #request: PlanRequest;
  readonly #picture: Picture;
  readonly #blocked: BlockedPath[] = [];
  readonly #stay = new Map<string, Inverse>();
  /** The last planned inverse of each path. */
  readonly #last = new Map<string, Inverse>();

  constructor(world: World, chosen: ChosenChanges, request: PlanRequest) {
    this.#world = world;
    this.#chosen = chosen;
    this.#request = request;
    const needed = new Set(chosen.inverses.flatMap(({ after }) => hashOf(after) ?? []));
    this.#picture = new Picture(world, { needed, folderMode: (key) => folderModeOf(chosen, key) });
  }

  async make(): Promise<UndoOutcome<{ readonly plan: UndoPlan }>> {
    try {
      for (const inverse of this.#chosen.inverses) {
        const outcome = await this.#takeBack(inverse);
        if (outcome.ok) continue;
        this.#blocked.push({ key: inverse.oldKey, refusal: outcome.refusal });
        if (this.#request.partial !== true) break;
      }
    } finally {
      this.#picture.close();
    }
    const refusal = blockedBy(this.#blocked);
    if (refusal !== undefined) return refusal;
    const deltas = this.#picture.deltas();
    return blockedBy(await this.#lost(deltas)) ?? { ok: true, plan: this.#planOf(deltas) };
  }

  #planOf(deltas: readonly PlannedDelta[]): UndoPlan {
    const { history, selection } = this.#chosen;
    const stay = [...this.#stay.values()];
    const stayed = new Set(stay.map(({ oldKey }) => oldKey));
    const keys = keysTouched(selection).filter((key) => !stayed.has(key));
    const whole = undoneBy(history, selection);
    const undone = stay.length === 0 ? whole : { changes: whole.changes, keys };
    return { undone, keys, deltas, stay, bytes: this.#picture.bytes };
  }

  /** The paths whose earlier bytes are neither stored nor on the disk. */
  async #lost(deltas: readonly PlannedDelta[]): Promise<readonly BlockedPath[]> {
    const lost: BlockedPath[] = [];
    for (const { key, before, after, movedFrom } of deltas) {
      const sha256 = hashOf(after);
      const inverse = this.#last.get(key);
      if (sha256 === undefined || movedFrom !== undefined || sameContent(before, after)) continue;
      if (this.#picture.bytes.has(sha256) || (await this.#world.images.has(sha256))) continue;
      if (inverse !== undefined)
        lost.push({ key: inverse.oldKey, refusal: await notKept(this.#world, inverse) });
    }
    return lost;
  }

  async #takeBack(inverse: Inverse): Promise<Outcome<object>> {
    const { key, before, after, movedFrom } = inverse;
    const outcome = await this.#picture.at(inverse);
    if (!outcome.ok) return outcome;
    const { found } = outcome;
    if (movedFrom !== undefined) return this.#moveBack(inverse, movedFrom, found);
    if (found.implied !== undefined && after.kind === 'directory')
      return this.#add(inverse, { before: { kind: 'absent' } });
    if (!sameContent(found.state, before)) return this.#takeBackOther(inverse, found);
    // Only a preview needs this check: a real undo detects a read-only file at the replacement.
    if (this.#request.preview === true && isLocked(found.state, inverse))
      return refused(readOnly(this.#world, inverse));
    const goes = before.kind === 'directory' && after.kind !== 'directory';
    return goes && this.#picture.isInUse(key) ? this.#leave(inverse) : this.#add(inverse, presentOf(found));
  }

  /** Leaves a folder that has to stay, because it is in use. Refused if its path is needed. */
  #leave(inverse: Inverse): Outcome<object> {
    if (inverse.after.kind !== 'absent') return refused(folderInUse(this.#world, inverse));
    this.#stay.set(inverse.oldKey, inverse);
    return DONE;
  }

  async #add(inverse: Inverse, more: Partial<PlannedDelta>): Promise<Outcome<object>> {
    const { key, relative, before, after } = inverse;
    this.#last.set(key, inverse);
    const path = pathOf(this.#world, inverse);
    await this.#picture.add({ key, relative, before, after, path, mode: 'asBefore', ...more });
    return DONE;
  }

  /** Takes back a delta whose path has another state than the change left. */
  async #takeBackOther(inverse: Inverse, found: Pictured): Promise<Outcome<object>> {
    const { state } = found;
    // The path already has its earlier state: the user or another program has reverted the change.
    const isBack =
      sameContent(state, inverse.after) &&
      (!isOfFile(inverse) || this.#blockerOf(inverse, inverse, found) === undefined);
    if (isBack || (await this.#isRenewedIndex(inverse, state))) return this.#add(inverse, { before: state });
    const merged = this.#request.merge === true ? await this.#merged(inverse, state) : undefined;
    if (merged === undefined) return this.#refuse(inverse, inverse, found);
    const { before, after } = inverse;
    if (state.kind !== 'file' || before.kind !== 'file' || after.kind !== 'file') return DONE;
    return this.#add(inverse, {
      before: { ...before, fingerprint: state.fingerprint },
      after: { ...after, fingerprint: fingerprintOf(merged), kept: true },
      bytes: () => merged,
    });
  }

  /**
   * True for a git index that stages the same content as right after the undone change. Editors run
   * `git status`, which rewrites only the times in the index.
   */
  async #isRenewedIndex({ before, relative }: Inverse, state: State): Promise<boolean> {
    if (!isGitIndex(relative)) return false;
    const [left, now] = [await this.#bytesOf(before), await this.#bytesOf(state)];
    if (left === undefined || now === undefined) return false;
    return stagedContent(Buffer.from(left)) === stagedContent(Buffer.from(now));
  }

  /** Three-way merge: base is the state after the change, theirs the present state, ours the state before the change. */
  async #merged({ before, after }: Inverse, state: State): Promise<Buffer | undefined> {
    const base = await this.#bytesOf(before);
    const now = await this.#bytesOf(state);
    if (base === undefined || now === undefined || after.kind !== 'file') return undefined;
    const then = this.#picture.bytes.get(after.fingerprint.sha256);
    const [from, ours, theirs] = [base, then ?? (await this.#world.images.read(after.fingerprint)), now].map(
      (each) => decodeText(each),
    );
    if (from === undefined || ours === undefined || theirs?.encoding !== 'utf-8') return undefined;
    const text = merge3(from.text, ours.text, theirs.text);
    return text.clean ? Buffer.from(`${theirs.bom ? '\ufeff' : ''}${text.text}`, 'utf8') : undefined;
  }

  /** The bytes of a file in this state. Undefined if there is no copy, or if the state is not that of a file. */
  async #bytesOf(state: State): Promise<Uint8Array | undefined> {
    if (state.kind !== 'file') return undefined;
    const { fingerprint } = state;
    return this.#picture.bytes.get(fingerprint.sha256) ?? this.#world.baselines.recall(fingerprint);
  }

  /** Takes back a move: the entry must be where the change moved it, and its old path must be free. */
  async #moveBack(
    inverse: Inverse,
    from: NonNullable<Inverse['movedFrom']>,
    target: Pictured,
  ): Promise<Outcome<object>> {
    const { entry, key, after } = inverse;
    const outcome = await this.#picture.at(from);
    if (!outcome.ok) return outcome;
    const source = outcome.found;
    const there = { ...inverse, ...from, before: after };
    // Accept that the user or another program has already moved the entry back.
    const isBack = source.state.kind === 'absent' && sameContent(target.state, after);
    if (isBack && this.#blockerOf(inverse, there, source) === undefined)
      return this.#add(inverse, { before: target.state });
    if (target.state.kind !== 'absent') return this.#refuse(inverse, inverse, target);
    const keeps = after.kind === 'file' && this.#request.merge === true;
    const isThere = keeps ? source.state.kind === 'file' : sameContent(source.state, after);
    if (!isThere || isWithin(key, from.key)) return this.#refuse(inverse, there, source);
    const { history, selection } = this.#chosen;
    const folders = [from.key, movedKeyOf(inverse)];
    const other =
      after.kind === 'directory' ? othersInside(history, selection, { moved: entry, folders }) : undefined;
    if (other !== undefined) return refused(inTheWay(this.#world, there, { by: other, isFolder: true }));
    this.#last.set(key, inverse);
    const path = pathOf(this.#world, inverse);
    const { stamp } = source;
    const { relative, before } = inverse;
    const moved = { key, relative, before, after: keeps ? source.state : after, movedFrom: from };
    await this.#picture.move({ ...moved, path, stamp, mode: 'asBefore' }, from);
    return DONE;
  }

  /** The change in effect that came later, must stay, and left another state at a path (`at`). Files may be merged instead. */
  #blockerOf(inverse: Inverse, at: Inverse, found: Pictured): ChangeEntry | undefined {
    if (this.#request.merge === true && isOfFile(at)) return undefined;
    const { history, selection } = this.#chosen;
    const keys = [at.key, inverse.oldKey];
    return changeBetween(history, selection, { keys, older: inverse.entry, newer: this.#newer(at, found) });
  }

  /** The newer change whose inverse left the state of a path. */
  #newer({ key }: Inverse, { isPlanned }: Pictured): ChangeEntry | undefined {
    return isPlanned === true ? this.#last.get(key)?.entry : undefined;
  }

  /** The refusal because a path (`at`) has another state than the change left. */
  async #refuse(inverse: Inverse, at: Inverse, found: Pictured): Promise<Outcome<object>> {
    const request = this.#request;
    const by = this.#blockerOf(inverse, at, found);
    if (by !== undefined) return refused(inTheWay(this.#world, at, { by, isFolder: !isOfFile(at), request }));
    const { state } = found;
    const newer = request.merge === true ? undefined : this.#newer(at, found);
    const [left, now] = [await this.#bytesOf(at.before), await this.#bytesOf(state)];
    return refused(changedSince(this.#world, at, { state, left, now, newer, request }));
  }
}

const DONE = { ok: true } as const;

/** The facts of the present file by which the delta finds it unchanged. */
function presentOf({ stamp }: Pictured): Partial<PlannedDelta> {
  return { stamp, sinceUs: stamp && microseconds(stamp.ctimeNs) };
}

function hashOf(state: State): string | undefined {
  return state.kind === 'file' ? state.fingerprint.sha256 : undefined;
}

function isOfFile({ before, after }: Inverse): boolean {
  return before.kind !== 'directory' && after.kind !== 'directory';
}

function pathOf({ workspace }: World, place: NamedPath): PlannedDelta['path'] {
  return { ...workspace.named(place.key, place.relative), given: workspace.shownAt(place) };
}

/** The path to which the change moved the entry, as it was then. */
function movedKeyOf({ entry, oldKey }: Inverse): string {
  return entry.deltas.find(({ movedFrom }) => movedFrom?.key === oldKey)?.key ?? oldKey;
}

/** True if a file has become read-only since the change, so that an undo may not replace or remove it. */
function isLocked(state: State, { before, after }: Inverse): boolean {
  if (state.kind !== 'file' || before.kind !== 'file' || sameContent(state, after)) return false;
  return (state.mode & 0o222) === 0 && (before.mode & 0o222) !== 0;
}

/** The mode that a folder had before the first of the changes since the oldest selected one. */
function folderModeOf({ history, selection }: ChosenChanges, key: string): number | undefined {
  const start = selection.at(-1)?.entry.seq ?? 0;
  const deltas = history.changes.flatMap((entry) => (entry.seq < start ? [] : byPath(entry.deltas)));
  const before = deltas.find((delta) => delta.key === key)?.before;
  return before?.kind === 'directory' ? before.mode : undefined;
}
