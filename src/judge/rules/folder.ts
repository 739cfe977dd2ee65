import { type JudgeRule, no, PASS } from '../facts.ts';

/**
 * A non-empty folder may be deleted only if this session has listed it in full and it is unchanged
 * since.
 */
export const folder: JudgeRule = (facts, policy) => {
  const { action, target } = facts;
  if (action !== 'delete' || !target.exists || target.kind !== 'directory') return PASS;
  if (policy.seen === 'optional') return PASS;
  if (facts.folder?.listedFull !== true)
    return no(facts, { code: 'NOT_READ', next: 'list', detail: { kind: 'directory' } });
  if (facts.folder.listingUnchanged === true) return PASS;
  const detail = { kind: 'directory', seenAtMs: facts.sighting?.atMs } as const;
  return no(facts, { code: 'STALE', next: 'list', detail });
};
