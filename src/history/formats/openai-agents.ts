import { isRecord, type JsonRecord, objectIn, objectsIn, stringIn } from '../../model/record.ts';
import type { Fold } from '../fold.ts';
import { type Format, type FormatClaim, type Reader, strongest } from '../format.ts';
import { textOf, timeIn } from '../json-value.ts';
import { ITEM_TYPES, readItem } from './openai-items.ts';

/** Items of the Responses API and the Agents SDK, and messages of Chat Completions, one by one or as whole lists. */
export const OPENAI_AGENTS: Format = {
  name: 'openai-agents',
  claim(record) {
    const list = listOf(record);
    return list === undefined ? claimItem(record) : strongest(list.map(claimItem));
  },
  open: (fold) => new ItemsReader(fold),
};

function claimItem(item: JsonRecord): FormatClaim {
  const type = stringIn(item, 'type') ?? '';
  if (type !== 'compaction' && ITEM_TYPES.has(type)) return 'sure';
  if (chatCalls(item).length > 0 || typeof item['tool_call_id'] === 'string') return roleClaim(item);
  if (type === 'reasoning') return 'maybe';
  const parts = Array.isArray(item['content']) ? item['content'].filter(isRecord) : [];
  if (parts.some((part) => part['type'] === 'input_text' || part['type'] === 'output_text')) return 'sure';
  return typeof item['role'] === 'string' && typeof item['content'] === 'string' ? 'maybe' : 'no';
}

function roleClaim(item: JsonRecord): FormatClaim {
  return item['role'] === 'assistant' || item['role'] === 'tool' ? 'sure' : 'no';
}

/** `{id, type: 'function', function: {name, arguments}}` */
function chatCalls(message: JsonRecord): readonly JsonRecord[] {
  return objectsIn(message, 'tool_calls').filter((call) => objectIn(call, 'function') !== undefined);
}

/** The list in a saved run, request or response. */
function listOf(record: JsonRecord): readonly JsonRecord[] | undefined {
  for (const key of ['history', 'items', 'input', 'messages', 'output']) {
    if (Array.isArray(record[key]) && !('type' in record)) return objectsIn(record, key);
  }
  return undefined;
}

class ItemsReader implements Reader {
  readonly #fold: Fold;

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  read(record: JsonRecord): void {
    const list = listOf(record);
    if (list === undefined) {
      this.#readItem(record);
      return;
    }
    // A response contains only new items; every other list is the whole conversation.
    if (!Array.isArray(record['output'])) this.#fold.reset();
    for (const item of list) this.#readItem(item);
  }

  state(): unknown {
    return null;
  }

  restore(): void {}

  #readItem(item: JsonRecord): void {
    this.#fold.place += 1;
    const place = { cwd: stringIn(item, 'cwd'), atMs: timeIn(item, 'timestamp') };
    for (const call of chatCalls(item)) this.#chatCall(call, place.atMs);
    const answered = item['role'] === 'tool' ? stringIn(item, 'tool_call_id') : undefined;
    // Chat messages also have no flag for a failed tool.
    if (answered !== undefined)
      this.#fold.result({
        id: answered,
        ok: true,
        flagged: false,
        text: textOf(item['content']),
        atMs: place.atMs,
      });
    readItem(this.#fold, item, place);
  }

  #chatCall(call: JsonRecord, atMs: number | undefined): void {
    const id = stringIn(call, 'id');
    const made = objectIn(call, 'function') ?? {};
    const name = stringIn(made, 'name');
    if (id !== undefined && name !== undefined) this.#fold.call({ id, name, args: made['arguments'], atMs });
  }
}
