import { type JudgeRule, no, PASS } from '../ruling.ts';

/**
 * Refuses every change in a read-only session, and changes to protected paths and to the root itself.
 */
export const contain: JudgeRule = (facts, policy) => {
  if (facts.protectedBy !== undefined)
    return no(facts, { code: 'PROTECTED', next: 'ask_human', detail: { reason: facts.protectedBy } });
  if (policy.readOnly)
    return no(facts, { code: 'READ_ONLY', next: 'ask_human', detail: { reason: 'session' } });
  if (facts.isRoot === true && (facts.action === 'delete' || facts.action === 'move'))
    return no(facts, { code: 'PROTECTED', next: 'other_path', detail: { reason: 'root' } });
  return PASS;
};
