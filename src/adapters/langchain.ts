import { ToolMessage } from '@langchain/core/messages';
import { type StructuredToolInterface, tool as structuredTool } from '@langchain/core/tools';
import type { AgentMiddleware } from 'langchain';
import { isRecord, stringIn } from '../model/record.ts';
import type { Session } from '../model/session.ts';
import { type ToolsetAnswer, type ToolsetOptions, type ToolsetTool, toolset } from '../tools/toolset.ts';
import { answered } from './answered.ts';
import { ContextWatch, type ShownResult } from './context-watch.ts';

/** The options that LangChain passes to a tool besides its arguments. */
interface ToolConfig {
  readonly signal?: AbortSignal;
  readonly toolCallId?: string;
  readonly toolCall?: { readonly id?: string };
}

type Content = string | ({ type: 'text'; text: string } | { type: string; mimeType: string; data: string })[];

/**
 * The tools of a session, for `createAgent`, `ToolNode` and `bindTools`. A refusal or a fault is a
 * ToolMessage with `status: "error"`; `artifact` holds the outcome for programs.
 */
export function lookfirstTools(
  session: Session | (() => Session),
  options: ToolsetOptions = {},
): StructuredToolInterface[] {
  return toolset(session, options).tools.map((tool) =>
    structuredTool((args: unknown, config: ToolConfig) => called(tool, args, config), {
      name: tool.name,
      description: tool.description,
      schema: tool.inputSchema,
    }),
  );
}

async function called(tool: ToolsetTool, args: unknown, config: ToolConfig): Promise<ToolMessage | Content> {
  const answer = await answered(tool, args, { signal: config.signal });
  const content = contentOf(answer);
  const call = config.toolCall?.id ?? config.toolCallId;
  // A program that calls the tool directly, without a tool call, gets the plain content.
  if (call === undefined) return content;
  const status = answer.ok ? 'success' : 'error';
  return new ToolMessage({ content, tool_call_id: call, name: tool.name, status, artifact: answer.outcome });
}

function contentOf({ text, media = [] }: ToolsetAnswer): Content {
  if (media.length === 0) return text;
  const files = media.map(({ mimeType, base64: data }) => ({ type: blockType(mimeType), mimeType, data }));
  return [{ type: 'text', text }, ...files];
}

function blockType(mimeType: string): string {
  const [kind = ''] = mimeType.split('/');
  return ['image', 'audio', 'video'].includes(kind) ? kind : 'file';
}

/**
 * A middleware for `createAgent` with the tools of a session. Put it last, so that it sees the
 * messages the model really gets. After tool messages were removed or shortened
 * (`summarizationMiddleware`, `contextEditingMiddleware`), only the contents of the remaining
 * messages count as seen.
 */
export function lookfirstMiddleware(
  session: Session | (() => Session),
  options: ToolsetOptions = {},
): AgentMiddleware {
  const watch = new ContextWatch(session, 'langchain');
  return {
    // The mark that `createMiddleware` adds. That function does nothing else.
    [Symbol.for('AgentMiddleware')]: true,
    name: 'lookfirst',
    tools: lookfirstTools(session, options),
    wrapModelCall: async (request, handler) => {
      const { messages } = request;
      await watch.look(messages, resultsIn(messages));
      return handler(request);
    },
  };
}

function* resultsIn(messages: readonly unknown[]): Generator<ShownResult> {
  for (const message of messages) {
    const call = isRecord(message) ? stringIn(message, 'tool_call_id') : undefined;
    if (call !== undefined && isRecord(message)) yield [call, message['content']];
  }
}
