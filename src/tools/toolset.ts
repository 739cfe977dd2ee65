import { ANTHROPIC } from '../dialect/anthropic.ts';
import { APPLY_PATCH } from '../dialect/apply-patch.ts';
import { FILESYSTEM } from '../dialect/filesystem/dialect.ts';
import { LACE } from '../dialect/lace.ts';
import { LOOKFIRST } from '../dialect/lookfirst/dialect.ts';
import type { ContentBlock } from '../dialect/render.ts';
import { SANDBOX } from '../dialect/sandbox.ts';
import { TEXT_EDITOR } from '../dialect/text-editor.ts';
import {
  DIALECT_NAMES,
  type Dialect,
  type DialectName,
  renamedNames,
  renameTools,
  type Tool,
  type ToolRenames,
} from '../dialect/tool.ts';
import { ClientCall } from '../model/call.ts';
import { Fault } from '../model/fault.ts';
import { strictSchema, toJsonSchema } from '../model/json-schema.ts';
import { nearestName } from '../model/nearest-name.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import type { Session } from '../model/session.ts';
import { ANY, checkShape, FLAG, listOf, mismatchText, objectOf, oneOf, type Shape } from '../model/shape.ts';
import type { RefusalOutcome, SuccessOutcome } from '../report/json.ts';
import type { ToolNames } from '../report/tool-names.ts';
import { GatedSession } from '../session/gated-session.ts';
import { callNames, type PathForm, pathForm } from '../session/path-names.ts';
import { failureAnswer } from './failure.ts';
import { callTool } from './perform-call.ts';
import { rootsText } from './roots-text.ts';
import type { FaultOutcome, ToolAnswer } from './tool-answer.ts';
import {
  offeredTools,
  refuseArguments,
  renderContext,
  translateCall,
  withPaths,
  withVirtualGlobs,
} from './tool-host.ts';

/** A session, or a function that returns the one for the present call. */
export type SessionSource = Session | (() => Session);

export interface ToolsetOptions {
  /** The dialect, which determines tool names and arguments; default `lookfirst`. */
  readonly dialect?: DialectName | undefined;
  /** Offer only tools that change nothing; default false. */
  readonly readOnly?: boolean | undefined;
  /** Offer only the tools with these names (names of the dialect, before `rename`). */
  readonly only?: readonly string[] | undefined;
  /** Offer the tool that runs commands in a sandbox; default false. */
  readonly commands?: boolean | undefined;
  /** New names for tools, by their names in the dialect. Descriptions and refusals use them too. */
  readonly rename?: ToolRenames | undefined;
  /**
   * An absolute path such as `/` or `/memories` that represents the session's root. The model uses
   * it in calls and sees it in receipts, refusals and notices. Only for sessions with one root. The
   * output of commands is not translated.
   */
  readonly virtualRoot?: string | undefined;
}

/** The tools of a session for an agent framework. */
export interface Toolset {
  /** Instructions for the model. */
  readonly instructions: string;
  readonly tools: readonly ToolsetTool[];
}

export interface ToolsetTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonRecord & { readonly type: 'object' };
  /** Like `inputSchema`, with every optional argument required and nullable. */
  readonly strictSchema: JsonRecord & { readonly type: 'object' };
  readonly readOnly: boolean;
  readonly destructive: boolean;
  /**
   * Runs the tool. A refusal, including that of invalid arguments, is an answer with `ok: false`.
   * Throws a Fault on failure. If `signal` fires before anything was changed, throws its reason.
   */
  call(args: unknown, options?: ToolCallOptions): Promise<ToolsetAnswer>;
}

export interface ToolCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called regularly during a listing, a search, a long read or a command. */
  readonly onProgress?: ((done: number, total?: number, message?: string) => void) | undefined;
}

/** The answer of a tool. */
export interface ToolsetAnswer {
  readonly ok: boolean;
  /** The text for the model. */
  readonly text: string;
  /** Images, audio and other files that were read. */
  readonly media?: readonly { readonly mimeType: string; readonly base64: string }[];
  /** The outcome for programs, which the MCP server sends as `_meta["dev.lookfirst/outcome"]`. */
  readonly outcome: SuccessOutcome | RefusalOutcome | FaultOutcome;
}

/**
 * The tools of a dialect for a session, without a transport: the tools of the MCP server, for a
 * program's own agent. If `session` is a function, such as `currentSession`, each call uses the
 * session it returns.
 */
export function toolset(session: SessionSource, options: ToolsetOptions = {}): Toolset {
  return adapterToolset(session, options);
}

/**
 * Like `toolset`, for the adapters to agent frameworks. If `names` is given, instructions and
 * refusals mention tools by these names: the framework may rename our tools or add its own.
 */
export function adapterToolset(session: SessionSource, options: ToolsetOptions, names?: ToolNames): Toolset {
  checkOptions(options);
  const { rename, virtualRoot } = options;
  const own = DIALECTS[options.dialect ?? 'lookfirst'];
  const offered = { ...own, tools: selected(own, options) };
  const named = rename === undefined ? offered : renameTools(offered, rename);
  checkNames(named.tools.map(({ name }) => name));
  const dialect = { ...named, names: names ?? renamedNames(named, named.tools) };
  const current = typeof session === 'function' ? () => gated(session()) : always(gated(session));
  const paths = virtualRoot === undefined ? '' : ` Absolute paths begin with ${virtualRoot}.`;
  // With a function, the roots are not known yet: each call may use another session.
  const roots = virtualRoot === undefined && typeof session !== 'function' ? rootsText(current()) : '';
  return {
    instructions: `${roots} ${dialect.instructions}${paths}`.trimStart(),
    tools: dialect.tools.map((tool) => toolOf(tool, { dialect, current, virtualRoot })),
  };
}

interface Offer {
  readonly dialect: Dialect;
  readonly current: () => GatedSession;
  readonly virtualRoot: string | undefined;
}

function toolOf(tool: Tool, { dialect, current, virtualRoot }: Offer): ToolsetTool {
  const { name, title, description, inputSchema, annotations } = tool;
  return {
    name,
    title,
    description,
    inputSchema: toJsonSchema(inputSchema),
    strictSchema: strictSchema(inputSchema),
    readOnly: annotations.readOnlyHint,
    destructive: annotations.destructiveHint,
    call: async (args, { signal, onProgress = ignored } = {}) => {
      signal?.throwIfAborted();
      const times = new ClientCall();
      const session = current();
      const { wording } = session;
      const roots = virtualRoot === undefined ? session.roots : [virtualRoot];
      const context = renderContext(dialect, { roots, wording, now: () => session.now() });
      const names = virtualRoot === undefined ? undefined : callNames(virtualForm(session, virtualRoot));
      const call = translateCall(tool, args, dialect);
      if ('reason' in call) return answerFor(refuseArguments(name, call.reason, context));
      const meant =
        names === undefined || virtualRoot === undefined
          ? call
          : withPaths(withVirtualGlobs(call, virtualRoot), names.real);
      const watch = { signal, progress: onProgress, times };
      const performing = { session, tool: name, context, names, watch, form: 'text' } as const;
      const answer = answerFor(await callTool(meant, dialect, performing));
      // Call `answered` only after the caller has received this answer. A call that arrived before
      // that time cannot be based on this answer.
      queueMicrotask(() => times.answered());
      return answer;
    },
  };
}

function ignored(): void {}

function virtualForm(session: GatedSession, virtualRoot: string): PathForm {
  const [root, another] = session.roots;
  if (root === undefined || another !== undefined)
    throw new Fault('MISUSE', 'a virtual root needs a session with one root');
  return pathForm({ root, virtualRoot, cwd: session.cwd });
}

function answerFor(answer: ToolAnswer): ToolsetAnswer {
  const { ok, outcome } = answer;
  if (!answer.ok) return { ok, text: answer.text, outcome };
  const { shown } = answer;
  if (typeof shown === 'string') return { ok, text: shown, outcome };
  if ('escaped' in shown) throw new TypeError('the answer must be text, not escaped bytes');
  const text = shown.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  const media = shown.flatMap(mediaOf);
  return { ok, text, ...(media.length === 0 ? {} : { media }), outcome };
}

function mediaOf(block: ContentBlock): { mimeType: string; base64: string }[] {
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

/**
 * Checks the types of the options. Tool names are checked later, because they depend on the
 * dialect.
 */
const OPTIONS = objectOf({
  dialect: oneOf(...DIALECT_NAMES),
  readOnly: FLAG,
  only: listOf(ANY, { must: 'a list of tool names' }),
  commands: FLAG,
  rename: {
    type: 'tested',
    is: (value) => isRecord(value) || typeof value === 'function',
    must: 'an object or a function',
  },
  virtualRoot: {
    type: 'tested',
    is: (value) => typeof value === 'string' && value.startsWith('/'),
    must: 'an absolute path',
  },
} satisfies Record<keyof ToolsetOptions, Shape>);

/**
 * Throws a Fault for invalid options. If a misspelt option were ignored, tools could be offered by
 * mistake.
 */
function checkOptions(options: ToolsetOptions): void {
  const [mismatch] = checkShape(OPTIONS, options);
  if (mismatch !== undefined)
    throw new Fault('MISUSE', mismatchText(mismatch, { noun: 'option', whole: 'the options of toolset' }));
  const { dialect = 'lookfirst', rename } = options;
  if (!isRecord(rename)) return;
  const names = DIALECTS[dialect].tools.map((tool) => tool.name);
  for (const name of Object.keys(rename)) checkToolName(name, names);
}

/** Checks that every tool name is unique and valid in all frameworks. */
function checkNames(names: readonly string[]): void {
  const wrong = names.find((name) => typeof name !== 'string' || !/^[A-Za-z0-9_.-]{1,128}$/.test(name));
  if (wrong !== undefined) throw new Fault('MISUSE', `${JSON.stringify(wrong)} cannot be the name of a tool`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Fault('MISUSE', `two tools would be called ${JSON.stringify(twice)}`);
}

function selected(dialect: Dialect, { readOnly = false, commands, only }: ToolsetOptions): readonly Tool[] {
  const names = dialect.tools.map(({ name }) => name);
  for (const name of only ?? []) checkToolName(name, names);
  return offeredTools(dialect, { readOnly, commands }).filter(
    ({ name }) => only === undefined || only.includes(name),
  );
}

function checkToolName(name: unknown, names: readonly string[]): void {
  if (typeof name === 'string' && names.includes(name)) return;
  const near = typeof name === 'string' ? nearestName(name, names) : undefined;
  const hint = near === undefined ? ` (there are ${names.join(', ')})` : `; did you mean "${near}"?`;
  throw new Fault('MISUSE', `there is no tool ${JSON.stringify(name)}${hint}`);
}

/**
 * The session itself, or the one that a function such as `currentSession` returns. Throws a Fault
 * for anything else.
 */
export function gatedSession(session: SessionSource): GatedSession {
  return gated(typeof session === 'function' ? session() : session);
}

function gated(session: unknown): GatedSession {
  if (session instanceof GatedSession) return session;
  throw new Fault('MISUSE', 'this needs a session of this library, or a function that returns one');
}

function always<T>(value: T): () => T {
  return () => value;
}

/** All dialects, loaded together. A server loads only its own with `loadDialect`. */
const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  lookfirst: LOOKFIRST,
  sandbox: SANDBOX,
  lace: LACE,
  filesystem: FILESYSTEM,
  'apply-patch': APPLY_PATCH,
  'text-editor': TEXT_EDITOR,
  anthropic: ANTHROPIC,
};

/**
 * Runs a tool for a framework. A refusal or a Fault becomes an answer with `ok: false`, which the
 * adapter marks as an error in the framework's way. An abort is thrown.
 */
export async function answered(
  tool: ToolsetTool,
  args: unknown,
  options: ToolCallOptions = {},
): Promise<ToolsetAnswer> {
  try {
    return await tool.call(args, options);
  } catch (error) {
    if (options.signal?.aborted === true || !(error instanceof Fault)) throw error;
    return flaggedFault(tool.name, error);
  }
}

/** Converts a Fault to an answer, which tells the model what failed and whether anything changed. */
export function flaggedFault(tool: string, fault: Fault): ToolsetAnswer {
  const answer = failureAnswer(tool, fault);
  if (answer.ok) throw new TypeError('a failure is not an answer of success');
  return answer;
}
