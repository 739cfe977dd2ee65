import { isRecord, type JsonRecord, objectIn, objectsIn, stringIn } from '../model/record.ts';
import type { Session } from '../model/session.ts';
import { type ToolsetAnswer, type ToolsetOptions, type ToolsetTool, toolset } from '../tools/toolset.ts';
import { answered } from './answered.ts';
import { ContextWatch, type ShownResult } from './context-watch.ts';

/** A block of a tool result. */
export type AnthropicBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; source: { type: 'base64'; media_type: ImageType; data: string } }
  | { type: 'document'; source: { type: 'base64'; media_type: 'application/pdf'; data: string } };

type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';
const IMAGE_TYPES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

/** The functions of a `BetaRunnableTool`. A refusal or a fault is thrown as a `ToolError`: `is_error: true` for the model. */
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
export function lookfirstTools(
  session: Session | (() => Session),
  options: ToolsetOptions = {},
): AnthropicTool[] {
  return toolset(session, options).tools.map((tool) => ({
    type: 'custom',
    name: tool.name,
    description: tool.description,
    input_schema: { ...tool.inputSchema },
    ...running(tool),
  }));
}

function running(tool: ToolsetTool): AnthropicRun {
  return {
    // The tool checks its arguments itself and says what is wrong with them.
    parse: (content) => content as JsonRecord,
    run: (args, context) => shown(answered(tool, args, { signal: context?.signal ?? undefined })),
  };
}

async function shown(answering: Promise<ToolsetAnswer>): Promise<string | AnthropicBlock[]> {
  const { ok, text, media = [] } = await answering;
  if (!ok) {
    // Loaded by the program already: it is the SDK that runs this tool.
    const { ToolError } = await import('@anthropic-ai/sdk/lib/tools/ToolError');
    throw new ToolError(text);
  }
  const blocks = media.flatMap(blockOf);
  return blocks.length === 0 ? text : [{ type: 'text', text }, ...blocks];
}

/** Other media cannot be sent; the text describes them. */
function blockOf({ mimeType, base64: data }: { mimeType: string; base64: string }): AnthropicBlock[] {
  if (isImage(mimeType)) return [{ type: 'image', source: { type: 'base64', media_type: mimeType, data } }];
  if (mimeType !== 'application/pdf') return [];
  return [{ type: 'document', source: { type: 'base64', media_type: mimeType, data } }];
}

function isImage(mimeType: string): mimeType is ImageType {
  return IMAGE_TYPES.includes(mimeType);
}

/** The part of a request that is looked at: `runner.params`. */
export interface AnthropicRequest {
  readonly messages: readonly unknown[];
  readonly context_management?: unknown;
}

/**
 * Lets a session forget what the model no longer gets, because tool results were cleared, summarised or left out. Call it with
 * each message before its tools run: `for await (const message of runner) await seen(message, runner.params)`.
 */
export function seenFrom(
  session: Session | (() => Session),
): (message: object, request: AnthropicRequest) => Promise<void> {
  const watch = new ContextWatch(session, 'anthropic-messages');
  return async (message, request) => {
    const cleared = clearedUses(message);
    const messages = withoutCleared(afterCompaction(request.messages), cleared, excludedTools(request));
    await watch.look(messages, resultsIn(messages));
  };
}

/** What comes before the last summary no longer reaches the model. */
function afterCompaction(messages: readonly unknown[]): readonly unknown[] {
  const isSummary = (message: unknown): boolean =>
    isRecord(message) && objectsIn(message, 'content').some(({ type }) => type === 'compaction');
  const last = messages.findLastIndex(isSummary);
  return last < 0 ? messages : messages.slice(last);
}

/** How many tool uses the server has cleared, the oldest first. */
function clearedUses(message: object): number {
  const management = isRecord(message) ? objectIn(message, 'context_management') : undefined;
  const edits = management === undefined ? [] : objectsIn(management, 'applied_edits');
  const counts = edits.map(({ cleared_tool_uses: count }) => (typeof count === 'number' ? count : 0));
  return Math.max(0, ...counts);
}

/** Tools whose results the server never clears. */
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

function* resultsIn(messages: readonly unknown[]): Generator<ShownResult> {
  for (const message of messages) {
    if (!isRecord(message)) continue;
    for (const block of objectsIn(message, 'content')) {
      const call = stringIn(block, 'tool_use_id');
      if (call !== undefined && block['type'] === 'tool_result') yield [call, block['content']];
    }
  }
}
