import type { Snapshot } from '../../disk/read.ts';
import { inOrder, type UndoStep } from '../../journal/undo-steps.ts';

/** A step that can run, and the present bytes of its file. */
export interface FoundChange {
  readonly step: UndoStep;
  readonly snapshot?: Snapshot | undefined;
  /** The bytes to restore, if they are the result of a merge and thus neither present nor earlier bytes. */
  readonly merged?: Uint8Array | undefined;
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
  return { step, snapshot: first.snapshot, merged: last.merged };
}
