import { type JudgeRule, no, PASS } from '../ruling.ts';

/**
 * Refuses to load files over the limit for a change. Checked before `seen`, because the size is no secret and reading
 * such a file first would be useless.
 */
export const size: JudgeRule = (facts, policy) => {
  const { action, target } = facts;
  if (action !== 'overwrite' && action !== 'edit' && action !== 'insert') return PASS;
  if (!target.exists || target.sizeBytes <= policy.maxEditBytes) return PASS;
  const detail = { sizeBytes: target.sizeBytes, limitBytes: policy.maxEditBytes };
  return no(facts, { code: 'TOO_LARGE', next: 'ask_human', detail });
};
