import type { Policy } from '../../model/policy.ts';
import type { Facts } from '../facts.ts';
import { no, PASS, type Rule } from '../rule.ts';

/** Text goes into text, and it is real text: not our own read decorations, not a stub for what was left out. */
export const content: Rule = (facts, policy) => {
  if (mixesTextIntoBinary(facts, policy)) return no(facts, { code: 'NOT_TEXT', next: 'other_tool' });
  if (facts.placeholder !== undefined && policy.placeholders === 'refuse')
    return no(facts, {
      code: 'PLACEHOLDER_CONTENT',
      next: 'use_edit',
      detail: { reason: facts.placeholder },
    });
  return PASS;
};

function mixesTextIntoBinary(facts: Facts, policy: Policy): boolean {
  if (!facts.target.exists || facts.target.binary !== true) return false;
  if (facts.action === 'edit' || facts.action === 'insert') return true;
  // Where any view licenses an overwrite (seeds A to D), a binary is replaced like anything else.
  return facts.action === 'overwrite' && facts.contentKind !== 'bytes' && policy.overwrite === 'whole';
}
