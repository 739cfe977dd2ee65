import { type JsonRecord, objectIn, stringIn, textOf, timeIn } from '../../model/record.ts';
import { idKey } from '../../wire/rpc.ts';
import type { Fold } from '../fold.ts';
import type { Format } from '../format.ts';
import { outcomeIn } from '../tool-result.ts';

/**
 * Messages between an MCP client and a file server, one per line, either bare or in the field `message` of a log
 * record.
 */
export const MCP_LOG: Format = {
  name: 'mcp-log',
  claim: (record) => (messageIn(record)['jsonrpc'] === '2.0' ? 'sure' : 'no'),
  open: (fold) => {
    const asked: Asked = new Set();
    return (record) => read(record, fold, asked);
  },
};

function messageIn(record: JsonRecord): JsonRecord {
  return objectIn(record, 'message') ?? record;
}

/** The requests that a server sends to its client. */
const TO_CLIENT = new Set(['roots/list', 'sampling/createMessage', 'elicitation/create', 'ping']);

/**
 * Ids of the server's requests that wait for an answer. Client and server number their requests
 * independently, so a tool call may have the same id.
 */
type Asked = Set<string>;

/**
 * Reads the tool calls and results among the messages. Relative paths start at the server's first
 * root.
 */
function read(record: JsonRecord, fold: Fold, asked: Asked): void {
  fold.place += 1;
  const message = messageIn(record);
  const params = objectIn(message, 'params') ?? {};
  const cancelled = message['method'] === 'notifications/cancelled';
  const id = idKey(cancelled ? params['requestId'] : message['id']);
  if (id === undefined) return;
  const atMs = timeIn(record, 'atMs') ?? timeIn(record, 'time') ?? timeIn(record, 'timestamp');
  const name = stringIn(params, 'name');
  const { cwd, root } = fold.options;
  if (cancelled) fold.result({ id, ok: false, flagged: true });
  else if (!('method' in message)) readResult(message, fold, { id, atMs, asked });
  else if (TO_CLIENT.has(stringIn(message, 'method') ?? '')) asked.add(id);
  else if (message['method'] === 'tools/call' && name !== undefined)
    fold.call({ id, name, args: params['arguments'], cwd: root ?? cwd, atMs });
}

function readResult(
  message: JsonRecord,
  fold: Fold,
  { id, atMs, asked }: { readonly id: string; readonly atMs: number | undefined; readonly asked: Asked },
): void {
  const result = objectIn(message, 'result');
  if (!isToolResult(result) && asked.delete(id)) return;
  const { refused, ...outcome } = outcomeIn(result ?? {});
  const ok = result !== undefined && result['isError'] !== true && refused !== true;
  fold.result({ id, ok, flagged: true, text: textOf(result?.['content']), ...outcome, atMs });
}

/**
 * True for the result of a tool call, which has a list of contents and no role. A model's answer to
 * `sampling/createMessage` may have contents too, but it has a role.
 */
function isToolResult(result: JsonRecord | undefined): boolean {
  return result !== undefined && Array.isArray(result['content']) && !('role' in result);
}
