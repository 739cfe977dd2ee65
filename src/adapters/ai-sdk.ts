import { isRecord, type JsonRecord, objectIn, objectsIn, stringIn } from '../model/record.ts';
import {
  adapterToolset,
  answered,
  type SessionSource,
  type ToolsetAnswer,
  type ToolsetOptions,
  type ToolsetTool,
} from '../tools/toolset.ts';
import { ContextWatch, resultsIn, toolCallMessage, toolResultMessage } from './context-watch.ts';

/** A tool for the AI SDK, versions 6 and 7. */
export interface AiTool {
  readonly description: string;
  readonly inputSchema: AiSchema;
  /** Read-only tools yield preliminary answers during a long listing or search. */
  execute(
    input: JsonRecord,
    options: { readonly abortSignal?: AbortSignal | undefined; readonly experimental_sandbox?: unknown },
  ): Promise<ToolsetAnswer> | AsyncIterable<ToolsetAnswer>;
  toModelOutput(options: { readonly output: ToolsetAnswer }): AiOutput;
}

/**
 * A Standard Schema with its JSON Schema. It accepts anything, because the tools validate their
 * arguments themselves.
 */
export interface AiSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: 'lookfirst';
    readonly types?: { readonly input: unknown; readonly output: JsonRecord };
    validate(value: unknown): { readonly value: JsonRecord };
    readonly jsonSchema: { input(): Record<string, unknown>; output(): Record<string, unknown> };
  };
}

/**
 * A tool result as the model gets it: `error-text` for a refusal or a fault, `content` for an image
 * or another medium.
 */
export type AiOutput =
  | { type: 'text'; value: string }
  | { type: 'error-text'; value: string }
  | { type: 'content'; value: ({ type: 'text'; text: string } | AiFile)[] };

/** A file in the form that versions 6 and 7 of the AI SDK accept. */
interface AiFile {
  type: 'file-data';
  data: string;
  mediaType: string;
}

/** The tools of a session, for `generateText`, `streamText` and `ToolLoopAgent`. */
export function lookfirstTools(session: SessionSource, options: ToolsetOptions = {}): Record<string, AiTool> {
  const { tools } = adapterToolset(session, options);
  return Object.fromEntries(tools.map((tool) => [tool.name, aiTool(tool)]));
}

function aiTool(tool: ToolsetTool): AiTool {
  // The version of the AI SDK that calls this tool. Only version 7 passes `experimental_sandbox`.
  // Version 7 warns about files in the form of version 6.
  let version: 6 | 7 = 6;
  return {
    description: tool.description,
    inputSchema: schemaOf(tool.inputSchema),
    execute: (input, options) => {
      if ('experimental_sandbox' in options) version = 7;
      return run(tool, input, options.abortSignal);
    },
    toModelOutput: ({ output }) => modelOutput(output, version),
  };
}

function schemaOf(schema: JsonRecord): AiSchema {
  const json = (): Record<string, unknown> => ({ ...schema });
  return {
    '~standard': {
      version: 1,
      vendor: 'lookfirst',
      // Accept everything here. If the model sends a value that is not an object, the tool refuses
      // the call with a text that the model can act on.
      validate: (value) => ({ value: value as JsonRecord }),
      jsonSchema: { input: json, output: json },
    },
  };
}

function modelOutput({ ok, text, media }: ToolsetAnswer, version: 6 | 7): AiOutput {
  if (!ok) return { type: 'error-text', value: text };
  if (media === undefined) return { type: 'text', value: text };
  const files = media.map(({ mimeType: mediaType, base64: data }) =>
    version === 6 ? ({ type: 'file-data', data, mediaType } as const) : newerFile(mediaType, data),
  );
  return { type: 'content', value: [{ type: 'text', text }, ...files] };
}

/**
 * A file in the form that version 7 of the AI SDK expects. The cast is needed because the types
 * cover only what versions 6 and 7 share.
 */
function newerFile(mediaType: string, data: string): AiFile {
  return { type: 'file', data: { type: 'data', data }, mediaType } as unknown as AiFile;
}

/** Starts a call. Only a read-only tool that takes a while yields preliminary answers. */
function run(
  tool: ToolsetTool,
  input: JsonRecord,
  signal: AbortSignal | undefined,
): Promise<ToolsetAnswer> | AsyncIterable<ToolsetAnswer> {
  const notes = new Notes();
  const answer = answered(tool, input, { signal, onProgress: notes.add });
  if (!tool.readOnly) return answer;
  // If a framework drops the generator unread, a rejection must not count as unhandled.
  answer.catch(() => undefined);
  return watched(answer, notes);
}

/** Holds the newest progress message of a call and wakes the reader that waits for it. */
class Notes {
  text = '';
  #wake = (): void => {};

  readonly add = (done: number, total?: number, message?: string): void => {
    this.text = message ?? `${done}${total === undefined ? '' : ` of ${total}`}`;
    this.#wake();
  };

  /** Resolves when the next progress message arrives. */
  next(): Promise<'note'> {
    return new Promise((resolve) => {
      this.#wake = () => resolve('note');
    });
  }
}

/** Yields preliminary answers on progress, then the final answer. */
async function* watched(answer: Promise<ToolsetAnswer>, notes: Notes): AsyncGenerator<ToolsetAnswer> {
  let note = notes.text === '' ? notes.next() : Promise.resolve('note' as const);
  const ended = answer.then(
    () => 'ended',
    () => 'ended',
  );
  while ((await Promise.race([ended, note])) === 'note') {
    note = notes.next();
    yield { ok: true, text: notes.text, outcome: { ok: true } };
  }
  yield await answer;
}

/** The fields of a step that `seenFrom` reads. */
export interface AiStep {
  readonly messages: readonly unknown[];
}

/**
 * A `prepareStep` for conversations whose messages are pruned or shortened: only what the remaining
 * messages contain counts as seen. `prepare`: your own `prepareStep`, which runs first.
 */
export function seenFrom(session: SessionSource): (step: AiStep) => Promise<undefined>;
export function seenFrom<Given extends AiStep, Prepared>(
  session: SessionSource,
  prepare: (step: Given) => PromiseLike<Prepared> | Prepared,
): (step: Given) => Promise<Prepared>;
export function seenFrom(
  session: SessionSource,
  prepare: (step: AiStep) => unknown = () => undefined,
): (step: AiStep) => Promise<unknown> {
  const watch = new ContextWatch(session, 'anthropic-messages');
  return async (step) => {
    const prepared = await prepare(step);
    const given =
      isRecord(prepared) && Array.isArray(prepared['messages']) ? prepared['messages'] : undefined;
    const messages = [...transcriptOf(given ?? step.messages)];
    await watch.look(messages, resultsIn(messages));
    return prepared;
  };
}

/**
 * The calls and results of the AI SDK's messages, as messages of the Anthropic API. The result of
 * an MCP tool is a value that contains its content.
 */
function* transcriptOf(messages: readonly unknown[]): Generator<JsonRecord> {
  for (const part of messages.flatMap((message) =>
    isRecord(message) ? objectsIn(message, 'content') : [],
  )) {
    const id = stringIn(part, 'toolCallId');
    const output = objectIn(part, 'output');
    if (id === undefined) continue;
    if (part['type'] === 'tool-call')
      yield toolCallMessage(id, stringIn(part, 'toolName') ?? '', part['input']);
    if (part['type'] !== 'tool-result' || output === undefined) continue;
    const { type, value } = output;
    const failed = ['error-text', 'error-json', 'execution-denied'].includes(String(type));
    const shown = isRecord(value) ? value : { content: value };
    yield toolResultMessage(id, { content: shown['content'], is_error: failed || shown['isError'] === true });
  }
}
