import type { FileKind } from '../../model/path.ts';
import type { JudgedAction } from '../facts.ts';
import { type JudgeRule, no, PASS } from '../ruling.ts';

const SPECIAL: ReadonlySet<FileKind> = new Set(['fifo', 'socket', 'device']);
/**
 * Actions that write text and therefore need a regular file. Folders and links can only be deleted or
 * moved.
 */
const TEXTUAL: ReadonlySet<JudgedAction> = new Set(['overwrite', 'edit', 'insert']);
const ASKS_FOR_A_NEW_NAME: ReadonlySet<JudgedAction> = new Set(['create', 'mkdir']);

/**
 * FIFOs, sockets and devices are always refused: opening one may hang, and an undo cannot restore it.
 * A file without any write bit is neither changed nor deleted, even if its folder allows it. Writing
 * a file with other hard links would separate it from them; the policy may forbid that.
 */
export const kind: JudgeRule = (facts, policy) => {
  const { action, target } = facts;
  if (!target.exists || ASKS_FOR_A_NEW_NAME.has(action)) return PASS;
  if (SPECIAL.has(target.kind) || (TEXTUAL.has(action) && target.kind !== 'file'))
    return no(facts, { code: 'NOT_A_FILE', next: 'other_path', detail: { kind: target.kind } });
  if (target.kind === 'file' && target.readOnly)
    return no(facts, { code: 'READ_ONLY', next: 'ask_human', detail: { reason: 'file' } });
  if (policy.hardLinks === 'refuse' && TEXTUAL.has(action) && target.linked === true)
    return no(facts, { code: 'PROTECTED', next: 'ask_human', detail: { reason: 'files with other names' } });
  return PASS;
};

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
