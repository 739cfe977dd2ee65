import type { Conflict } from '../disk/replace.ts';
import type { ResolvedPath } from '../model/path.ts';
import { type Action, passOn, type Refusal } from '../model/verdict.ts';

interface Refused {
  readonly action: Action;
  readonly path: ResolvedPath;
}

/**
 * The refusal if another program changed the file between the last check and our change. Nothing of
 * our change was done. The refusal names the files that were moved out of the workspace and kept.
 */
export function conflictRefusal(refused: Refused, conflict: Conflict): Refusal {
  const refusal = refusalOf(refused, conflict);
  if (conflict.retained.length === 0) return refusal;
  return passOn(refusal, { kept: conflict.retained });
}

function refusalOf(refused: Refused, conflict: Conflict): Refusal {
  const base = { action: refused.action, path: refused.path.given };
  switch (conflict.reason) {
    case 'changed':
      return {
        ...base,
        code: 'STALE',
        next: 'read_again',
        detail: { reason: 'it changed while it was being written' },
      };
    case 'missing':
      return {
        ...base,
        code: 'DELETED',
        next: 'read_again',
        detail: { reason: 'it was deleted while it was being written' },
      };
    case 'exists':
      return {
        ...base,
        code: 'ALREADY_EXISTS',
        next: 'read',
        detail: { reason: 'another program created it at the same moment' },
      };
    case 'kind':
      return {
        ...base,
        code: 'NOT_A_FILE',
        next: 'other_path',
        ...(conflict.kind === undefined ? {} : { detail: { kind: conflict.kind } }),
      };
    case 'read-only':
      return { ...base, code: 'READ_ONLY', next: 'ask_human' };
    case 'denied':
      return {
        ...base,
        code: 'UNVERIFIABLE',
        next: 'ask_human',
        ...(conflict.errno === undefined ? {} : { detail: { errno: conflict.errno } }),
      };
    default:
      return conflict.reason satisfies never;
  }
}
