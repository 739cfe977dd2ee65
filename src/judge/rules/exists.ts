import type { Policy } from '../../model/policy.ts';
import { type Facts, knowledgeOf } from '../facts.ts';
import { type JudgeRule, no, note, PASS, type Ruling } from '../ruling.ts';

/**
 * Requires that the path exists or does not exist, as the action demands. If a seen file has disappeared, an edit is
 * refused as DELETED, but a write creates it again with a notice.
 */
export const exists: JudgeRule = (facts, policy) => {
  const { action, target } = facts;
  if (!target.exists) return absent(facts, policy);
  const taken = action === 'create' || (action === 'mkdir' && target.kind !== 'directory');
  if (!taken) return PASS;
  const next = target.kind === 'file' ? 'read' : 'other_path';
  return no(facts, { code: 'ALREADY_EXISTS', next, detail: { kind: target.kind } });
};

function absent(facts: Facts, policy: Policy): Ruling {
  if (facts.action === 'mkdir') return PASS;
  const knowledge = knowledgeOf(facts);
  const appends = facts.appends === true && policy.append === 'free';
  const creates = facts.action === 'create' || facts.action === 'overwrite' || appends;
  if (!knowledge.known) return creates ? PASS : no(facts, { code: 'NOT_FOUND', next: 'list' });

  const { sighting } = knowledge;
  const own = sighting.tombstone === true;
  if (creates) {
    if (own || sighting.how === 'listing') return PASS;
    const warning = { kind: 'stale-warning', text: 'file was deleted since last read' } as const;
    return policy.staleness === 'warn' || policy.staleness === 'confirm'
      ? note(warning, { kind: 'recreated' })
      : note({ kind: 'recreated' });
  }
  const detail = { reason: own ? 'by this session' : undefined, seenAtMs: sighting.atMs };
  return no(facts, { code: 'DELETED', next: 'other_tool', detail });
}
