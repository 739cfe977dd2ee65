import { isRecord } from '../model/record.ts';
import type { Refusal } from '../model/verdict.ts';
import { ANYTHING, CONTENT, type Fields, FLAG, fieldsOf, LINES, TEXT, whyNoFields } from './check-fields.ts';

/**
 * Why this tells of nothing that could be noted; undefined for an event that does. A program without types may hand over
 * anything. Paths are checked where they are resolved.
 */
export function whyNoEvent(event: unknown): Refusal | undefined {
  const reason = isRecord(event) ? whyInvalid(event) : 'an event must be an object';
  if (reason === undefined) return undefined;
  const path = isRecord(event) && typeof event['path'] === 'string' ? event['path'] : '';
  return { code: 'INVALID_ARGUMENT', action: 'status', path, next: 'fix_argument', detail: { reason } };
}

const AT_A_PATH = { kind: ANYTHING, path: ANYTHING };
const EVENTS: Readonly<Record<string, Fields>> = {
  read: fieldsOf({
    ...AT_A_PATH,
    content: TEXT,
    ranges: LINES,
    redacted: FLAG,
    clamped: FLAG,
  }),
  write: fieldsOf({ ...AT_A_PATH, content: CONTENT, change: TEXT }),
  delete: fieldsOf({ ...AT_A_PATH, change: TEXT }),
  move: fieldsOf({ kind: ANYTHING, source: ANYTHING, destination: ANYTHING, change: TEXT }),
  command: fieldsOf({ kind: ANYTHING, command: ANYTHING }),
};

function whyInvalid(event: Readonly<Record<string, unknown>>): string | undefined {
  const { kind } = event;
  const fields = typeof kind === 'string' && Object.hasOwn(EVENTS, kind) ? EVENTS[kind] : undefined;
  if (fields === undefined) return `kind must be one of ${Object.keys(EVENTS).join(', ')}`;
  return whyNoFields(event, fields);
}
