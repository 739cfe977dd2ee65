import {
  integerIn,
  isRecord,
  type JsonRecord,
  objectIn,
  objectsIn,
  stringIn,
  textOf,
  timeIn,
} from '../../model/record.ts';
import type { Fold } from '../fold.ts';
import { type Format, type FormatClaim, strongest } from '../format.ts';
import type { RecordedResult } from '../tool-result.ts';

const BLOCKS = new Set([
  'tool_use',
  'tool_result',
  'mcp_tool_use',
  'mcp_tool_result',
  'thinking',
  'redacted_thinking',
  'compaction',
  'server_tool_use',
]);

/** Messages of the Anthropic API: single messages, whole requests, or responses. */
export const ANTHROPIC_MESSAGES: Format = {
  name: 'anthropic-messages',
  claim(record) {
    if (objectIn(record, 'context_management') !== undefined) return 'sure';
    const messages = messagesOf(record);
    if (messages !== undefined) return strongest(messages.map(claimMessage));
    return claimMessage(record);
  },
  open: (fold) => {
    const state: MessagesState = { cleared: 0 };
    return (record) => read(record, fold, state);
  },
};

function claimMessage(message: JsonRecord): FormatClaim {
  if (message['role'] !== 'user' && message['role'] !== 'assistant') return 'no';
  const blocks = blocksOf(message);
  if (blocks.some((block) => BLOCKS.has(stringIn(block, 'type') ?? ''))) return 'sure';
  if (typeof message['content'] === 'string') return 'maybe';
  return blocks.length > 0 && blocks.every((block) => block['type'] === 'text') ? 'maybe' : 'no';
}

/** The messages of a request body, even if a log record wraps the body. */
function messagesOf(record: JsonRecord): readonly JsonRecord[] | undefined {
  const body = objectIn(record, 'request') ?? record;
  return Array.isArray(body['messages']) ? objectsIn(body, 'messages') : undefined;
}

interface MessagesState {
  /** The number of oldest results that the server has cleared. */
  cleared: number;
}

function read(record: JsonRecord, fold: Fold, state: MessagesState): void {
  const messages = messagesOf(record);
  if (messages !== undefined) {
    // A request contains the whole conversation, so everything missing from it is gone from the
    // context. Exception: a request that begins with results contains only new messages, and the
    // server keeps the rest.
    const [first] = messages;
    if (first === undefined || !blocksOf(first).some(isResult)) {
      fold.reset();
      state.cleared = 0;
    }
    for (const message of messages) readMessage(fold, message);
  } else if ('role' in record) readMessage(fold, record);
  const response = objectIn(record, 'response');
  if (response !== undefined) readMessage(fold, response);
  const management = objectIn(response ?? record, 'context_management') ?? {};
  for (const edit of objectsIn(management, 'applied_edits')) {
    // With every response, the server reports how many of the oldest results it has cleared in
    // total, so only a higher count is new.
    const count = integerIn(edit, 'cleared_tool_uses') ?? 0;
    if (count <= state.cleared) continue;
    state.cleared = count;
    fold.forgetOldest(count);
  }
}

function readMessage(fold: Fold, message: JsonRecord): void {
  fold.place += 1;
  const place = { cwd: stringIn(message, 'cwd'), atMs: timeIn(message, 'timestamp') };
  for (const block of blocksOf(message)) {
    if (isCall(block)) callBlock(fold, block, place);
    else if (isResult(block)) {
      const result = resultOf(block, place);
      if (result !== undefined) fold.result(result);
    }
    // A failed compaction has no content and changes nothing.
    else if (block['type'] === 'compaction' && typeof block['content'] === 'string') fold.compact();
  }
}

/** Working directory, time and message id of a message's blocks. */
export interface BlockPlace {
  readonly cwd?: string | undefined;
  readonly atMs?: number | undefined;
  readonly message?: string | undefined;
}

/** The blocks of a message's content; a plain string has no relevant blocks. */
export function blocksOf(message: JsonRecord): readonly JsonRecord[] {
  const content = message['content'];
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

export function isCall(block: JsonRecord): boolean {
  return block['type'] === 'tool_use' || block['type'] === 'mcp_tool_use';
}

export function isResult(block: JsonRecord): boolean {
  return block['type'] === 'tool_result' || block['type'] === 'mcp_tool_result';
}

export function callBlock(fold: Fold, block: JsonRecord, place: BlockPlace): void {
  const id = stringIn(block, 'id');
  const name = stringIn(block, 'name');
  if (id === undefined || name === undefined) return;
  const { cwd, atMs, message } = place;
  fold.call({ id, name, args: block['input'], cwd, atMs, message });
}

/**
 * Reads a result block. The call succeeded if `is_error` is absent or false. Undefined if the block
 * names no call.
 */
export function resultOf(block: JsonRecord, place: BlockPlace): RecordedResult | undefined {
  const id = stringIn(block, 'tool_use_id');
  if (id === undefined) return undefined;
  const { atMs, message } = place;
  return { id, ok: block['is_error'] !== true, flagged: true, text: textOf(block['content']), atMs, message };
}
