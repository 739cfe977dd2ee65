import type { Policy } from '../model/policy.ts';
import { isRecord } from '../model/record.ts';
import type { UndoSelection } from '../model/session.ts';
import type { Action, Refusal } from '../model/verdict.ts';

/** Why these are no options; undefined if they are. A program without types may hand over anything. */
export function whyNoOptions(
  options: unknown,
  { action, path = '' }: { readonly action: Action; readonly path?: unknown },
): Refusal | undefined {
  const reason = whyInvalid(options);
  if (reason === undefined) return undefined;
  const given = typeof path === 'string' ? path : '';
  return { code: 'INVALID_ARGUMENT', action, path: given, next: 'fix_argument', detail: { reason } };
}

function whyInvalid(options: unknown): string | undefined {
  if (!isRecord(options)) return 'the options must be an object';
  const { signal, onProgress, maxBytes } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) return 'signal must be an AbortSignal';
  if (onProgress !== undefined && typeof onProgress !== 'function') return 'onProgress must be a function';
  if (maxBytes !== undefined && !(typeof maxBytes === 'number' && maxBytes >= 0))
    return 'maxBytes must be a number from 0 on';
  return undefined;
}

/** A read-only session changes nothing, not even back; it may look at what an undo would do. */
export function whyNoUndo(policy: Policy, { path = '', preview }: UndoSelection): Refusal | undefined {
  if (!policy.readOnly || preview === true) return undefined;
  return { code: 'READ_ONLY', action: 'undo', path, next: 'ask_human', detail: { reason: 'session' } };
}
