import type { McpSdkServerConfigWithInstance, SdkMcpToolDefinition } from '@anthropic-ai/claude-agent-sdk';
import { fromJSONSchema, type ZodObject } from 'zod';
import { errorText, Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord, objectIn, stringIn } from '../model/record.ts';
import { OUTCOME_KEY } from '../report/json.ts';
import { LOOKFIRST_TOOLS, type ToolNames } from '../report/tool-names.ts';
import { CLAUDE_META } from '../tools/answer-room.ts';
import {
  adapterToolset,
  answered,
  type SessionSource,
  type ToolsetAnswer,
  type ToolsetOptions,
  type ToolsetTool,
} from '../tools/toolset.ts';
import { INTERNAL_ERROR, METHOD_NOT_FOUND } from '../wire/rpc.ts';

/** The name of the server; Claude Code calls its tools `mcp__lookfirst__read_file` and so on. */
const SERVER = 'lookfirst';

/** The tools of a session, for your own server made with `createSdkMcpServer`. */
export function lookfirstTools(session: SessionSource, options: ToolsetOptions = {}): SdkMcpToolDefinition[] {
  return adapterToolset(session, options).tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    // The cast is safe: a tool's schema is always an object.
    inputSchema: (fromJSONSchema(tool.inputSchema) as ZodObject).shape,
    annotations: annotationsOf(tool),
    handler: (args, extra) => called(tool, args, signalIn(extra)),
  }));
}

export interface ServerOptions extends ToolsetOptions {
  /**
   * The signal of the query's `abortController`. After an abort, calls that Claude Code still sends
   * change nothing.
   */
  readonly signal?: AbortSignal | undefined;
}

/**
 * An MCP server in this process, for `mcpServers: { lookfirst: lookfirstServer(session) }`.
 * Register it under the name `lookfirst`: its refusals suggest tools such as
 * `mcp__lookfirst__read_file`.
 */
export function lookfirstServer(
  session: SessionSource,
  { signal, ...options }: ServerOptions = {},
): McpSdkServerConfigWithInstance {
  const names =
    options.dialect === undefined && options.rename === undefined ? prefixed(LOOKFIRST_TOOLS) : undefined;
  const { tools, instructions } = adapterToolset(session, options, names);
  return { type: 'sdk', name: SERVER, instance: new InProcessServer(tools, instructions, signal) };
}

function prefixed(names: ToolNames): ToolNames {
  const entries = Object.entries(names).map(([use, name]) => [
    use,
    typeof name === 'string' ? `mcp__${SERVER}__${name}` : name,
  ]);
  // The cast is safe: the object has the keys of `names`, with a prefix before each name.
  return Object.fromEntries(entries) as unknown as ToolNames;
}

/** The abort signal in the second argument of a tool call, which the SDK types as unknown. */
function signalIn(extra: unknown): AbortSignal | undefined {
  const signal = isRecord(extra) ? extra['signal'] : undefined;
  return signal instanceof AbortSignal ? signal : undefined;
}

function annotationsOf({ title, readOnly, destructive }: ToolsetTool): object {
  return { title, readOnlyHint: readOnly, destructiveHint: destructive, openWorldHint: false };
}

type Block = { type: 'text'; text: string } | { type: 'image' | 'audio'; data: string; mimeType: string };

interface CallResult {
  content: Block[];
  isError: boolean;
  _meta: Record<string, unknown>;
  [field: string]: unknown;
}

async function called(
  tool: ToolsetTool,
  args: unknown,
  signal: AbortSignal | undefined,
): Promise<CallResult> {
  return resultOf(await answered(tool, args, { signal }));
}

function resultOf({ ok, text, media = [], outcome }: ToolsetAnswer): CallResult {
  const blocks = media.flatMap(({ mimeType, base64: data }): Block[] => {
    const [kind] = mimeType.split('/');
    return kind === 'image' || kind === 'audio' ? [{ type: kind, data, mimeType }] : [];
  });
  return {
    content: [{ type: 'text', text }, ...blocks],
    isError: !ok,
    _meta: { [OUTCOME_KEY]: outcome },
  };
}

/** The part of an MCP transport that this server uses. */
interface Transport {
  onmessage?: ((message: unknown) => void) | undefined;
  onclose?: (() => void) | undefined;
  start(): Promise<void>;
  send(message: JsonRecord): Promise<void>;
  close(): Promise<void>;
}

/**
 * A minimal MCP server for a client in the same process. It loads no SDK, and passes arguments to
 * the tools unchanged.
 */
class InProcessServer {
  readonly #tools: readonly ToolsetTool[];
  readonly #instructions: string;
  readonly #signal: AbortSignal | undefined;
  readonly #running = new Map<unknown, AbortController>();
  #transport: Transport | undefined;

  constructor(tools: readonly ToolsetTool[], instructions: string, signal: AbortSignal | undefined) {
    this.#tools = tools;
    this.#instructions = instructions;
    this.#signal = signal;
  }

  async connect(transport: Transport): Promise<void> {
    this.#transport = transport;
    transport.onmessage = (message) => void this.#receive(message);
    transport.onclose = () => this.#abortAll();
    await transport.start();
  }

  async close(): Promise<void> {
    this.#abortAll();
    await this.#transport?.close();
  }

  #abortAll(): void {
    for (const running of this.#running.values()) running.abort();
  }

  async #receive(message: unknown): Promise<void> {
    if (!isRecord(message)) return;
    const { id, method } = message;
    const params = objectIn(message, 'params') ?? {};
    if (method === 'notifications/cancelled') this.#running.get(params['requestId'])?.abort();
    if (id === undefined || typeof method !== 'string') return;
    const answer = await this.#answer(id, method, params).catch((error: unknown) => ({
      error: { code: INTERNAL_ERROR, message: errorText(error) },
    }));
    // Ignore an error: the query has ended, so nobody waits for the answer. A rejection here would
    // be unhandled and end the host's process.
    await this.#transport?.send({ jsonrpc: '2.0', id, ...answer }).catch(() => undefined);
  }

  async #answer(id: unknown, method: string, params: JsonRecord): Promise<JsonRecord> {
    switch (method) {
      case 'initialize':
        return { result: this.#introduction(params) };
      case 'ping':
        return { result: {} };
      case 'tools/list':
        return { result: { tools: this.#tools.map(definitionOf) } };
      case 'tools/call':
        return { result: await this.#call(id, params) };
      default:
        return { error: { code: METHOD_NOT_FOUND, message: `no method ${method}` } };
    }
  }

  #introduction(params: JsonRecord): JsonRecord {
    return {
      protocolVersion: stringIn(params, 'protocolVersion') ?? '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: SERVER, version: '1' },
      instructions: this.#instructions,
    };
  }

  async #call(id: unknown, params: JsonRecord): Promise<CallResult> {
    const name = stringIn(params, 'name');
    const tool = this.#tools.find((candidate) => candidate.name === name);
    if (tool === undefined) throw new Fault('MISUSE', `there is no tool ${name}`);
    const running = new AbortController();
    this.#running.set(id, running);
    const signals = this.#signal === undefined ? [running.signal] : [running.signal, this.#signal];
    try {
      return await called(tool, params['arguments'] ?? {}, AbortSignal.any(signals));
    } finally {
      this.#running.delete(id);
    }
  }
}

function definitionOf(tool: ToolsetTool): JsonRecord {
  const { name, title, description, inputSchema } = tool;
  const annotations = annotationsOf(tool);
  return { name, title, description, inputSchema, annotations, _meta: CLAUDE_META };
}
