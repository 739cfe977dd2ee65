import { isRecord } from '../model/record.ts';
import type { Action, Refusal } from '../model/verdict.ts';
import {
  ANYTHING,
  CONTENT,
  type Field,
  type Fields,
  FLAG,
  fieldsOf,
  LINES,
  LIST,
  oneOf,
  required,
  TEXT,
  wholeNumber,
  whyNoFields,
} from './check-fields.ts';

/** The action that a refusal names, by kind of change. */
const ACTIONS: Readonly<Record<string, Action>> = {
  write: 'overwrite',
  edit: 'edit',
  insert: 'insert',
  delete: 'delete',
  move: 'move',
  mkdir: 'mkdir',
};

const MODE: Field = { is: isMode, must: 'permission bits, from 0 to 0o777' };
/** Any path passes here; the resolver checks it later. */
const AT_A_PATH = { kind: ANYTHING, path: ANYTHING };
const CHANGES: ReadonlyMap<unknown, Fields> = new Map(
  Object.entries({
    write: fieldsOf({
      ...AT_A_PATH,
      content: required(CONTENT),
      expectedRevision: TEXT,
      makeParents: FLAG,
      overwrite: FLAG,
      mode: MODE,
      seen: { is: isCoverage, must: 'a coverage' },
    }),
    edit: fieldsOf({
      ...AT_A_PATH,
      edits: required(LIST),
      expectedRevision: TEXT,
      withDiff: FLAG,
      moveTo: ANYTHING,
      executable: FLAG,
    }),
    insert: fieldsOf({
      ...AT_A_PATH,
      content: required(TEXT),
      afterLine: wholeNumber(0),
      expectedRevision: TEXT,
    }),
    delete: fieldsOf({ ...AT_A_PATH, recursive: FLAG, only: oneOf('file') }),
    move: fieldsOf({
      kind: ANYTHING,
      source: ANYTHING,
      destination: ANYTHING,
      makeParents: FLAG,
      overwrite: FLAG,
    }),
    mkdir: fieldsOf(AT_A_PATH),
  }),
);

function isMode(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0o777;
}

function isCoverage(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return (
    value['kind'] === 'whole' ||
    value['kind'] === 'none' ||
    (value['kind'] === 'lines' && LINES.is(value['ranges']))
  );
}

/** Another program may also announce a `touch`: a change whose text only that program knows. */
const FOREIGN: ReadonlyMap<unknown, Fields> = new Map([
  ...CHANGES,
  ['touch', fieldsOf({ ...AT_A_PATH, lines: LINES })],
]);
const ANNOUNCE = fieldsOf({
  hold: oneOf('lock', 'none'),
  call: TEXT,
  tool: TEXT,
  tell: oneOf('now', 'settled'),
});
const ENDINGS: ReadonlySet<unknown> = new Set(['done', 'failed', 'unknown']);
const BATCH = fieldsOf({ kind: ANYTHING, changes: required(LIST), dryRun: FLAG });
const EDIT = fieldsOf({
  oldString: ANYTHING,
  newString: ANYTHING,
  replaceAll: FLAG,
  occurrences: wholeNumber(0),
  lines: ANYTHING,
  mayBeSame: FLAG,
});

/**
 * The reason this intent is invalid, or undefined if it is valid. Untyped callers may pass anything. A mistake not
 * found here would fail half way or do something the caller did not intend.
 */
export function whyNoIntent(intent: unknown): Refusal | undefined {
  if (!isRecord(intent)) return invalid(intent, 'a change must be an object');
  if (intent['kind'] !== 'apply') return whyNoChange(intent);
  const reason = whyNoFields(intent, BATCH);
  if (reason !== undefined) return invalid(intent, reason);
  const { changes } = intent;
  for (const [index, change] of Array.isArray(changes) ? changes.entries() : []) {
    const refusal = whyNoChange(change);
    if (refusal !== undefined) return { ...refusal, detail: { ...refusal.detail, index } };
  }
  return undefined;
}

/** The reason these are not changes that can be announced, or undefined if they are. */
export function whyNoAnnouncement(intents: unknown, options: unknown): Refusal | undefined {
  if (!Array.isArray(intents) || intents.length === 0)
    return invalid(intents, 'intents must be an array with at least one change');
  const reason = isRecord(options) ? whyNoFields(options, ANNOUNCE) : 'options must be an object';
  if (reason !== undefined) return invalid(undefined, reason);
  for (const [index, intent] of intents.entries()) {
    const refusal = whyNoChange(intent, FOREIGN);
    if (refusal !== undefined) return { ...refusal, detail: { ...refusal.detail, index } };
  }
  return undefined;
}

/** The reason this does not end an announced change, or undefined if it does. */
export function whyNoEnding(change: unknown, ending: unknown): Refusal | undefined {
  if (typeof change !== 'string') return invalid(undefined, 'change must be the id that announce returned');
  return ENDINGS.has(ending)
    ? undefined
    : invalid(undefined, `ending must be one of ${[...ENDINGS].join(', ')}`);
}

function whyNoChange(change: unknown, kinds: ReadonlyMap<unknown, Fields> = CHANGES): Refusal | undefined {
  if (!isRecord(change)) return invalid(change, 'a change must be an object');
  const { kind, edits } = change;
  const fields = kinds.get(kind);
  if (fields === undefined) return invalid(change, `kind must be one of ${[...kinds.keys()].join(', ')}`);
  const reason = whyNoFields(change, fields) ?? (kind === 'edit' ? whyNoEdits(edits) : undefined);
  return reason === undefined ? undefined : invalid(change, reason);
}

function whyNoEdits(edits: unknown): string | undefined {
  for (const edit of Array.isArray(edits) ? edits : []) {
    if (!isRecord(edit)) return 'an edit must be an object';
    if (typeof edit['oldString'] !== 'string' || typeof edit['newString'] !== 'string')
      return 'oldString and newString of an edit must be strings';
    const reason = whyNoFields(edit, EDIT);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function invalid(change: unknown, reason: string): Refusal {
  const { kind, path, source } = isRecord(change) ? change : {};
  const given = path ?? source;
  return {
    code: 'INVALID_ARGUMENT',
    action: (typeof kind === 'string' && Object.hasOwn(ACTIONS, kind) ? ACTIONS[kind] : undefined) ?? 'edit',
    path: typeof given === 'string' ? given : '',
    next: 'fix_argument',
    detail: { reason },
  };
}
