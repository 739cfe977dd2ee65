import type { Policy } from '../../model/policy.ts';
import type { Sighting } from '../../model/sighting.ts';
import { type Absence, type Facts, knowledgeOf } from '../facts.ts';
import { type JudgeRule, no, PASS, type Ruling } from '../ruling.ts';

/**
 * This session must have seen the file, not too long ago, and the view must still be in the model's context. After a
 * compaction the baseline alone licenses edits of unchanged bytes, because their anchor is checked against the live
 * file.
 */
export const seen: JudgeRule = (facts, policy) => {
  if (policy.seen === 'optional' || !facts.target.exists || facts.target.kind !== 'file') return PASS;
  const knowledge = knowledgeOf(facts);
  if (!knowledge.known) return unseen(facts, knowledge.absence, knowledge.seenAtMs);

  const { sighting } = knowledge;
  if (sighting.flags.unverified && asksForFreshness(policy))
    return unseen(facts, 'unverified', sighting.atMs);
  if (policy.ttlMs > 0 && facts.nowMs - sighting.atMs > policy.ttlMs)
    return no(facts, { code: 'READ_EXPIRED', next: 'read_again', detail: { seenAtMs: sighting.atMs } });
  if (outOfContext(sighting) && !(facts.action === 'edit' && baselineHolds(facts, policy)))
    return unseen(facts, ...lossOf(sighting));
  return PASS;
};

function unseen(facts: Facts, absence: Absence, seenAtMs: number | undefined): Ruling {
  if (absence === 'expired')
    return no(facts, { code: 'READ_EXPIRED', next: 'read_again', detail: { seenAtMs } });
  const detail = { reason: absence === 'never' ? undefined : absence, seenAtMs };
  return no(facts, { code: 'NOT_READ', next: 'read', detail });
}

/**
 * The absence reason of a sighting. One that was never shown (for example of a file that a tool copied) counts as
 * `never`, not as lost.
 */
function lossOf({ lost, atMs }: Sighting): [Absence, number | undefined] {
  return lost === undefined ? ['never', undefined] : [lost, atMs];
}

function asksForFreshness(policy: Policy): boolean {
  return policy.staleness === 'refuse' || policy.staleness === 'merge';
}

/**
 * True if the shown content is no longer in the model's context. Described files (binary, image) have no lines; the
 * description counts.
 */
function outOfContext(sighting: Sighting): boolean {
  return sighting.coverage.kind === 'none' && !(sighting.flags.notText && sighting.lost === undefined);
}

function baselineHolds(facts: Facts, policy: Policy): boolean {
  return policy.compaction !== 'clear' && facts.freshness === 'same';
}
