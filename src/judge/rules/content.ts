import type { Policy } from '../../model/policy.ts';
import type { Facts } from '../facts.ts';
import { type JudgeRule, no, PASS } from '../ruling.ts';

/**
 * Refuses text for a file that is not text, text with line numbers or other marks of a read, and text with a placeholder for
 * omitted lines.
 */
export const content: JudgeRule = (facts, policy) => {
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
  // In presets where any view licenses an overwrite, a binary file is overwritten like any other.
  return facts.action === 'overwrite' && facts.contentKind !== 'bytes' && policy.overwrite === 'whole';
}
