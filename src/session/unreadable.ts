import type { Unreadable } from '../disk/read.ts';
import type { FileKind } from '../model/path.ts';
import type { Refusal, RefusalDetail } from '../model/verdict.ts';

/** The refusal for an existing file that could not be read. */
export function unreadableRefusal(path: string, problem: Unreadable): Refusal {
  const base = { action: 'read', path } as const;
  switch (problem.problem) {
    case 'missing':
      return { ...base, code: 'NOT_FOUND', next: 'other_path' };
    case 'kind':
      return notAFile(path, problem.kind);
    case 'swapped':
      return {
        ...base,
        code: 'UNVERIFIABLE',
        next: 'retry_later',
        detail: { reason: 'it was replaced by a link meanwhile' },
      };
    case 'too-large':
      return tooLarge(path, { sizeBytes: problem.size });
    case 'denied':
      return { ...base, code: 'UNVERIFIABLE', next: 'ask_human', detail: { errno: problem.errno } };
    default:
      return problem satisfies never;
  }
}

export function notAFile(path: string, kind: FileKind): Refusal {
  const next = kind === 'directory' ? 'list' : 'other_path';
  return { code: 'NOT_A_FILE', action: 'read', path, next, detail: { kind } };
}

export function tooLarge(path: string, detail: Pick<RefusalDetail, 'sizeBytes' | 'limitBytes'>): Refusal {
  return { code: 'TOO_LARGE', action: 'read', path, next: 'read_range', detail };
}
