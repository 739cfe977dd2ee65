import {
  isRecord,
  type JsonRecord,
  objectIn,
  objectsIn,
  stringIn,
  textOf,
  timeIn,
} from '../../model/record.ts';
import type { Fold } from '../fold.ts';
import type { Format, FormatClaim } from '../format.ts';
import { outcomeIn, type RecordedResult } from '../tool-result.ts';
import { messageFormat, type NamedMessages } from './message-format.ts';

const PARTS = new Set(['tool-call', 'tool-result', 'tool-error', 'tool-invocation', 'dynamic-tool']);

/**
 * Messages of the Vercel AI SDK: model messages or UI messages, single or as a list. A list
 * replaces everything before it, because the format does not record removals.
 */
export const AI_SDK: Format = messageFormat({
  name: 'ai-sdk',
  listOf,
  claim: claimMessage,
  read: readMessage,
});

function claimMessage(message: JsonRecord): FormatClaim {
  if (typeof message['role'] !== 'string') return 'no';
  const parts = partsOf(message);
  if (parts.some(isToolPart)) return 'sure';
  if (Array.isArray(message['parts'])) return 'sure';
  return typeof message['content'] === 'string' || parts.length > 0 ? 'maybe' : 'no';
}

function isToolPart(part: JsonRecord): boolean {
  const type = stringIn(part, 'type') ?? '';
  return PARTS.has(type) || (type.startsWith('tool-') && typeof part['toolCallId'] === 'string');
}

function listOf(record: JsonRecord): readonly JsonRecord[] | undefined {
  return Array.isArray(record['messages']) && !('role' in record) ? objectsIn(record, 'messages') : undefined;
}

function partsOf(message: JsonRecord): readonly JsonRecord[] {
  const content = objectIn(message, 'content');
  const parts = message['parts'] ?? content?.['parts'] ?? message['content'];
  return Array.isArray(parts) ? parts.filter(isRecord) : [];
}

/**
 * Reads one message. It replaces an earlier one with the same id, because the UI saves a message
 * repeatedly while it grows.
 */
function readMessage(fold: Fold, messages: NamedMessages, message: JsonRecord): void {
  fold.place += 1;
  const name = stringIn(message, 'id');
  messages.begin(name);
  const place = { atMs: timeIn(message, 'createdAt'), ...(name === undefined ? {} : { message: name }) };
  for (const part of partsOf(message)) readPart(fold, part, place);
}

function readPart(fold: Fold, part: JsonRecord, place: Place): void {
  const invocation = part['type'] === 'tool-invocation' ? objectIn(part, 'toolInvocation') : undefined;
  const tool = invocation ?? part;
  const id = stringIn(tool, 'toolCallId');
  if (id === undefined || !isToolPart(part)) return;
  const type = stringIn(part, 'type') ?? '';
  const called = type !== 'tool-result' && type !== 'tool-error';
  const name = stringIn(tool, 'toolName') ?? type.replace(/^tool-/, '');
  if (called) fold.call({ id, name, args: tool['input'] ?? tool['args'], ...place });
  const result = type === 'tool-call' ? undefined : resultOf(tool, type, id);
  if (result !== undefined) fold.result({ ...result, ...place });
}

interface Place {
  readonly atMs: number | undefined;
  readonly message?: string;
}

/**
 * The tool result in a part of a message; undefined if `state` says that the result is not complete
 * yet.
 */
function resultOf(tool: JsonRecord, type: string, id: string): RecordedResult | undefined {
  const failed = { id, ok: false, flagged: true };
  if (type === 'tool-error') return failed;
  if (type === 'tool-result') return modelResult(tool, id);
  const state = stringIn(tool, 'state');
  if (state === 'output-error' || state === 'output-denied' || tool['isError'] === true) return failed;
  if (state !== 'output-available' && state !== 'result') return undefined;
  return shown(id, tool['output'] ?? tool['result']);
}

/**
 * The result in a `tool-result` part. Version 5 of the SDK and later have `output: {type, value}`;
 * earlier versions have `result` and `isError`.
 */
function modelResult(part: JsonRecord, id: string): RecordedResult {
  const output = objectIn(part, 'output');
  if (output === undefined)
    return part['isError'] === true ? { id, ok: false, flagged: true } : shown(id, part['result']);
  const type = stringIn(output, 'type') ?? '';
  if (type.startsWith('error') || type === 'execution-denied') return { id, ok: false, flagged: true };
  return shown(id, output['value']);
}

/**
 * The result of a call from the value that its tool returned: a text, content blocks, or an object
 * that contains either.
 */
function shown(id: string, value: unknown): RecordedResult {
  if (!isRecord(value)) return { id, ok: true, flagged: true, text: textOf(value) };
  const { refused, ...outcome } = outcomeIn(value);
  const ok =
    refused !== true && value['isError'] !== true && value['ok'] !== false && value['success'] !== false;
  const text = textOf(value['content']) ?? textOf(value);
  return { id, ok, flagged: true, text, ...outcome };
}
