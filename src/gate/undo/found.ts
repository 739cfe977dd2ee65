import type { Snapshot } from '../../disk/read.ts';
import { inOrder, type UndoStep } from '../../journal/undo-steps.ts';

/** A step that can be taken, and the bytes that are there now. */
export interface Found {
  readonly step: UndoStep;
  readonly snapshot?: Snapshot | undefined;
  /** The bytes to be restored, if they are neither there nor were there before: the result of a merge. */
  readonly merged?: Uint8Array | undefined;
}

/**
 * Makes one step of all steps at one path, from what is there now to what the last of them restores, in an order in which
 * they can be carried out. The move of a folder stays where it is: what comes before it and after it is not joined.
 */
export function joinSteps(found: readonly Found[]): readonly Found[] {
  const joined: Found[] = [];
  let stretch: Found[] = [];
  for (const each of found) {
    if (each.step.from === undefined) stretch.push(each);
    else {
      joined.push(...joinStretch(stretch), each);
      stretch = [];
    }
  }
  return [...joined, ...joinStretch(stretch)];
}

function joinStretch(found: readonly Found[]): readonly Found[] {
  const byKey = new Map<string, Found>();
  for (const each of found) {
    const earlier = byKey.get(each.step.key);
    byKey.set(each.step.key, earlier === undefined ? each : join(earlier, each));
  }
  if (byKey.size === found.length) return found;
  return [...byKey.values()].sort((a, b) => inOrder(a.step, b.step));
}

function join(first: Found, last: Found): Found {
  const { expect, lookAt } = first.step;
  const step = { ...last.step, expect, ...(lookAt === undefined ? {} : { lookAt }) };
  return { step, snapshot: first.snapshot, merged: last.merged };
}
