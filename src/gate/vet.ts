import { judge } from '../judge/judge.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
import type { FileIntent } from '../model/intent.ts';
import type { Notice } from '../model/results.ts';
import { refused } from '../model/verdict.ts';
import { glanceFacts, type LookRequest, look } from './look.ts';
import { prepare } from './prepare.ts';
import type { Denied } from './prepared.ts';
import type { World } from './world.ts';

export type Vetted = { readonly ok: true; readonly notices: readonly Notice[] } | Denied;

/**
 * May this be done? A write, edit or insert of a file that is as it was seen needs one stat; whatever needs a closer
 * look (a changed file, a delete, a move) is prepared in full and then let go.
 */
export function vetOne(world: World, ledger: Ledger, change: FileIntent): Awaitable<Vetted> {
  if (
    world.policy.readOnly ||
    (change.kind !== 'write' && change.kind !== 'edit' && change.kind !== 'insert')
  ) {
    return vetInFull(world, ledger, change);
  }
  const request: LookRequest = {
    path: change.path,
    action: change.kind === 'write' ? 'overwrite' : change.kind,
    expectedRevision: change.expectedRevision,
    depth: 'glance',
  };
  const outcome = world.workspace.locate(request.path, request.action);
  if (!outcome.ok) return outcome;
  const { located } = outcome;
  located.place.dir.close();
  return andThen(ledger.recall(located.place.path.key), (sighting) => {
    const facts = glanceFacts(world, { request, located, sighting });
    const verdict = facts.freshness === 'same' || !located.exists ? judge(facts, world.policy) : undefined;
    if (verdict?.outcome === 'allow' && facts.expectedRevision === undefined)
      return { ok: true, notices: verdict.notices };
    return vetByBytes(world, ledger, { request, change });
  });
}

/** The stamp was not enough. Of a changed file only the whole change can tell whether it still fits. */
async function vetByBytes(
  world: World,
  ledger: Ledger,
  { request, change }: { request: LookRequest; change: FileIntent },
): Promise<Vetted> {
  const outcome = await look(world, ledger, request);
  if (!outcome.ok) return outcome;
  const { view } = outcome;
  view.located.place.dir.close();
  const verdict = judge(view.facts, world.policy);
  const changed =
    verdict.outcome === 'refuse' ? verdict.refusal.code === 'STALE' : verdict.licence === 'carry';
  if (changed) return vetInFull(world, ledger, change);
  return verdict.outcome === 'refuse' ? refused(verdict.refusal) : { ok: true, notices: verdict.notices };
}

async function vetInFull(world: World, ledger: Ledger, change: FileIntent): Promise<Vetted> {
  const prepared = await prepare(world, ledger, change);
  if (!prepared.ok) return prepared;
  prepared.step.close();
  return { ok: true, notices: [] };
}
