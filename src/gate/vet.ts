import { judge } from '../judge/judge.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
import type { FileIntent } from '../model/intent.ts';
import type { Notice } from '../model/results.ts';
import { hasCurlyQuotes } from '../text/quotes.ts';
import { suspectLines } from '../text/suspect-lines.ts';
import { glanceFacts, type LookRequest } from './look.ts';
import { prepare } from './prepare.ts';
import type { Denied } from './prepared.ts';
import type { World } from './world.ts';

export type Vetted = { readonly ok: true; readonly notices: readonly Notice[] } | Denied;

type WriteIntent = Extract<FileIntent, { kind: 'write' }>;

/**
 * May this be done? The answer is the one that performing it would get. A plain write of a file that is as it was seen
 * needs one stat; whatever needs a closer look (at what is there, or at what is to be written) is prepared in full and then
 * let go.
 */
export function vetOne(world: World, ledger: Ledger, change: FileIntent): Awaitable<Vetted> {
  if (world.policy.readOnly || change.kind !== 'write' || !isPlain(change))
    return vetInFull(world, ledger, change);
  const request: LookRequest = { path: change.path, action: 'overwrite', depth: 'glance' };
  const outcome = world.workspace.locate(request.path, request.action);
  if (!outcome.ok) return outcome;
  const { located } = outcome;
  located.place.dir.close();
  return andThen(ledger.recall(located.place.path.key), (sighting) => {
    const facts = glanceFacts(world, { request, located, sighting }, ledger.session);
    const enough = facts.freshness === 'same' || !located.exists;
    // Content that was refused before is told by its hash.
    const verdict = enough && sighting?.refusedContent === undefined ? judge(facts, world.policy) : undefined;
    if (verdict?.outcome === 'allow') return { ok: true, notices: verdict.notices };
    return vetInFull(world, ledger, change);
  });
}

/** Whether nothing in the text could speak against writing it, nor in what the caller asks for. */
function isPlain({ content, expectedRevision, makeParents }: WriteIntent): boolean {
  if (expectedRevision !== undefined || makeParents === false) return false;
  if (typeof content !== 'string') return true;
  return content.isWellFormed() && !hasCurlyQuotes(content) && suspectLines(content).length === 0;
}

async function vetInFull(world: World, ledger: Ledger, change: FileIntent): Promise<Vetted> {
  const prepared = await prepare(world, ledger, change);
  if (!prepared.ok) return prepared;
  prepared.step.close();
  return { ok: true, notices: prepared.step.notices ?? [] };
}
