import { isRecord } from '../model/record.ts';
import type { Refusal } from '../model/verdict.ts';
import { isContent } from './check-intent.ts';

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

function whyInvalid(event: Readonly<Record<string, unknown>>): string | undefined {
  const { kind, content, ranges } = event;
  switch (kind) {
    case 'read':
      if (content !== undefined && typeof content !== 'string') return 'content must be a string';
      return ranges === undefined || isRanges(ranges)
        ? undefined
        : 'ranges must be an array of lines { from, to }, from 1 on';
    case 'write':
      return content === undefined || isContent(content)
        ? undefined
        : 'content must be a string or a Uint8Array';
    case 'delete':
    case 'move':
    case 'command':
      return undefined;
    default:
      return 'kind must be one of read, write, delete, move, command';
  }
}

function isRanges(value: unknown): boolean {
  return Array.isArray(value) && value.every(isRange);
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
