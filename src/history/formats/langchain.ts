import { type JsonRecord, objectIn, objectsIn, stringIn, textOf } from '../../model/record.ts';
import type { Fold } from '../fold.ts';
import type { Format, FormatClaim } from '../format.ts';
import { messageFormat, type NamedMessages } from './message-format.ts';

const REMOVE_ALL = '__remove_all__';
const TYPES: ReadonlyMap<string, string> = new Map([
  ['HumanMessage', 'human'],
  ['AIMessage', 'ai'],
  ['AIMessageChunk', 'ai'],
  ['ToolMessage', 'tool'],
  ['SystemMessage', 'system'],
  ['RemoveMessage', 'remove'],
]);

/**
 * Reads messages of LangChain and LangGraph in any of their three JSON forms. A record is one
 * message, or a graph state with a list of messages.
 */
export const LANGCHAIN: Format = messageFormat({
  name: 'langchain',
  listOf,
  claim: claimMessage,
  read: readMessage,
});

function claimMessage(record: JsonRecord): FormatClaim {
  return messageOf(record) === undefined ? 'no' : 'sure';
}

interface Message {
  readonly type: string;
  readonly fields: JsonRecord;
}

/**
 * The message in a record, or undefined. The three forms are `{lc, id: [… , 'AIMessage'], kwargs}`,
 * `{type: 'ai', data}` and `{type: 'ai', content, …}`.
 */
function messageOf(record: JsonRecord): Message | undefined {
  const kwargs = record['lc'] === undefined ? undefined : objectIn(record, 'kwargs');
  if (kwargs !== undefined) {
    const name = Array.isArray(record['id']) ? record['id'].at(-1) : undefined;
    const type = typeof name === 'string' ? TYPES.get(name) : undefined;
    return type === undefined ? undefined : { type, fields: kwargs };
  }
  const type = stringIn(record, 'type') ?? '';
  if (![...TYPES.values()].includes(type)) return undefined;
  // A record that removes a message has the message's id and no content.
  const field = type === 'remove' ? 'id' : 'content';
  const data = objectIn(record, 'data');
  if (data !== undefined && field in data) return { type, fields: data };
  return field in record && !('role' in record) ? { type, fields: record } : undefined;
}

function listOf(record: JsonRecord): readonly JsonRecord[] | undefined {
  const values = objectIn(record, 'values') ?? objectIn(record, 'channel_values') ?? record;
  return Array.isArray(values['messages']) ? objectsIn(values, 'messages') : undefined;
}

function readMessage(fold: Fold, messages: NamedMessages, record: JsonRecord): void {
  const message = messageOf(record);
  if (message === undefined) return;
  fold.place += 1;
  const { type, fields } = message;
  const id = stringIn(fields, 'id');
  if (type === 'remove') {
    if (id === REMOVE_ALL) messages.clear();
    else if (id !== undefined) fold.forgetMessage(id);
    return;
  }
  messages.begin(id);
  if (objectIn(fields, 'additional_kwargs')?.['lc_source'] === 'summarization') fold.compact();
  if (type === 'ai') for (const call of objectsIn(fields, 'tool_calls')) readCall(fold, call, id);
  if (type === 'tool') readResult(fold, fields, id);
}

function readCall(fold: Fold, call: JsonRecord, message: string | undefined): void {
  const id = stringIn(call, 'id');
  const name = stringIn(call, 'name');
  if (id !== undefined && name !== undefined) fold.call({ id, name, args: call['args'], message });
}

function readResult(fold: Fold, fields: JsonRecord, message: string | undefined): void {
  const id = stringIn(fields, 'tool_call_id');
  if (id === undefined) return;
  const ok = (fields['status'] ?? 'success') === 'success';
  fold.result({ id, ok, flagged: true, text: textOf(fields['content']), message });
}
