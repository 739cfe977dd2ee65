import type { Action, Refusal, RefusalDetail } from '../model/verdict.ts';
import type { Nearest } from '../text/nearest.ts';
import type { PlanFailure } from './plan-text.ts';

/** Why a text change cannot be made, as a refusal. Called only after the gate has allowed looking at the content. */
export function planRefusal(failure: PlanFailure, action: Action, path: string): Refusal {
  switch (failure.kind) {
    case 'not-text':
      return { code: 'NOT_TEXT', action, path, next: 'other_tool' };
    case 'not-encodable':
      return invalid(
        action,
        path,
        `the text has characters that the file's encoding (${failure.encoding}) lacks`,
      );
    case 'no-such-line':
      return invalid(action, path, 'after_line is past the end of the file');
    case 'empty-anchor':
      return {
        ...invalid(action, path, 'old_string is empty'),
        detail: { reason: 'old_string is empty', index: failure.index },
      };
    case 'same':
      return {
        ...invalid(action, path, ''),
        detail: { reason: 'old_string and new_string are the same', index: failure.index },
      };
    case 'too-large':
      return { code: 'TOO_LARGE', action, path, next: 'use_edit', detail: { index: failure.index } };
    case 'ambiguous': {
      const { count, places, index } = failure;
      return { code: 'AMBIGUOUS_MATCH', action, path, next: 'add_context', detail: { count, places, index } };
    }
    case 'no-match': {
      const { nearest, index } = failure;
      const detail = { count: 0, index, ...(nearest === undefined ? {} : quoted(nearest)) };
      return { code: 'NO_MATCH', action, path, next: 'add_context', detail };
    }
    default:
      return failure satisfies never;
  }
}

function quoted({ shown, difference, anchor }: Nearest): RefusalDetail {
  return {
    nearest: shown,
    ...(difference === undefined ? {} : { difference }),
    ...(anchor === undefined ? {} : { anchor }),
  };
}

function invalid(action: Action, path: string, reason: string): Refusal {
  return { code: 'INVALID_ARGUMENT', action, path, next: 'fix_argument', detail: { reason } };
}
