import { type UndoRequest, undo } from '../gate/undo/undo.ts';
import { type PartRequest, undoPart } from '../gate/undo/undo-part.ts';
import type { World } from '../gate/world.ts';
import { Ledger } from '../ledger/ledger.ts';
import { COMMAND_LINE, type Entry } from '../model/entry.ts';
import type { UndoResult } from '../model/results.ts';
import type { Outcome } from '../model/verdict.ts';
import type { Sessions } from '../session/sessions.ts';

/** The result of an undo, or of its preview. */
export interface TakenBack {
  readonly result: UndoResult;
  /** The paths of the result are relative to this root. */
  readonly root: string;
  /** The changes, newest first. */
  readonly changes: readonly Entry[];
}

/**
 * Undoes changes for the user, who may undo anything without having read it. With `preview` nothing
 * changes.
 */
export function takeBack(
  sessions: Pick<Sessions, 'world'>,
  selection: UndoRequest,
  who: string = COMMAND_LINE,
): Promise<Outcome<{ readonly taken: TakenBack }>> {
  return asPerson(sessions, who, (world, ledger) => undo(world, ledger, selection));
}

/** Undoes one hunk of a change for the user. */
export function takeBackPart(
  sessions: Pick<Sessions, 'world'>,
  part: PartRequest,
  who: string = COMMAND_LINE,
): Promise<Outcome<{ readonly taken: TakenBack }>> {
  return asPerson(sessions, who, (world, ledger) => undoPart(world, ledger, part));
}

async function asPerson(
  { world }: Pick<Sessions, 'world'>,
  who: string,
  act: (world: World, ledger: Ledger) => Promise<Outcome<UndoResult>>,
): Promise<Outcome<{ readonly taken: TakenBack }>> {
  const { store, policy, workspace } = world;
  try {
    const outcome = await act(world, new Ledger({ store, session: who, policy }));
    if (!outcome.ok) return outcome;
    const { ok: _, ...result } = outcome;
    const changes: Entry[] = [];
    for (const change of result.undid)
      changes.push(...(await store.entries({ change, kinds: ['change'], limit: 1 })));
    return { ok: true, taken: { result, root: workspace.roots[0] ?? '', changes } };
  } finally {
    await store.record({ forget: [{ session: who }] });
  }
}
