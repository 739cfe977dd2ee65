import { randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A call of a tool, as the model of an agent program asks for it. */
export interface ToolUse {
  readonly tool: string;
  readonly args: object | string;
}

/** A message of the conversation. Each API has some of these fields. */
interface Message {
  readonly type?: string;
  readonly role?: string;
  readonly content?: unknown;
  readonly output?: unknown;
  readonly parts?: readonly { readonly functionResponse?: { readonly response?: unknown } }[];
}

interface Request {
  readonly model?: string;
  readonly tools?: readonly unknown[];
  readonly messages?: readonly Message[];
  readonly input?: readonly Message[];
  readonly contents?: readonly Message[];
}

/**
 * A model that requests one tool call after the other and then says "done". It speaks the four APIs of the agent
 * programs: Messages, Responses, generateContent and chat completions. It finds its place in the script by the number
 * of results in the conversation.
 */
export class ScriptedModel {
  /** The result of each call, as the program reported it, in JSON. */
  readonly results: string[] = [];
  readonly #script: readonly ToolUse[];
  #port = 0;

  private constructor(script: readonly ToolUse[]) {
    this.#script = script;
  }

  static async start(script: readonly ToolUse[]): Promise<ScriptedModel> {
    const model = new ScriptedModel(script);
    const server = createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      const body = Buffer.concat(parts).toString() || '{}';
      model.#answer(request.url ?? '', JSON.parse(body) as Request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    model.#port = (server.address() as AddressInfo).port;
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return model;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  #answer(url: string, body: Request, response: ServerResponse): void {
    const api = APIS.find(({ path }) => path.test(url));
    if (api !== undefined) {
      stream(response, api.events(this.#next(body, api.results)));
      return;
    }
    response.setHeader('content-type', 'application/json');
    response.end('{"data": [], "models": [], "input_tokens": 1}');
  }

  /** The next call of the script; undefined at its end, and for requests without tools, such as one for a title. */
  #next(body: Request, resultsOf: (body: Request) => readonly unknown[]): ToolUse | undefined {
    if ((body.tools ?? []).length === 0) return undefined;
    const results = resultsOf(body);
    this.results.push(...results.slice(this.results.length).map((result) => JSON.stringify(result)));
    return this.#script[results.length];
  }
}

interface Api {
  /** Matches the address of a request. */
  readonly path: RegExp;
  /** The results of tools that a request reports. */
  results(body: Request): readonly unknown[];
  /** The streamed answer: a call, or "done". */
  events(use: ToolUse | undefined): readonly Event[];
}

function anthropicResults({ messages = [] }: Request): readonly unknown[] {
  return messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter(isToolResult);
}

function isToolResult({ type }: Message): boolean {
  return type === 'tool_result';
}

function openaiResults({ input = [] }: Request): readonly unknown[] {
  return input.filter(({ type }) => type?.endsWith('_output')).map(({ output }) => output);
}

function geminiResults({ contents = [] }: Request): readonly unknown[] {
  return contents.flatMap(({ parts = [] }) => parts.flatMap((part) => part.functionResponse ?? []));
}

function chatResults({ messages = [] }: Request): readonly unknown[] {
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

type Event = { readonly type?: string } & Record<string, unknown>;

function stream(response: ServerResponse, events: readonly Event[]): void {
  response.setHeader('content-type', 'text/event-stream');
  for (const event of events) {
    const name = event.type === undefined ? '' : `event: ${event.type}\n`;
    response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

function newId(): string {
  return `id_${randomBytes(8).toString('hex')}`;
}

function messagesEvents(use: ToolUse | undefined): readonly Event[] {
  const block = use && { type: 'tool_use', id: newId(), name: use.tool, input: {} };
  const delta = use && { type: 'input_json_delta', partial_json: JSON.stringify(use.args) };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: newId(), type: 'message', role: 'assistant', model: 'm', content: [], usage };
  const stop = { stop_reason: use === undefined ? 'end_turn' : 'tool_use', stop_sequence: null };
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block ?? { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: delta ?? { type: 'text_delta', text: 'done' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: stop, usage },
    { type: 'message_stop' },
  ];
}

function responsesEvents(use: ToolUse | undefined): readonly Event[] {
  const item = { id: newId(), status: 'completed', ...responsesItem(use) };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const response = { id: newId(), object: 'response', status: 'completed', output: [item], usage };
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ];
}

/**
 * The model's answer in the Responses API. A call whose argument is free text becomes a
 * `custom_tool_call`.
 */
function responsesItem(use: ToolUse | undefined): object {
  if (use === undefined)
    return {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'done', annotations: [] }],
    };
  const { tool: name, args } = use;
  return typeof args === 'string'
    ? { type: 'custom_tool_call', call_id: newId(), name, input: args }
    : { type: 'function_call', call_id: newId(), name, arguments: JSON.stringify(args) };
}

function geminiEvents(use: ToolUse | undefined): readonly Event[] {
  const part = use === undefined ? { text: 'done' } : { functionCall: { name: use.tool, args: use.args } };
  const candidate = { content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 };
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
  return [{ candidates: [candidate], usageMetadata }];
}

function chatEvents(use: ToolUse | undefined): readonly Event[] {
  const base = { id: newId(), object: 'chat.completion.chunk', created: 1, model: 'm' };
  const call = use && { name: use.tool, arguments: JSON.stringify(use.args) };
  const delta = call
    ? { role: 'assistant', tool_calls: [{ index: 0, id: newId(), type: 'function', function: call }] }
    : { role: 'assistant', content: 'done' };
  const finish_reason = use === undefined ? 'stop' : 'tool_calls';
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return [
    { ...base, choices: [{ index: 0, delta, finish_reason: null }] },
    { ...base, choices: [{ index: 0, delta: {}, finish_reason }], usage },
  ];
}

const APIS: readonly Api[] = [
  { path: /\/v1\/messages(?!\/)/, results: anthropicResults, events: messagesEvents },
  { path: /\/responses$/, results: openaiResults, events: responsesEvents },
  { path: /enerateContent/, results: geminiResults, events: geminiEvents },
  { path: /\/chat\/completions$/, results: chatResults, events: chatEvents },
];
