import type { Snapshot } from '../../disk/read.ts';
import { inOrder, type UndoStep } from '../../journal/undo-steps.ts';
import { sameSide } from '../../model/entry.ts';
import type { Stamp } from '../../model/fingerprint.ts';

/** A step that can run, and the present file at its path. */
export interface FoundChange {
  readonly step: UndoStep;
  /** The file with its bytes, unless it is large or one of many that are removed. */
  readonly snapshot?: Snapshot | undefined;
  /** The present mode of the file. */
  readonly mode?: number | undefined;
  /** The stamp of its file, if an equal stamp proves equal bytes. */
  readonly stamp?: Stamp | undefined;
  /** The bytes to restore, if they are the result of a merge and thus neither present nor earlier bytes. */
  readonly merged?: Uint8Array | undefined;
}

/** Bytes, by hash, that the steps find or produce themselves: a step may restore bytes that another one displaces. */
export function presentBytes(found: readonly FoundChange[]): ReadonlyMap<string, Uint8Array> {
  const present = new Map<string, Uint8Array>();
  for (const { step, snapshot, merged } of found) {
    if (snapshot !== undefined) present.set(snapshot.fingerprint.sha256, snapshot.bytes);
    if (merged !== undefined && step.restore.kind === 'file')
      present.set(step.restore.fingerprint.sha256, merged);
  }
  return present;
}

/**
 * Joins all steps on one path into one, from the present state to the last restored state, in an order that can run.
 * The move of a folder is a boundary: steps before and after it are not joined.
 */
export function joinSteps(found: readonly FoundChange[]): readonly FoundChange[] {
  const joined: FoundChange[] = [];
  let stretch: FoundChange[] = [];
  for (const each of found) {
    if (each.step.from === undefined) stretch.push(each);
    else {
      joined.push(...joinStretch(stretch), each);
      stretch = [];
    }
  }
  return [...joined, ...joinStretch(stretch)];
}

function joinStretch(found: readonly FoundChange[]): readonly FoundChange[] {
  const byKey = new Map<string, FoundChange>();
  for (const each of found) {
    const earlier = byKey.get(each.step.key);
    byKey.set(each.step.key, earlier === undefined ? each : join(earlier, each));
  }
  if (byKey.size === found.length) return found;
  return [...byKey.values()].sort((a, b) => inOrder(a.step, b.step));
}

function join(first: FoundChange, last: FoundChange): FoundChange {
  const { expect, lookAt } = first.step;
  const step = { ...last.step, expect, ...(lookAt === undefined ? {} : { lookAt }) };
  return { step, snapshot: first.snapshot, stamp: first.stamp, mode: first.mode, merged: last.merged };
}

/**
 * Pairs of steps that together are a move: a file restored to a free path, and the step that removes the same bytes
 * elsewhere.
 */
export function fileMoves(found: readonly FoundChange[]): ReadonlyMap<FoundChange, FoundChange> {
  const going = new Map<string, FoundChange[]>();
  for (const each of found) {
    const { expect, restore } = each.step;
    if (expect.kind !== 'file' || restore.kind !== 'absent') continue;
    const { sha256 } = expect.fingerprint;
    going.set(sha256, [...(going.get(sha256) ?? []), each]);
  }
  const moves = new Map<FoundChange, FoundChange>();
  for (const each of found) {
    const { expect, restore } = each.step;
    const from =
      expect.kind === 'absent' && restore.kind === 'file'
        ? going.get(restore.fingerprint.sha256)?.shift()
        : undefined;
    if (from !== undefined) moves.set(each, from);
  }
  return moves;
}

/**
 * Replaces the two steps of a move by one that renames the file back, for files too large to load. Such a file is not
 * among the images, because a move displaces no bytes.
 */
export function moveLargeFiles(found: readonly FoundChange[], maxBytes: number): readonly FoundChange[] {
  const renames = new Map<FoundChange, FoundChange>();
  const merged = new Set<FoundChange>();
  for (const [coming, going] of fileMoves(found)) {
    const { expect } = going.step;
    const isLarge = expect.kind === 'file' && expect.fingerprint.size > maxBytes;
    if (!isLarge || !sameSide(expect, coming.step.restore)) continue;
    const { key, relative } = going.step;
    renames.set(going, { step: { ...coming.step, from: { key, relative } }, stamp: going.stamp });
    merged.add(coming);
  }
  return found.flatMap((each) => (merged.has(each) ? [] : [renames.get(each) ?? each]));
}
