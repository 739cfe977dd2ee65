import { showsAll } from '../../model/sighting.ts';
import { bringsWhatIsThere, type Facts, knowledgeOf } from '../facts.ts';
import { type JudgeRule, no, PASS } from '../ruling.ts';

/**
 * An `expected_revision` must match the current bytes, even if the session has seen them, because the caller named the
 * version it builds on. The refusal never contains the current revision. Exception: a completed write may be sent
 * again, since its answer can get lost. The session then has seen the whole file and sends the same content.
 */
export const revision: JudgeRule = (facts) => {
  const { expectedRevision: expected, currentRevision: current, target } = facts;
  if (expected === undefined || expected === current || isSentAgain(facts)) return PASS;
  if (target.exists && current === undefined)
    return no(facts, { code: 'UNVERIFIABLE', next: 'read_again', detail: { errno: facts.errno } });
  if (!target.exists)
    return no(facts, { code: 'REVISION_MISMATCH', next: 'fix_argument', detail: { reason: 'missing' } });
  return no(facts, { code: 'REVISION_MISMATCH', next: 'read', detail: { seenAtMs: facts.sighting?.atMs } });
};

function isSentAgain(facts: Facts): boolean {
  const knowledge = knowledgeOf(facts);
  if (!knowledge.known || facts.freshness !== 'same' || !bringsWhatIsThere(facts)) return false;
  const { coverage, flags } = knowledge.sighting;
  return coverage.kind === 'whole' && showsAll(flags);
}
