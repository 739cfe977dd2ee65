import { fieldOf, isRecord, type JsonRecord, objectIn, objectsIn } from '../model/record.ts';
import type { ToolNames } from '../report/tool-names.ts';
import {
  adapterToolset,
  answered,
  type SessionSource,
  type ToolsetAnswer,
  type ToolsetOptions,
  type ToolsetTool,
} from '../tools/toolset.ts';
import { ContextWatch, resultsIn } from './context-watch.ts';

/** A block of a tool result. */
export type AnthropicBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; source: { type: 'base64'; media_type: ImageType; data: string } }
  | { type: 'document'; source: { type: 'base64'; media_type: 'application/pdf'; data: string } };

type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';
const IMAGE_TYPES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

/**
 * The functions of a `BetaRunnableTool`. A refusal or a fault is thrown as a `ToolError`, which the
 * model gets as `is_error: true`.
 */
export interface AnthropicRun {
  run(
    args: JsonRecord,
    context?: { readonly signal?: AbortSignal | null | undefined },
  ): Promise<string | AnthropicBlock[]>;
  parse(content: unknown): JsonRecord;
}

/** A tool for `client.beta.messages.toolRunner`. */
export interface AnthropicTool extends AnthropicRun {
  type: 'custom';
  name: string;
  description: string;
  input_schema: { type: 'object'; [field: string]: unknown };
}

/** The tools of a session, for a tool runner. */
export function lookfirstTools(session: SessionSource, options: ToolsetOptions = {}): AnthropicTool[] {
  return adapterToolset(session, options).tools.map((tool) => ({
    type: 'custom',
    name: tool.name,
    description: tool.description,
    input_schema: { ...tool.inputSchema },
    ...running(tool),
  }));
}

/**
 * A version of the text editor tool that Claude is trained on. It changes only files that the
 * session has read.
 */
export interface AnthropicTextEditor extends AnthropicRun {
  type: 'text_editor_20250728';
  name: 'str_replace_based_edit_tool';
}

/** Anthropic's text editor tool for a session. */
export function lookfirstTextEditor(
  session: SessionSource,
  options: Pick<ToolsetOptions, 'virtualRoot'> = {},
): AnthropicTextEditor {
  const name = 'str_replace_based_edit_tool';
  const { tools } = adapterToolset(session, { ...options, dialect: 'text-editor' });
  return { type: 'text_editor_20250728', name, ...running(toolNamed(tools, name)) };
}

/** The tools of `betaAgentToolset20260401` under the same names; `bash` only with `commands: true`. */
export function lookfirstAgentToolset(
  session: SessionSource,
  options: Omit<ToolsetOptions, 'dialect'> = {},
): AnthropicTool[] {
  return lookfirstTools(session, { ...options, dialect: 'anthropic' });
}

type MemoryCommand = 'view' | 'create' | 'str_replace' | 'insert' | 'delete' | 'rename';

/** Handlers for `betaMemoryTool`. */
export type AnthropicMemory = {
  [Command in MemoryCommand]: (command: object) => Promise<string | AnthropicBlock[]>;
};

/** The folder in which the memory tool expects its files. */
const MEMORIES = '/memories';

/** The commands of the memory tool, for messages that suggest the next call. */
const MEMORY_TOOLS: ToolNames = {
  read: 'view',
  write: 'create',
  edit: 'str_replace',
  insert: 'insert',
  delete: 'delete',
  list: 'view',
  command: { tool: 'memory', argument: 'command' },
  arguments: { path: 'path', range: 'view_range', oldText: 'old_str' },
};

/**
 * Handlers for the memory tool. The session's root is the folder that the model sees as
 * `/memories`. `signal`: the tool runner's signal, which the SDK does not pass to these handlers.
 */
export function lookfirstMemory(
  session: SessionSource,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): AnthropicMemory {
  const shared = { virtualRoot: MEMORIES } as const;
  const editing = adapterToolset(session, { ...shared, dialect: 'text-editor' }, MEMORY_TOOLS);
  const other = adapterToolset(session, { ...shared, only: ['delete_path', 'move_path'] }, MEMORY_TOOLS);
  const editor = toolNamed(editing.tools, 'str_replace_based_edit_tool');
  const edit = (command: object) => shown(editor, command, signal);
  return {
    view: edit,
    create: edit,
    str_replace: edit,
    insert: edit,
    delete: (command) => {
      const path = fieldOf(command, 'path');
      return shown(toolNamed(other.tools, 'delete_path'), { path, recursive: true }, signal);
    },
    rename: (command) => {
      const args = { source: fieldOf(command, 'old_path'), destination: fieldOf(command, 'new_path') };
      return shown(toolNamed(other.tools, 'move_path'), args, signal);
    },
  };
}

function toolNamed(tools: readonly ToolsetTool[], name: string): ToolsetTool {
  const found = tools.find((tool) => tool.name === name);
  if (found === undefined) throw new TypeError(`the dialect has no ${name}`);
  return found;
}

function running(tool: ToolsetTool): AnthropicRun {
  return {
    // The tool validates its arguments itself and explains errors.
    parse: (content) => content as JsonRecord,
    run: (args, context) => shown(tool, args, context?.signal ?? undefined),
  };
}

async function shown(
  tool: ToolsetTool,
  args: unknown,
  signal: AbortSignal | undefined,
): Promise<string | AnthropicBlock[]> {
  return contentOf(await answered(tool, args, { signal }));
}

async function contentOf({ ok, text, media }: ToolsetAnswer): Promise<string | AnthropicBlock[]> {
  if (!ok) return failed(text);
  if (media === undefined) return text;
  const blocks = media.flatMap(blockOf);
  return blocks.length === 0 ? text : [{ type: 'text', text }, ...blocks];
}

async function failed(text: string): Promise<never> {
  // This import costs nothing: the SDK has loaded the module already, because it is running this
  // tool.
  const { ToolError } = await import('@anthropic-ai/sdk/lib/tools/ToolError');
  throw new ToolError(text);
}

/**
 * Converts an image or a PDF to a block of the result. Returns no block for other media: only the
 * text of the result describes them.
 */
function blockOf({ mimeType, base64: data }: { mimeType: string; base64: string }): AnthropicBlock[] {
  if (isImage(mimeType)) return [{ type: 'image', source: { type: 'base64', media_type: mimeType, data } }];
  if (mimeType !== 'application/pdf') return [];
  return [{ type: 'document', source: { type: 'base64', media_type: mimeType, data } }];
}

function isImage(mimeType: string): mimeType is ImageType {
  return IMAGE_TYPES.includes(mimeType);
}

/** The fields of a request (`runner.params`) that `seenFrom` reads. */
export interface AnthropicRequest {
  readonly messages: readonly unknown[];
  readonly context_management?: unknown;
}

/**
 * Returns a function that makes a session forget results the model no longer gets: results that
 * were cleared, summarised or left out. Call the function with each message before the tools of
 * that message run: `for await (const message of runner) await seen(message, runner.params)`.
 */
export function seenFrom(
  session: SessionSource,
): (message: object, request: AnthropicRequest) => Promise<void> {
  const watch = new ContextWatch(session, 'anthropic-messages');
  return async (message, request) => {
    const cleared = clearedUses(message);
    const messages = withoutCleared(afterCompaction(request.messages), cleared, excludedTools(request));
    await watch.look(messages, resultsIn(messages));
  };
}

/** Drops the messages before the last summary, because they no longer reach the model. */
function afterCompaction(messages: readonly unknown[]): readonly unknown[] {
  const isSummary = (message: unknown): boolean =>
    isRecord(message) && objectsIn(message, 'content').some(({ type }) => type === 'compaction');
  const last = messages.findLastIndex(isSummary);
  return last < 0 ? messages : messages.slice(last);
}

/**
 * The number of tool uses that Anthropic's server has cleared, as the message reports. The server
 * clears the oldest ones first.
 */
function clearedUses(message: object): number {
  const management = isRecord(message) ? objectIn(message, 'context_management') : undefined;
  const edits = management === undefined ? [] : objectsIn(management, 'applied_edits');
  const counts = edits.map(({ cleared_tool_uses: count }) => (typeof count === 'number' ? count : 0));
  return Math.max(0, ...counts);
}

/** The tools whose results Anthropic's server must not clear, according to the request. */
function excludedTools({ context_management: management }: AnthropicRequest): ReadonlySet<unknown> {
  const edits = isRecord(management) ? objectsIn(management, 'edits') : [];
  return new Set(edits.flatMap(({ exclude_tools: names }) => (Array.isArray(names) ? names : [])));
}

function withoutCleared(
  messages: readonly unknown[],
  cleared: number,
  excluded: ReadonlySet<unknown>,
): readonly unknown[] {
  if (cleared === 0) return messages;
  const uses = messages.flatMap((message) =>
    isRecord(message) ? objectsIn(message, 'content').filter(({ type }) => type === 'tool_use') : [],
  );
  const gone = uses.filter(({ name }) => !excluded.has(name)).slice(0, cleared);
  const ids = new Set(gone.map(({ id }) => id));
  return messages.map((message) => {
    if (!isRecord(message) || !Array.isArray(message['content'])) return message;
    const content = message['content'].filter((block) => !isRecord(block) || !ids.has(block['tool_use_id']));
    return { ...message, content };
  });
}
