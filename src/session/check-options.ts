import {
  ANYTHING,
  type Field,
  type Fields,
  FLAG,
  fieldsOf,
  TEXT,
  whyNoFields,
} from '../gate/check-fields.ts';
import type { Policy } from '../model/policy.ts';
import { isRecord } from '../model/record.ts';
import type { UndoSelection } from '../model/session.ts';
import type { Action, Refusal } from '../model/verdict.ts';

/** The operations that take options and do not become an intent. */
type Optioned = 'read' | 'list' | 'find' | 'search' | 'undo' | 'run' | 'call';

/** Options of every operation. */
const CALL = {
  signal: { is: (value: unknown) => value instanceof AbortSignal, must: 'an AbortSignal' },
  cwd: TEXT,
};
const WATCHED = {
  ...CALL,
  onProgress: { is: (value: unknown) => typeof value === 'function', must: 'a function' },
};
const AMOUNT: Field = { is: (value) => typeof value === 'number' && value >= 0, must: 'a number from 0 on' };

function oneOf(...values: readonly string[]): Field {
  return {
    is: (value) => typeof value === 'string' && values.includes(value),
    must: `one of ${values.join(', ')}`,
  };
}

/** Fields marked ANYTHING are checked by the code that uses them. */
const OPTIONS: Readonly<Record<Optioned, Fields>> = {
  call: fieldsOf(CALL),
  read: fieldsOf({
    ...WATCHED,
    offset: ANYTHING,
    limit: ANYTHING,
    last: ANYTHING,
    maxBytes: AMOUNT,
    raw: FLAG,
    credit: FLAG,
  }),
  list: fieldsOf({
    ...WATCHED,
    depth: ANYTHING,
    limit: ANYTHING,
    after: ANYTHING,
    as: ANYTHING,
    links: oneOf('all', 'inside'),
  }),
  find: fieldsOf({ ...WATCHED, path: ANYTHING, limit: ANYTHING }),
  search: fieldsOf({
    ...WATCHED,
    path: ANYTHING,
    glob: ANYTHING,
    exclude: ANYTHING,
    mode: ANYTHING,
    context: ANYTHING,
    ignoreCase: FLAG,
    literal: FLAG,
    limit: ANYTHING,
  }),
  run: fieldsOf({
    ...WATCHED,
    profile: oneOf('undo', 'confine'),
    network: oneOf('on', 'off'),
    timeoutMs: { is: (value) => typeof value === 'number' && value > 0, must: 'a number above 0' },
    writes: oneOf('judged', 'apply', 'seen-only', 'discard'),
    output: oneOf('kept', 'inherit'),
    answer: oneOf('shown', 'silent'),
    title: TEXT,
  }),
  undo: fieldsOf({
    change: TEXT,
    path: TEXT,
    session: TEXT,
    sinceMs: AMOUNT,
    preview: FLAG,
    merge: FLAG,
  }),
};

const ACTIONS: Readonly<Record<Optioned, Action>> = {
  read: 'read',
  list: 'list',
  find: 'search',
  search: 'search',
  undo: 'undo',
  run: 'run',
  call: 'call',
};

/**
 * The reason these options are invalid for an operation, or undefined if they are valid. Untyped callers may pass
 * anything.
 */
export function whyNoOptions(
  options: unknown,
  { of, path = '' }: { readonly of: Optioned; readonly path?: unknown },
): Refusal | undefined {
  const reason = isRecord(options) ? whyNoFields(options, OPTIONS[of]) : 'the options must be an object';
  if (reason === undefined) return undefined;
  const given = typeof path === 'string' ? path : '';
  return {
    code: 'INVALID_ARGUMENT',
    action: ACTIONS[of],
    path: given,
    next: 'fix_argument',
    detail: { reason },
  };
}

/** The refusal for an undo in a read-only session, which changes nothing. A preview of an undo is allowed. */
export function whyNoUndo(policy: Policy, { path = '', preview }: UndoSelection): Refusal | undefined {
  if (!policy.readOnly || preview === true) return undefined;
  return { code: 'READ_ONLY', action: 'undo', path, next: 'ask_human', detail: { reason: 'session' } };
}

/** The refusal for an invalid command, or undefined if it is valid. */
export function whyNoCommand(command: unknown): Refusal | undefined {
  const isText = (value: unknown): boolean => typeof value === 'string' && !value.includes('\0');
  const isLine = isText(command) && String(command).trim() !== '';
  const isList = Array.isArray(command) && command.length > 0 && command.every(isText);
  const isKept = isRecord(command) && isText(command['kept']);
  if (isLine || isList || isKept) return undefined;
  const detail = { reason: 'the command must be a text that is not empty, or a list of texts' };
  return { code: 'INVALID_ARGUMENT', action: 'run', path: '', next: 'fix_argument', detail };
}
