import type { Action, NextStep, Refusal } from '../model/verdict.ts';

/** The reason why a path could not be resolved. */
type Cause =
  | { readonly kind: 'escapes' }
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'failed'; readonly errno: string };

type UnresolvedCode =
  | 'NOT_FOUND'
  | 'NOT_A_FILE'
  | 'OUTSIDE_WORKSPACE'
  | 'INVALID_ARGUMENT'
  | 'UNVERIFIABLE'
  | 'BUSY';

/**
 * The refusal for each system error that can occur while a path is resolved. Only ENOENT means that
 * something is missing.
 */
const BY_ERRNO: Readonly<Record<string, { code: UnresolvedCode; next: NextStep; reason: string }>> = {
  ENOENT: { code: 'NOT_FOUND', next: 'other_path', reason: 'a link in the path points to nothing' },
  ENOTDIR: { code: 'NOT_A_FILE', next: 'other_path', reason: 'a part of the path is a file, not a folder' },
  ELOOP: { code: 'OUTSIDE_WORKSPACE', next: 'other_path', reason: 'the path contains too many links' },
  ENAMETOOLONG: { code: 'INVALID_ARGUMENT', next: 'other_path', reason: 'a name in the path is too long' },
  EACCES: { code: 'UNVERIFIABLE', next: 'ask_human', reason: 'permission denied for a folder in the path' },
  EPERM: { code: 'UNVERIFIABLE', next: 'ask_human', reason: 'permission denied for a folder in the path' },
  EILSEQ: {
    code: 'UNVERIFIABLE',
    next: 'other_path',
    reason: 'a link in the path has a target that is not valid text',
  },
  ESTALE: {
    code: 'UNVERIFIABLE',
    next: 'ask_human',
    reason:
      'the workspace folder was deleted after it was opened; if it was created again, restart lookfirst',
  },
  EBUSY: { code: 'BUSY', next: 'retry_later', reason: 'the path kept changing while it was looked up' },
};

const OTHER = {
  code: 'UNVERIFIABLE',
  next: 'retry_later',
  reason: 'the path could not be looked up',
} as const;

/**
 * The refusal for a path that could not be resolved. All outside paths get the same answer, whether
 * they exist or not.
 */
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
      const { code, next, reason } = BY_ERRNO[cause.errno] ?? OTHER;
      return { code, ...request, next, detail: { reason, errno: cause.errno } };
    }
    default:
      return cause satisfies never;
  }
}
