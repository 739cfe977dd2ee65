import { type JudgeRule, no, PASS } from '../facts.ts';

/** A non-empty folder is deleted only if the caller sets `recursive`; a bypass does not replace it. */
export const recursive: JudgeRule = (facts) => {
  const { action, target, folder } = facts;
  if (action !== 'delete' || !target.exists || target.kind !== 'directory') return PASS;
  if (folder?.empty === true || folder?.recursive === true) return PASS;
  const detail = { kind: 'directory', reason: 'the folder is not empty' } as const;
  return no(facts, { code: 'INVALID_ARGUMENT', next: 'fix_argument', detail });
};
