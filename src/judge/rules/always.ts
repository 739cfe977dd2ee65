import { LIMITS } from '../../model/limits.ts';
import type { FileKind } from '../../model/path.ts';
import type { Policy } from '../../model/policy.ts';
import { showsAll } from '../../model/sighting.ts';
import { bringsWhatIsThere, type Facts, type JudgedAction, knowledgeOf } from '../facts.ts';
import { type JudgeRule, no, note, PASS, type Ruling } from '../ruling.ts';

/**
 * Refuses every change in a read-only session, changes of protected paths, and the deletion or move
 * of a workspace root.
 */
export const contain: JudgeRule = (facts, policy) => {
  if (facts.protectedBy !== undefined)
    return no(facts, { code: 'PROTECTED', next: 'ask_human', detail: { reason: facts.protectedBy } });
  if (policy.readOnly)
    return no(facts, { code: 'READ_ONLY', next: 'ask_human', detail: { cause: 'session' } });
  if (facts.isRoot === true && (facts.action === 'delete' || facts.action === 'move'))
    return no(facts, { code: 'PROTECTED', next: 'other_path', detail: { cause: 'root' } });
  return PASS;
};

const SPECIAL: ReadonlySet<FileKind> = new Set(['fifo', 'socket', 'device']);
/**
 * Actions that write text and therefore need a regular file. Folders and links can only be deleted or
 * moved.
 */
const TEXTUAL: ReadonlySet<JudgedAction> = new Set(['overwrite', 'edit', 'insert']);
const ASKS_FOR_A_NEW_NAME: ReadonlySet<JudgedAction> = new Set(['create', 'mkdir']);

/**
 * Refuses changes because of the kind of file. FIFOs, sockets and devices: opening one may hang.
 * Folders and links: text cannot be written to them. Files without any write bit: they may not be
 * deleted either.
 */
export const kind: JudgeRule = (facts) => {
  const { action, target } = facts;
  if (!target.exists || ASKS_FOR_A_NEW_NAME.has(action)) return PASS;
  if (SPECIAL.has(target.kind) || (TEXTUAL.has(action) && target.kind !== 'file'))
    return no(facts, { code: 'NOT_A_FILE', next: 'other_path', detail: { kind: target.kind } });
  if (target.kind === 'file' && target.readOnly)
    return no(facts, { code: 'READ_ONLY', next: 'ask_human', detail: { cause: 'file' } });
  return PASS;
};

/**
 * Refuses a change of a file that is over the size limit. This rule precedes `seen`: otherwise a
 * session would have to read a file that it cannot change.
 */
export const size: JudgeRule = (facts) => {
  const { action, target } = facts;
  if (action !== 'overwrite' && action !== 'edit' && action !== 'insert') return PASS;
  if (!target.exists) return PASS;
  const { sizeBytes, limitBytes = LIMITS.maxEditBytes } = target;
  if (sizeBytes <= limitBytes) return PASS;
  const detail = { sizeBytes, limitBytes };
  return no(facts, { code: 'TOO_LARGE', next: 'ask_human', detail });
};

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
  const detail = {
    cause: own ? ('by this session' as const) : undefined,
    kind: sighting.how === 'listing' ? ('directory' as const) : undefined,
    seenAtMs: sighting.atMs,
  };
  return no(facts, { code: 'DELETED', next: 'other_tool', detail });
}

/**
 * Refuses to delete a non-empty folder, unless the caller sets `recursive`. A bypass rule or grant
 * of the operator does not change this.
 */
export const recursive: JudgeRule = (facts) => {
  const { action, target, folder } = facts;
  if (action !== 'delete' || !target.exists || target.kind !== 'directory') return PASS;
  if (folder?.empty === true || folder?.recursive === true) return PASS;
  const detail = { kind: 'directory', reason: 'the folder is not empty' } as const;
  return no(facts, { code: 'INVALID_ARGUMENT', next: 'fix_argument', detail });
};

/**
 * Refuses a change whose `expected_revision` is not that of the current bytes, even if the session
 * has seen these bytes. The refusal never contains the current revision. Exception: a write that
 * was already made may be sent again (`isSentAgain`).
 */
export const revision: JudgeRule = (facts) => {
  const { expectedRevision: expected, currentRevision: current, target } = facts;
  if (expected === undefined || expected === current || isSentAgain(facts)) return PASS;
  if (target.exists && current === undefined)
    return no(facts, { code: 'UNVERIFIABLE', next: 'read_again', detail: { errno: facts.errno } });
  if (!target.exists)
    return no(facts, { code: 'REVISION_MISMATCH', next: 'fix_argument', detail: { reason: 'missing' } });
  return no(facts, { code: 'REVISION_MISMATCH', next: 'read', detail: { seenAtMs: facts.sighting?.atMs } });
};

function isSentAgain(facts: Facts): boolean {
  const knowledge = knowledgeOf(facts);
  if (!knowledge.known || facts.freshness !== 'same' || !bringsWhatIsThere(facts)) return false;
  const { coverage, flags } = knowledge.sighting;
  return coverage.kind === 'whole' && showsAll(flags);
}

/**
 * Refuses text for a file that is not text, and text that is not real content: with line numbers
 * from the output of a read, with a placeholder for omitted lines, or with a mask of a value.
 */
export const content: JudgeRule = (facts, policy) => {
  if (mixesTextIntoBinary(facts, policy)) return no(facts, { code: 'NOT_TEXT', next: 'other_tool' });
  if (facts.mask !== undefined)
    return no(facts, {
      code: 'REDACTED_READ',
      next: 'use_edit',
      detail: { cause: 'mask', reason: facts.mask },
    });
  if (facts.placeholder !== undefined && policy.placeholders === 'refuse')
    return no(facts, { code: 'PLACEHOLDER_CONTENT', next: 'use_edit', detail: facts.placeholder });
  return PASS;
};

function mixesTextIntoBinary(facts: Facts, policy: Policy): boolean {
  if (!facts.target.exists || facts.target.binary !== true) return false;
  if (facts.action === 'edit' || facts.action === 'insert') return true;
  // Under `overwrite: any`, text may also replace a binary file.
  return (
    facts.action === 'overwrite' && (facts.contentKind ?? 'text') === 'text' && policy.overwrite === 'whole'
  );
}
