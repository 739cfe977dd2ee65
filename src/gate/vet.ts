import { judge } from '../judge/judge.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { FileIntent } from '../model/intent.ts';
import type { Notice } from '../model/results.ts';
import { look } from './look.ts';
import { prepare } from './prepare.ts';
import { type Denied, no } from './prepared.ts';
import type { World } from './world.ts';

export type Vetted = { readonly ok: true; readonly notices: readonly Notice[] } | Denied;

/**
 * May this be done? A write, edit or insert of a file that is as it was seen needs one stat; whatever needs a closer
 * look (a changed file, a delete, a move) is prepared in full and then let go.
 */
export async function vetOne(world: World, ledger: Ledger, change: FileIntent): Promise<Vetted> {
  const glanced = await glance(world, ledger, change);
  if (glanced !== undefined) return glanced;
  const prepared = await prepare(world, ledger, change);
  if (!prepared.ok) return prepared;
  prepared.step.close();
  return { ok: true, notices: [] };
}

async function glance(world: World, ledger: Ledger, change: FileIntent): Promise<Vetted | undefined> {
  if (
    world.policy.readOnly ||
    (change.kind !== 'write' && change.kind !== 'edit' && change.kind !== 'insert')
  )
    return undefined;
  const action = change.kind === 'write' ? 'overwrite' : change.kind;
  const { path, expectedRevision } = change;
  const outcome = await look(world, ledger, { path, action, expectedRevision, depth: 'glance' });
  if (!outcome.ok) return no(outcome.refusal);
  const { view } = outcome;
  view.located.place.dir.close();
  const verdict = judge(view.facts, world.policy);
  if (verdict.outcome === 'refuse') return verdict.refusal.code === 'STALE' ? undefined : no(verdict.refusal);
  return verdict.licence === 'carry' ? undefined : { ok: true, notices: verdict.notices };
}
