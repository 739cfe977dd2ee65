import type { Ledger } from '../ledger/ledger.ts';
import type { FileIntent } from '../model/intent.ts';
import { pathsOf } from './keys.ts';
import { prepareDelete } from './prepare-delete.ts';
import { prepareText } from './prepare-edit.ts';
import { prepareMkdir, prepareMove } from './prepare-move.ts';
import { prepareWrite } from './prepare-write.ts';
import { no, type Prepared } from './prepared.ts';
import type { World } from './world.ts';

/** Judges one change and makes the step that does it. Called under the lock of its files. */
export function prepare(world: World, ledger: Ledger, change: FileIntent): Promise<Prepared> {
  if (world.policy.readOnly) {
    const path = pathsOf(change)[0] ?? '';
    const action = change.kind === 'write' ? 'overwrite' : change.kind;
    const detail = { reason: 'session' };
    return Promise.resolve(no({ code: 'READ_ONLY', action, path, next: 'ask_human', detail }));
  }
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
