import { no, PASS, type Rule } from '../rule.ts';

/**
 * An `expected_revision` must be that of the bytes there now, also for a session that has seen them: the caller said what
 * it builds on. The refusal never tells the current one.
 */
export const revision: Rule = (facts) => {
  const { expectedRevision: expected, currentRevision: current, target } = facts;
  if (expected === undefined || expected === current) return PASS;
  if (target.exists && current === undefined)
    return no(facts, { code: 'UNVERIFIABLE', next: 'read_again', detail: { errno: facts.errno } });
  if (!target.exists)
    return no(facts, { code: 'REVISION_MISMATCH', next: 'fix_argument', detail: { reason: 'missing' } });
  return no(facts, { code: 'REVISION_MISMATCH', next: 'read', detail: { seenAtMs: facts.sighting?.atMs } });
};
