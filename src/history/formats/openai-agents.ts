import { codexOutput, type HostCommandOutput } from '../../dialect/calls/hosts/answers.ts';
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
import { type Format, type FormatClaim, strongest } from '../format.ts';
import { outcomeIn } from '../tool-result.ts';

/**
 * The formats of OpenAI: items of the Responses API and the Agents SDK, and messages of Chat
 * Completions. Each record is one item, one message, or a whole list of either.
 */
export const OPENAI_AGENTS: Format = {
  name: 'openai-agents',
  claim(record) {
    const list = listOf(record);
    return list === undefined ? claimItem(record) : strongest(list.map(claimItem));
  },
  open: (fold) => (record) => read(record, fold),
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

/** The calls in a chat message, each as `{id, type: 'function', function: {name, arguments}}`. */
function chatCalls(message: JsonRecord): readonly JsonRecord[] {
  return objectsIn(message, 'tool_calls').filter((call) => objectIn(call, 'function') !== undefined);
}

/** The list of items or messages in a saved run, request or response. */
function listOf(record: JsonRecord): readonly JsonRecord[] | undefined {
  for (const key of ['history', 'items', 'input', 'messages', 'output']) {
    if (Array.isArray(record[key]) && !('type' in record)) return objectsIn(record, key);
  }
  return undefined;
}

function read(record: JsonRecord, fold: Fold): void {
  const list = listOf(record);
  // A response contains only new items; every other list is the whole conversation.
  if (list !== undefined && !Array.isArray(record['output'])) fold.reset();
  for (const item of list ?? [record]) readItemOrMessage(fold, item);
}

function readItemOrMessage(fold: Fold, item: JsonRecord): void {
  fold.place += 1;
  const place = { cwd: stringIn(item, 'cwd'), atMs: timeIn(item, 'timestamp') };
  const { atMs } = place;
  for (const call of chatCalls(item)) {
    const id = stringIn(call, 'id');
    const made = objectIn(call, 'function') ?? {};
    const name = stringIn(made, 'name');
    if (id !== undefined && name !== undefined) fold.call({ id, name, args: made['arguments'], atMs });
  }
  const answered = item['role'] === 'tool' ? stringIn(item, 'tool_call_id') : undefined;
  // Chat messages have no flag for a failed tool, so the text must show whether the call succeeded.
  if (answered !== undefined)
    fold.result({ id: answered, ok: true, flagged: false, text: textOf(item['content']), atMs });
  readItem(fold, item, place);
}

/** Working directory and time of items. */
interface ItemPlace {
  readonly cwd?: string | undefined;
  readonly atMs?: number | undefined;
}

/** Types of items that are calls and results of file tools, or that clear earlier content. */
const ITEM_TYPES: ReadonlySet<string> = new Set([
  'function_call',
  'function_call_output',
  'function_call_result',
  'custom_tool_call',
  'custom_tool_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'shell_call',
  'shell_call_output',
  'apply_patch_call',
  'apply_patch_call_output',
  'mcp_call',
  'compaction',
]);

/** Reads one item of the Responses API, in its own form or in that of the Agents SDK. */
export function readItem(fold: Fold, item: JsonRecord, place: ItemPlace): void {
  const type = stringIn(item, 'type') ?? '';
  if (!ITEM_TYPES.has(type)) return;
  if (type === 'compaction') {
    fold.compact();
    return;
  }
  const id = stringIn(item, 'call_id') ?? stringIn(item, 'callId') ?? stringIn(item, 'id');
  if (id === undefined) return;
  if (type === 'mcp_call') {
    readRemoteCall(fold, item, { id, place });
    return;
  }
  if (type.endsWith('_call')) readCall(fold, item, { id, place });
  else readResult(fold, item, { id, place });
}

interface Identified {
  readonly id: string;
  readonly place: ItemPlace;
}

function readCall(fold: Fold, item: JsonRecord, { id, place }: Identified): void {
  const type = stringIn(item, 'type');
  if (type === 'apply_patch_call') {
    readPatchCall(fold, item, { id, place });
    return;
  }
  if (type === 'local_shell_call' || type === 'shell_call') {
    const action = objectIn(item, 'action') ?? {};
    // Ignore the commands of a call that has several: they share one output, so it is unknown which
    // command printed which part.
    const commands = action['commands'];
    const command =
      action['command'] ?? (Array.isArray(commands) && commands.length === 1 ? commands[0] : undefined);
    const args = { command, cwd: action['working_directory'] };
    fold.call({ id, name: 'shell', args, ...place });
    return;
  }
  const name = stringIn(item, 'name');
  if (name !== undefined) fold.call({ id, name, args: item['arguments'] ?? item['input'], ...place });
}

/**
 * Reads a patch call as a call of `apply_patch`. The item's diff already has the lines of such a
 * patch, but not the line that names the file.
 */
function readPatchCall(fold: Fold, item: JsonRecord, { id, place }: Identified): void {
  const operation = objectIn(item, 'operation') ?? {};
  const path = stringIn(operation, 'path');
  const verb = operation['type'] === 'create_file' ? 'Add' : 'Update';
  if (path === undefined || operation['type'] === 'delete_file') return;
  const patch = `*** ${verb} File: ${path}\n${stringIn(operation, 'diff') ?? ''}`;
  fold.call({ id, name: 'apply_patch', args: { input: patch }, ...place });
}

/**
 * Reads a result. Most results have no flag for a failed tool; then only the text can prove
 * success.
 */
function readResult(fold: Fold, item: JsonRecord, { id, place }: Identified): void {
  const { atMs } = place;
  const status = stringIn(item, 'status') ?? 'completed';
  if (status !== 'completed') {
    fold.result({ id, ok: false, flagged: true, atMs });
    return;
  }
  if (item['type'] === 'apply_patch_call_output') {
    fold.result({ id, ok: true, flagged: true, atMs });
    return;
  }
  const remote = remoteText(item['output']);
  if (remote !== undefined) {
    fold.result({ id, ok: true, flagged: false, text: remote, atMs });
    return;
  }
  const text = textOf(item['output']);
  const command = shellOutput(item) ?? (text === undefined ? undefined : codexOutput(text));
  const flagged = command !== undefined;
  const { ok = true, ended, stdout: output } = command ?? {};
  fold.result({ id, ok, flagged, ended, text, output, atMs });
}

const WALL_TIME = /^Wall time: [^\n]*\nOutput:\s*$/;

/**
 * The text of an MCP server's result in a record of Codex; undefined for any other output. Codex
 * puts one block before the blocks of such a result: `Wall time: … Output:`.
 */
function remoteText(output: unknown): string | undefined {
  const [first, ...blocks] = Array.isArray(output) ? output : [];
  return isRecord(first) && WALL_TIME.test(stringIn(first, 'text') ?? '') ? textOf(blocks) : undefined;
}

/**
 * The output of a shell call, and whether the call succeeded; undefined for any other item. The
 * item contains `output: [{stdout, stderr, outcome: {type: 'exit', exit_code}}]`.
 */
function shellOutput(item: JsonRecord): HostCommandOutput | undefined {
  if (item['type'] !== 'shell_call_output') return undefined;
  const outputs = objectsIn(item, 'output');
  const [output] = outputs;
  const stdout = output === undefined ? undefined : stringIn(output, 'stdout');
  if (output === undefined || stdout === undefined || outputs.length > 1)
    return { ok: false, ended: false, stdout: '' };
  const outcome = objectIn(output, 'outcome') ?? {};
  const exit = outcome['exit_code'] ?? outcome['exitCode'];
  const ended = exit === 0;
  return { ok: ended && (stringIn(output, 'stderr') ?? '') === '', ended, stdout };
}

/** Reads an item that contains both a call to a remote server and its result. */
function readRemoteCall(fold: Fold, item: JsonRecord, { id, place }: Identified): void {
  const name = stringIn(item, 'name');
  if (name === undefined) return;
  fold.call({ id, name, args: item['arguments'], ...place });
  const ok = (item['error'] ?? null) === null;
  fold.result({ id, ok, flagged: true, text: textOf(item['output']), atMs: place.atMs, ...outcomeIn(item) });
}
