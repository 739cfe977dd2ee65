import type { Ledger } from '../ledger/ledger.ts';
import { errnoOf } from '../model/errno.ts';
import type { FileIntent } from '../model/intent.ts';
import type { Refusal } from '../model/verdict.ts';
import { prepareWithSiblings } from './await-sibling.ts';
import { judgeGranted } from './grants.ts';
import { pathsOf } from './keys.ts';
import { prepareDelete } from './prepare-delete.ts';
import { prepareText } from './prepare-edit.ts';
import { prepareMkdir, prepareMove } from './prepare-move.ts';
import { prepareWrite } from './prepare-write.ts';
import { no, type Prepared } from './prepared.ts';
import type { World } from './world.ts';

/** Judges changes and makes the steps that do them, in the same order. Called under the locks of their files. */
export function prepareAll(
  world: World,
  ledger: Ledger,
  changes: readonly FileIntent[],
): Promise<Prepared[]> {
  const judge = (change: FileIntent): Promise<Prepared> => prepareOnce(world, ledger, change);
  return prepareWithSiblings(world, ledger, { changes, judge });
}

/** The same for one change. */
export async function prepare(world: World, ledger: Ledger, change: FileIntent): Promise<Prepared> {
  const [prepared] = await prepareAll(world, ledger, [change]);
  return prepared ?? prepareOnce(world, ledger, change);
}

/**
 * What the system does not let us look at (a folder without read permission in a tree, say) is UNVERIFIABLE: nothing was
 * changed yet.
 */
async function prepareOnce(world: World, ledger: Ledger, change: FileIntent): Promise<Prepared> {
  if (world.policy.readOnly)
    return no({ code: 'READ_ONLY', ...triedOf(change), next: 'ask_human', detail: { reason: 'session' } });
  try {
    return await judgeGranted(world, ledger, {
      change,
      judge: (under) => prepareAs(under, ledger, change),
    });
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return no({ code: 'UNVERIFIABLE', ...triedOf(change), next: 'ask_human', detail: { errno } });
  }
}

function triedOf(change: FileIntent): Pick<Refusal, 'action' | 'path'> {
  return { action: change.kind === 'write' ? 'overwrite' : change.kind, path: pathsOf(change)[0] ?? '' };
}

function prepareAs(world: World, ledger: Ledger, change: FileIntent): Promise<Prepared> {
  switch (change.kind) {
    case 'write':
      return prepareWrite(world, ledger, change);
    case 'edit':
    case 'insert':
      return prepareText(world, ledger, change);
    case 'delete':
      return prepareDelete(world, ledger, change);
    case 'move':
      return prepareMove(world, ledger, change);
    case 'mkdir':
      return prepareMkdir(world, ledger, change);
    default:
      return change satisfies never;
  }
}
