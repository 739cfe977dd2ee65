import { nearest } from '../config/nearest.ts';
import { DIALECTS } from '../dialect/all-dialects.ts';
import { DIALECT_NAMES, type DialectName } from '../dialect/dialect-name.ts';
import type { Block, Rendered } from '../dialect/render.ts';
import { strictSchema } from '../dialect/strict-schema.ts';
import type { Dialect, Tool } from '../dialect/tool.ts';
import { Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import type { Session } from '../model/session.ts';
import type { RefusalOutcome, SuccessOutcome } from '../report/json.ts';
import { GatedSession } from '../session/gated-session.ts';
import { callTool, offeredTools, refuseArguments, renderContext, translateCall } from './call-tool.ts';
import type { FaultOutcome, ToolAnswer } from './tool-answer.ts';

export interface ToolsetOptions {
  /** How the tools are named and shaped; default `lookfirst`. */
  readonly dialect?: DialectName | undefined;
  /** Offer only the tools that change nothing; default false. */
  readonly readOnly?: boolean | undefined;
  /** Offer only the tools with these names. */
  readonly only?: readonly string[] | undefined;
}

/** The tools of a session for an agent framework. */
export interface Toolset {
  /** The teaching text for the model. */
  readonly instructions: string;
  readonly tools: readonly ToolsetTool[];
}

export interface ToolsetTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonRecord & { readonly type: 'object' };
  /** The same, with every optional argument required and nullable. */
  readonly strictSchema: JsonRecord & { readonly type: 'object' };
  readonly readOnly: boolean;
  readonly destructive: boolean;
  /**
   * Runs the tool. A refusal, bad arguments included, is an answer with `ok: false`; a Fault is thrown, and so is the
   * reason of `signal` if it fires before anything was changed.
   */
  call(args: unknown, options?: ToolCallOptions): Promise<ToolsetAnswer>;
}

export interface ToolCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called now and then while a listing, a search or a long read goes on. */
  readonly onProgress?: ((done: number, total?: number, message?: string) => void) | undefined;
}

/** What a tool answered. */
export interface ToolsetAnswer {
  readonly ok: boolean;
  /** For the model. */
  readonly text: string;
  /** Images, sound and other files that were read. */
  readonly media?: readonly { readonly mimeType: string; readonly base64: string }[];
  /** For programs: what the MCP server gives as `_meta["dev.lookfirst/outcome"]`. */
  readonly outcome: SuccessOutcome | RefusalOutcome | FaultOutcome;
}

/**
 * The tools of a dialect over a session, without a transport: what the MCP server offers, for a program's own agent. With a
 * function such as `currentSession`, every call uses the session that the function returns then.
 */
export function toolset(session: Session | (() => Session), options: ToolsetOptions = {}): Toolset {
  checkOptions(options);
  const dialect = DIALECTS[options.dialect ?? 'lookfirst'];
  const tools = selected(dialect, options);
  const current = typeof session === 'function' ? () => gated(session()) : always(gated(session));
  return { instructions: dialect.instructions, tools: tools.map((tool) => toolOf(tool, dialect, current)) };
}

function toolOf(tool: Tool, dialect: Dialect, current: () => GatedSession): ToolsetTool {
  const { name, title, description, inputSchema, annotations } = tool;
  return {
    name,
    title,
    description,
    inputSchema: { ...inputSchema },
    strictSchema: strictSchema(inputSchema),
    readOnly: annotations.readOnlyHint,
    destructive: annotations.destructiveHint,
    call: async (args, { signal = new AbortController().signal, onProgress = () => {} } = {}) => {
      signal.throwIfAborted();
      const session = current();
      const context = renderContext(dialect, session);
      const call = translateCall(tool, args, dialect);
      if ('reason' in call) return answerFor(refuseArguments(name, call.reason, context));
      const watch = { signal, progress: onProgress };
      return answerFor(await callTool(call, dialect, { session, tool: name, context, watch, form: 'text' }));
    },
  };
}

function answerFor(answer: ToolAnswer): ToolsetAnswer {
  const { ok, outcome } = answer;
  if (!answer.ok) return { ok, text: answer.text, outcome };
  const { shown } = answer;
  if (typeof shown !== 'string' && 'escaped' in shown) throw new TypeError('a text was asked for');
  const media = typeof shown === 'string' ? [] : shown.flatMap(mediaOf);
  return { ok, text: textOf(shown), ...(media.length === 0 ? {} : { media }), outcome };
}

function textOf(shown: Rendered): string {
  if (typeof shown === 'string') return shown;
  return shown.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function mediaOf(block: Block): { mimeType: string; base64: string }[] {
  switch (block.type) {
    case 'text':
      return [];
    case 'resource':
      return [{ mimeType: block.resource.mimeType, base64: block.resource.blob }];
    case 'image':
    case 'audio':
      return [{ mimeType: block.mimeType, base64: block.data }];
    default:
      return block satisfies never;
  }
}

const KNOWN_OPTIONS: readonly (keyof ToolsetOptions)[] = ['dialect', 'readOnly', 'only'];

/** A misspelt option that is ignored could offer tools that were meant to be left out: it is a Fault. */
function checkOptions(options: ToolsetOptions): void {
  if (!isRecord(options)) throw new Fault('MISUSE', 'the options of toolset must be an object');
  for (const key of Object.keys(options)) known('option', key, KNOWN_OPTIONS);
  const { dialect, only }: ToolsetOptions = options;
  if (dialect !== undefined) known('dialect', dialect, DIALECT_NAMES);
  if (only !== undefined && !Array.isArray(only))
    throw new Fault('MISUSE', '"only" must be a list of tool names');
}

function selected(dialect: Dialect, { readOnly = false, only }: ToolsetOptions): readonly Tool[] {
  const names = dialect.tools.map(({ name }) => name);
  for (const name of only ?? []) known('tool', name, names);
  return offeredTools(dialect, { readOnly }).filter(({ name }) => only === undefined || only.includes(name));
}

function known(what: string, name: unknown, names: readonly string[]): void {
  if (typeof name === 'string' && names.includes(name)) return;
  const near = typeof name === 'string' ? nearest(name, names) : undefined;
  const hint = near === undefined ? ` (there are ${names.join(', ')})` : `; did you mean "${near}"?`;
  throw new Fault('MISUSE', `there is no ${what} ${JSON.stringify(name)}${hint}`);
}

function gated(session: unknown): GatedSession {
  if (session instanceof GatedSession) return session;
  throw new Fault('MISUSE', 'toolset needs a session of this library, or a function that returns one');
}

function always<T>(value: T): () => T {
  return () => value;
}
