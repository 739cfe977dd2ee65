import { isOutputPath } from '../model/path.ts';
import type { Policy } from '../model/policy.ts';
import { isRecord } from '../model/record.ts';
import type { UndoSelection } from '../model/session.ts';
import {
  ANY,
  checkShape,
  FLAG,
  integerFrom,
  listOf,
  mismatchText,
  type ObjectShape,
  objectOf,
  oneOf,
  type Shape,
  TEXT,
  variantOf,
} from '../model/shape.ts';
import { type Action, invalidArgument, passOn, type Refusal } from '../model/verdict.ts';

/** The action that a refusal names, by kind of change. */
const ACTIONS: Readonly<Record<string, Action>> = {
  write: 'overwrite',
  edit: 'edit',
  insert: 'insert',
  delete: 'delete',
  move: 'move',
  mkdir: 'mkdir',
};

const CONTENT: Shape = {
  type: 'tested',
  is: (value) => typeof value === 'string' || value instanceof Uint8Array,
  must: 'a string or a Uint8Array',
};
const LINES = listOf(
  { type: 'tested', is: isRange, must: 'lines { from, to }, from 1 on' },
  { must: 'an array of lines { from, to }, from 1 on' },
);
const MODE: Shape = {
  type: 'integer',
  minimum: 0,
  maximum: 0o777,
  must: 'permission bits, from 0 to 0o777',
};
const COVERAGE = variantOf('kind', {
  whole: objectOf({}),
  none: objectOf({}),
  lines: objectOf({ ranges: LINES }, ['ranges']),
});
const EDIT = objectOf(
  {
    oldString: TEXT,
    newString: TEXT,
    replaceAll: FLAG,
    occurrences: integerFrom(0),
    lines: ANY,
    mayBeSame: FLAG,
  },
  ['oldString', 'newString'],
);

/** The path may be any value here; the resolver checks it later. */
const AT_A_PATH = { path: ANY };
const CHANGES = {
  write: objectOf(
    {
      ...AT_A_PATH,
      content: CONTENT,
      expectedRevision: TEXT,
      makeParents: FLAG,
      overwrite: FLAG,
      mode: MODE,
      seen: COVERAGE,
    },
    ['content'],
  ),
  edit: objectOf(
    {
      ...AT_A_PATH,
      edits: listOf(EDIT),
      expectedRevision: TEXT,
      withDiff: FLAG,
      moveTo: ANY,
      executable: FLAG,
    },
    ['edits'],
  ),
  insert: objectOf(
    { ...AT_A_PATH, content: TEXT, afterLine: integerFrom(0), expectedRevision: TEXT, moveTo: ANY },
    ['content'],
  ),
  delete: objectOf({ ...AT_A_PATH, recursive: FLAG, only: oneOf('file'), content: TEXT }),
  move: objectOf({ source: ANY, destination: ANY, makeParents: FLAG, overwrite: FLAG }),
  mkdir: objectOf(AT_A_PATH),
};
const CHANGE = variantOf('kind', CHANGES);
const BATCH = objectOf({ kind: ANY, changes: listOf(ANY), dryRun: FLAG }, ['changes']);

/**
 * The shapes of changes that another program announces: every kind that a session can make, and
 * `touch`, a change whose text only that program knows.
 */
const ANNOUNCED = variantOf('kind', { ...CHANGES, touch: objectOf({ ...AT_A_PATH, lines: LINES }) });
const ANNOUNCEMENT = objectOf({
  intents: listOf(ANY, { minItems: 1, must: 'an array with at least one change' }),
  options: objectOf({
    hold: oneOf('lock', 'none'),
    call: TEXT,
    tool: TEXT,
    tell: oneOf('now', 'settled'),
  }),
});
const ENDING = objectOf({
  change: { ...TEXT, must: 'the id that announce returned' },
  ending: oneOf('done', 'failed', 'unknown'),
});

const EVENT = variantOf('kind', {
  read: objectOf({ ...AT_A_PATH, content: TEXT, ranges: LINES, redacted: FLAG, clamped: FLAG }),
  write: objectOf({ ...AT_A_PATH, content: CONTENT, change: TEXT }),
  delete: objectOf({ ...AT_A_PATH, change: TEXT }),
  move: objectOf({ source: ANY, destination: ANY, change: TEXT }),
  command: objectOf({ command: ANY }),
});

const CHANGE_WORDS: Parameters<typeof mismatchText>[1] = { noun: 'field', whole: 'a change' };

/**
 * The refusal of an invalid intent, or undefined if it is valid. Untyped callers may pass anything,
 * and a mistake must be found before anything is changed.
 */
export function validateIntent(intent: unknown): Refusal | undefined {
  if (!isRecord(intent) || intent['kind'] !== 'apply') return validateChange(intent, CHANGE);
  const reason = mismatchIn(BATCH, intent, CHANGE_WORDS);
  if (reason !== undefined) return invalid(intent, reason);
  const { changes } = intent;
  return Array.isArray(changes) ? validateChanges(changes, CHANGE) : undefined;
}

/** The refusal of invalid arguments of `announce`, or undefined if they are valid. */
export function validateAnnouncement(intents: unknown, options: unknown): Refusal | undefined {
  const given = { intents: intents ?? null, options: options ?? null };
  const reason = mismatchIn(ANNOUNCEMENT, given, { noun: 'option', whole: 'an announcement' });
  if (reason !== undefined) return invalid(undefined, reason);
  return Array.isArray(intents) ? validateChanges(intents, ANNOUNCED) : undefined;
}

/** The refusal of invalid arguments of `settle`, or undefined if they are valid. */
export function validateEnding(change: unknown, ending: unknown): Refusal | undefined {
  const given = { change: change ?? null, ending: ending ?? null };
  const reason = mismatchIn(ENDING, given, { noun: 'field', whole: 'an ending' });
  return reason === undefined
    ? undefined
    : invalidArgument('settle', typeof change === 'string' ? change : '', reason);
}

/** The refusal of a malformed event, or undefined if it is valid. The resolver checks paths later. */
export function validateEvent(event: unknown): Refusal | undefined {
  const reason = mismatchIn(EVENT, event, { noun: 'field', whole: 'an event' });
  return reason === undefined ? undefined : { ...invalid(event, reason), action: 'status' };
}

function validateChanges(changes: readonly unknown[], shape: Shape): Refusal | undefined {
  for (const [index, change] of changes.entries()) {
    const refusal = validateChange(change, shape);
    if (refusal !== undefined) return passOn(refusal, { index });
  }
  return undefined;
}

function validateChange(change: unknown, shape: Shape): Refusal | undefined {
  const reason = mismatchIn(shape, change, CHANGE_WORDS) ?? outputNamed(change);
  return reason === undefined ? undefined : invalid(change, reason);
}

const PATH_FIELDS = ['path', 'source', 'destination', 'moveTo'] as const;

/**
 * The reason to refuse a change of a command's stored output. Agents read such output by a name
 * that looks like a path.
 */
function outputNamed(change: unknown): string | undefined {
  if (!isRecord(change)) return undefined;
  for (const field of PATH_FIELDS) {
    const path = change[field];
    if (isOutputPath(path)) return `${path} is the output of a command, which can only be read`;
  }
  return undefined;
}

function mismatchIn(
  shape: Shape,
  value: unknown,
  words: Parameters<typeof mismatchText>[1],
): string | undefined {
  const [mismatch] = checkShape(shape, value);
  return mismatch === undefined ? undefined : mismatchText(mismatch, words);
}

function invalid(change: unknown, reason: string): Refusal {
  const { kind, path, source } = isRecord(change) ? change : {};
  const given = path ?? source;
  return invalidArgument(actionOf(kind), typeof given === 'string' ? given : '', reason);
}

/** The action that a refusal names for a kind of change. `edit` for unknown kinds. */
export function actionOf(kind: unknown): Action {
  const action = typeof kind === 'string' && Object.hasOwn(ACTIONS, kind) ? ACTIONS[kind] : undefined;
  return action ?? 'edit';
}

function isRange(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { from, to } = value;
  return (
    typeof from === 'number' &&
    typeof to === 'number' &&
    Number.isInteger(from) &&
    from >= 1 &&
    (Number.isInteger(to) || to === Number.POSITIVE_INFINITY) &&
    to >= from
  );
}

/**
 * The operations whose options are checked here. Other operations become an `Intent`, which
 * `validateIntent` checks.
 */
type Optioned = 'read' | 'list' | 'find' | 'search' | 'undo' | 'run' | 'call';

/** Options of every operation except `undo`. */
const CALL = {
  signal: { type: 'tested', is: (value) => value instanceof AbortSignal, must: 'an AbortSignal' },
  cwd: TEXT,
} satisfies Record<string, Shape>;
const WATCHED = {
  ...CALL,
  onProgress: { type: 'tested', is: (value) => typeof value === 'function', must: 'a function' },
} satisfies Record<string, Shape>;
/** Times and sizes. Fractions and Infinity are allowed. */
const AMOUNT: Shape = {
  type: 'tested',
  is: (value) => typeof value === 'number' && value >= 0,
  must: 'a number of at least 0',
};
const COUNT = integerFrom(1);
const HITS: Shape = { type: 'integer', minimum: 1, maximum: 10_000 };

/**
 * The shapes of the options of each operation. A value of shape ANY passes here: the code that uses
 * the option checks it later.
 */
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
    links: oneOf('all', 'inside', 'followed'),
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
    wholeWord: FLAG,
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
    partial: FLAG,
  }),
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
  return invalidArgument(of === 'find' ? 'search' : of, given, reason);
}

/** The refusal for an undo in a read-only session. A preview of an undo is allowed, because it changes nothing. */
export function validateUndo(policy: Policy, { path = '', preview }: UndoSelection): Refusal | undefined {
  if (!policy.readOnly || preview === true) return undefined;
  return { code: 'READ_ONLY', action: 'undo', path, next: 'ask_human', detail: { cause: 'session' } };
}

/** The refusal for an invalid command, or undefined if it is valid. */
export function validateCommand(command: unknown): Refusal | undefined {
  const isText = (value: unknown): boolean => typeof value === 'string' && !value.includes('\0');
  const isLine = isText(command) && String(command).trim() !== '';
  const isList = Array.isArray(command) && command.length > 0 && command.every(isText);
  const isKept = isRecord(command) && isText(command['kept']);
  if (!isLine && !isList && !isKept)
    return invalidArgument('run', '', 'the command must be a text that is not empty, or a list of texts');
  const words: readonly unknown[] = isKept ? [] : isList ? command : [command];
  const isTooLong = words.some((word) => Buffer.byteLength(String(word)) > MAX_WORD_BYTES);
  return isTooLong ? invalidArgument('run', '', COMMAND_TOO_LONG) : undefined;
}

/** The most bytes that Linux accepts in one argument of a program. */
const MAX_WORD_BYTES = 131_071;
const COMMAND_TOO_LONG = `the command is longer than ${MAX_WORD_BYTES} bytes, the most that the system accepts: write a script, and run that`;
