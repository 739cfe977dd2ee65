import { type JudgeRule, no, PASS } from '../ruling.ts';

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

/** A non-empty folder is deleted only if the caller sets `recursive`; a bypass does not replace it. */
export const recursive: JudgeRule = (facts) => {
  const { action, target, folder } = facts;
  if (action !== 'delete' || !target.exists || target.kind !== 'directory') return PASS;
  if (folder?.empty === true || folder?.recursive === true) return PASS;
  const detail = { kind: 'directory', reason: 'the folder is not empty' } as const;
  return no(facts, { code: 'INVALID_ARGUMENT', next: 'fix_argument', detail });
};
