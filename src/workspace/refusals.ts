import type { Action, NextStep, Refusal, RefusalCode } from '../model/verdict.ts';

export type Cause =
  | { readonly kind: 'escapes' }
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'failed'; readonly errno: string };

/** What each errno of a walk means to a caller; never "missing", which only ENOENT is. */
const BY_ERRNO: Readonly<Record<string, { code: RefusalCode; next: NextStep; reason: string }>> = {
  ENOENT: { code: 'NOT_FOUND', next: 'other_path', reason: 'a link on the way leads nowhere' },
  ENOTDIR: { code: 'NOT_A_FILE', next: 'other_path', reason: 'a part of the path is a file, not a folder' },
  ELOOP: { code: 'OUTSIDE_WORKSPACE', next: 'other_path', reason: 'too many links on the way' },
  ENAMETOOLONG: { code: 'INVALID_ARGUMENT', next: 'other_path', reason: 'a name in the path is too long' },
  EACCES: { code: 'UNVERIFIABLE', next: 'ask_human', reason: 'permission denied on the way' },
  EPERM: { code: 'UNVERIFIABLE', next: 'ask_human', reason: 'permission denied on the way' },
  EILSEQ: {
    code: 'UNVERIFIABLE',
    next: 'other_path',
    reason: 'a link on the way has a name that is no text',
  },
  ESTALE: {
    code: 'UNVERIFIABLE',
    next: 'ask_human',
    reason:
      'the workspace folder was deleted since it was opened; whoever has made it anew has to start this again',
  },
  EBUSY: { code: 'BUSY', next: 'retry_later', reason: 'the path kept changing while it was looked up' },
};

/** Why a path could not be resolved, as a refusal. An outside path gives one answer, whatever is there. */
export function refusalOf(
  cause: Cause,
  request: { readonly path: string; readonly action: Action },
): Refusal {
  switch (cause.kind) {
    case 'escapes':
      return { code: 'OUTSIDE_WORKSPACE', ...request, next: 'other_path' };
    case 'invalid':
      return { code: 'INVALID_ARGUMENT', ...request, next: 'fix_argument', detail: { reason: cause.reason } };
    case 'failed': {
      const known = BY_ERRNO[cause.errno];
      const { code, next, reason } = known ?? {
        code: 'UNVERIFIABLE',
        next: 'retry_later',
        reason: 'the path could not be looked up',
      };
      return { code, ...request, next, detail: { reason, errno: cause.errno } };
    }
    default:
      return cause satisfies never;
  }
}
