import { type UndoRequest, undo } from '../gate/undo/undo.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { Entry } from '../model/entry.ts';
import type { UndoResult } from '../model/results.ts';
import type { Outcome } from '../model/verdict.ts';
import type { Sessions } from '../session/sessions.ts';

/** What an undo took back, or would take back. */
export interface TakenBack {
  readonly result: UndoResult;
  /** The paths of the result are relative to this root. */
  readonly root: string;
  /** The changes, newest first. */
  readonly changes: readonly Entry[];
}

/** The session name of a person's undo in the journal. It keeps no sightings. */
const WHO = 'command-line';

/** Takes changes back for a person, who may undo anything without having read it; `preview` changes nothing. */
export async function takeBack(
  { world }: Sessions,
  selection: UndoRequest,
): Promise<Outcome<{ readonly taken: TakenBack }>> {
  const { store, policy, workspace } = world;
  try {
    const outcome = await undo(world, new Ledger({ store, session: WHO, policy }), selection);
    if (!outcome.ok) return outcome;
    const { ok: _, ...result } = outcome;
    const changes: Entry[] = [];
    for (const change of result.undid)
      changes.push(...(await store.entries({ change, kinds: ['change'], limit: 1 })));
    return { ok: true, taken: { result, root: workspace.roots[0] ?? '', changes } };
  } finally {
    await store.record({ forget: [{ session: WHO }] });
  }
}
