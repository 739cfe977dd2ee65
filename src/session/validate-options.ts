import type { Policy } from '../model/policy.ts';
import { isRecord } from '../model/record.ts';
import type { UndoSelection } from '../model/session.ts';
import {
  ANY,
  checkShape,
  FLAG,
  integerFrom,
  mismatchText,
  type ObjectShape,
  objectOf,
  oneOf,
  type Shape,
  TEXT,
} from '../model/shape.ts';
import { type Action, invalidArgument, type Refusal } from '../model/verdict.ts';

/** The operations that take options and do not become an intent. */
type Optioned = 'read' | 'list' | 'find' | 'search' | 'undo' | 'run' | 'call';

/** Options of every operation. */
const CALL = {
  signal: { type: 'tested', is: (value) => value instanceof AbortSignal, must: 'an AbortSignal' },
  cwd: TEXT,
} satisfies Record<string, Shape>;
const WATCHED = {
  ...CALL,
  onProgress: { type: 'tested', is: (value) => typeof value === 'function', must: 'a function' },
} satisfies Record<string, Shape>;
/** Times and sizes; they may be fractions, and without limit. */
const AMOUNT: Shape = {
  type: 'tested',
  is: (value) => typeof value === 'number' && value >= 0,
  must: 'a number of at least 0',
};
const COUNT = integerFrom(1);
const HITS: Shape = { type: 'integer', minimum: 1, maximum: 10_000 };

/** Options that are ANY are checked by the code that uses them. */
const OPTIONS: Readonly<Record<Optioned, ObjectShape>> = {
  call: objectOf(CALL),
  read: objectOf({
    ...WATCHED,
    offset: ANY,
    limit: ANY,
    last: ANY,
    maxBytes: AMOUNT,
    raw: FLAG,
    credit: FLAG,
  }),
  list: objectOf({
    ...WATCHED,
    depth: COUNT,
    limit: COUNT,
    after: TEXT,
    as: oneOf('listing', 'entries', 'names'),
    links: oneOf('all', 'inside'),
  }),
  find: objectOf({ ...WATCHED, path: ANY, limit: HITS }),
  search: objectOf({
    ...WATCHED,
    path: ANY,
    glob: ANY,
    exclude: ANY,
    mode: oneOf('lines', 'files', 'count'),
    context: { type: 'integer', minimum: 0, maximum: 20 },
    ignoreCase: FLAG,
    literal: FLAG,
    limit: HITS,
  }),
  run: objectOf({
    ...WATCHED,
    profile: oneOf('undo', 'confine'),
    network: oneOf('on', 'off'),
    timeoutMs: {
      type: 'tested',
      is: (value) => typeof value === 'number' && value > 0,
      must: 'a number above 0',
    },
    writes: oneOf('judged', 'apply', 'seen-only', 'discard'),
    output: oneOf('kept', 'inherit'),
    answer: oneOf('shown', 'silent'),
    title: TEXT,
  }),
  undo: objectOf({
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

/** The refusal of invalid options, or undefined if they are valid. Untyped callers may pass anything. */
export function validateOptions(
  options: unknown,
  { of, path = '' }: { readonly of: Optioned; readonly path?: unknown },
): Refusal | undefined {
  const [mismatch] = checkShape(OPTIONS[of], options);
  if (mismatch === undefined) return undefined;
  const reason = mismatchText(mismatch, { noun: 'option', whole: 'the options' });
  const given = typeof path === 'string' ? path : '';
  return invalidArgument(ACTIONS[of], given, reason);
}

/** The refusal for an undo in a read-only session. A preview of an undo is allowed, because it changes nothing. */
export function validateUndo(policy: Policy, { path = '', preview }: UndoSelection): Refusal | undefined {
  if (!policy.readOnly || preview === true) return undefined;
  return { code: 'READ_ONLY', action: 'undo', path, next: 'ask_human', detail: { reason: 'session' } };
}

/** The refusal for an invalid command, or undefined if it is valid. */
export function validateCommand(command: unknown): Refusal | undefined {
  const isText = (value: unknown): boolean => typeof value === 'string' && !value.includes('\0');
  const isLine = isText(command) && String(command).trim() !== '';
  const isList = Array.isArray(command) && command.length > 0 && command.every(isText);
  const isKept = isRecord(command) && isText(command['kept']);
  if (isLine || isList || isKept) return undefined;
  return invalidArgument('run', '', 'the command must be a text that is not empty, or a list of texts');
}
