import { isRecord, type JsonRecord, objectIn, stringIn, textOf, timeIn } from '../../model/record.ts';
import { idKey } from '../../wire/rpc.ts';
import type { Fold } from '../fold.ts';
import type { Format, Reader } from '../format.ts';
import { outcomeIn } from '../tool-result.ts';

/**
 * Messages between an MCP client and a file server, one per line, either bare or in the field `message` of a log
 * record.
 */
export const MCP_LOG: Format = {
  name: 'mcp-log',
  claim: (record) => (messageIn(record)['jsonrpc'] === '2.0' ? 'sure' : 'no'),
  open: (fold) => new McpReader(fold),
};

function messageIn(record: JsonRecord): JsonRecord {
  return objectIn(record, 'message') ?? record;
}

/** The requests that a server sends to its client. */
const TO_CLIENT = new Set(['roots/list', 'sampling/createMessage', 'elicitation/create', 'ping']);

/**
 * Reads the tool calls and results among the messages. Relative paths start at the server's first
 * root.
 */
class McpReader implements Reader {
  readonly #fold: Fold;
  /**
   * Ids of the server's requests that wait for an answer. Client and server number their requests
   * independently, so a tool call may have the same id.
   */
  #asked = new Set<string>();

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  read(record: JsonRecord): void {
    this.#fold.place += 1;
    const message = messageIn(record);
    const atMs = timeIn(record, 'atMs') ?? timeIn(record, 'time') ?? timeIn(record, 'timestamp');
    const params = objectIn(message, 'params') ?? {};
    if (message['method'] === 'tools/call') {
      this.#call(message, params, atMs);
      return;
    }
    if (message['method'] === 'notifications/cancelled') {
      this.#failed(idKey(params['requestId']));
      return;
    }
    const id = idKey(message['id']);
    if ('method' in message) {
      if (id !== undefined && TO_CLIENT.has(stringIn(message, 'method') ?? '')) this.#asked.add(id);
      return;
    }
    const result = objectIn(message, 'result');
    if (id !== undefined && !isToolResult(result) && this.#asked.delete(id)) return;
    if (result === undefined) {
      this.#failed(id);
      return;
    }
    if (id !== undefined) this.#result(result, id, atMs);
  }

  state(): unknown {
    return { asked: [...this.#asked] };
  }

  restore(state: unknown): void {
    // The cast is safe: Lookfirst wrote this snapshot itself. Earlier versions stored null.
    if (isRecord(state)) this.#asked = new Set(state['asked'] as string[]);
  }

  #call(message: JsonRecord, params: JsonRecord, atMs: number | undefined): void {
    const id = idKey(message['id']);
    const name = stringIn(params, 'name');
    if (id === undefined || name === undefined) return;
    const { cwd, root } = this.#fold.options;
    this.#fold.call({ id, name, args: params['arguments'], cwd: root ?? cwd, atMs });
  }

  #result(result: JsonRecord, id: string, atMs: number | undefined): void {
    const { refused, ...outcome } = outcomeIn(result);
    const ok = result['isError'] !== true && refused !== true;
    this.#fold.result({ id, ok, flagged: true, text: textOf(result['content']), ...outcome, atMs });
  }

  #failed(id: string | undefined): void {
    if (id !== undefined) this.#fold.result({ id, ok: false, flagged: true });
  }
}

/**
 * True for the result of a tool call, which has a list of contents and no role. A model's answer to
 * `sampling/createMessage` may have contents too, but it has a role.
 */
function isToolResult(result: JsonRecord | undefined): boolean {
  return result !== undefined && Array.isArray(result['content']) && !('role' in result);
}
