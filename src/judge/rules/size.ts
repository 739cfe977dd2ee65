import { no, PASS, type Rule } from '../rule.ts';

/**
 * Files over the limit are not loaded for a change. Asked before `seen`, for the size is no secret and reading such a
 * file first would be in vain.
 */
export const size: Rule = (facts, policy) => {
  const { action, target } = facts;
  if (action !== 'overwrite' && action !== 'edit' && action !== 'insert') return PASS;
  if (!target.exists || target.sizeBytes <= policy.maxEditBytes) return PASS;
  const detail = { sizeBytes: target.sizeBytes, limitBytes: policy.maxEditBytes };
  return no(facts, { code: 'TOO_LARGE', next: 'ask_human', detail });
};
