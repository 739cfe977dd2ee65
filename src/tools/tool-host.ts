import { expandHome, userHome } from '../config/home.ts';
import type { RenderContext } from '../dialect/render.ts';
import { type Call, checkArguments, type Dialect, type Tool } from '../dialect/tool.ts';
import { Fault } from '../model/fault.ts';
import type { FileIntent } from '../model/intent.ts';
import { toJsonSchema } from '../model/json-schema.ts';
import { nearestName } from '../model/nearest-name.ts';
import type { PresetName } from '../model/policy.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { invalidArgument } from '../model/verdict.ts';
import { shellPath } from '../report/bounded.ts';
import { explain } from '../report/explain.ts';
import { refusalOutcome } from '../report/json.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Store } from '../store/store.ts';
import { CLAUDE_META, callInRoom } from './answer-room.ts';
import { callTool } from './perform-call.ts';
import { rootsNews, rootsText } from './roots-text.ts';
import {
  type ChoiceOptions,
  eventsIn,
  released,
  type SessionChoice,
  SessionPool,
  sessionSelector,
  subAgentChoice,
} from './session-choice.ts';
import { type ToolAnswer, type ToolArguments, type ToolContext, withText } from './tool-answer.ts';

/** One tool as listed to clients. `inputSchema` and `outputSchema` are JSON Schema objects. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonRecord & { readonly type: 'object' };
  readonly outputSchema?: JsonRecord & { readonly type: 'object' };
  readonly annotations?: {
    readonly title?: string;
    readonly readOnlyHint?: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint?: boolean;
  };
  readonly _meta?: JsonRecord;
}

/**
 * The tools that a transport serves, independent of the message format. One host serves many
 * clients concurrently, so its state belongs to sessions, never to connections.
 */
export interface ToolHost {
  /** The server's name and version for clients. */
  readonly info: { readonly name: string; readonly title?: string; readonly version: string };
  /** The instructions for the model. They change if the client changes the roots. */
  readonly instructions: string;
  /** The tools, in a fixed order, the same for every client. */
  tools(): readonly ToolDefinition[];
  /**
   * Runs one tool of `tools()`. Refusals, including those of invalid arguments, are answers. A
   * thrown error is our own failure; the client gets a fixed sentence. After `signal` fires the
   * answer is dropped.
   */
  call(name: string, args: ToolArguments, context: ToolContext): Promise<ToolAnswer>;
  /** Applies the session events in the `_meta` of a notification, or of a request that is not a tool call. */
  report?(context: Pick<ToolContext, 'meta' | 'sessionHint'>): Promise<void>;
  /** Called when the client's roots have changed. Later calls use the workspace with new roots. */
  renew?(): void;
  /** Call when a transport session has ended or expired: no more calls use this `sessionHint`. */
  sessionEnded?(sessionHint: string): void;
}

interface ToolHostOptions extends ChoiceOptions {
  /** Opens the workspace. Called by the first tool call, so that listing tools does not wait for it. */
  readonly open: () => Promise<Sessions>;
  readonly dialect: Dialect;
  /**
   * The roots that the instructions name if there are several. `client`: the client chooses the roots
   * after it has received the instructions, so an answer names them. Default: none are named.
   */
  readonly roots?: readonly string[] | 'client' | undefined;
  /** The folder where relative paths start. Default: the first root. */
  readonly cwd?: string | undefined;
  /**
   * Offer only tools that change nothing. This option refuses no change: only the policy of the
   * workspace does.
   */
  readonly readOnly: boolean;
  /** Offer the tool that runs commands; default: no. */
  readonly commands?: boolean | undefined;
  /** The version of this package. */
  readonly version: string;
  /** Receives messages for the user. */
  readonly log: (line: string) => void;
}

/**
 * Creates the tool host of one workspace. The dialect determines the names and arguments of the
 * tools.
 */
export function createToolHost(options: ToolHostOptions): ToolHost {
  const { dialect, version, log } = options;
  const tools = offeredTools(dialect, options);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const definitions = tools.map(definitionOf);
  const selectSession = sessionSelector(options);
  let served: Opening | undefined;
  let knownRoots = options.roots === 'client' ? undefined : options.roots;
  /** The message about roots that the client has chosen or changed since it received the instructions. */
  const newRoots = (roots: readonly string[]): readonly string[] => {
    if (options.roots !== 'client') return [];
    const news = rootsNews({ roots, cwd: options.cwd }, knownRoots);
    knownRoots = roots;
    return news === '' || dialect.listsRoots ? [] : [news];
  };
  const open = (): Opening => {
    const opening: Opening = { ready: serve(options) };
    opening.ready.then(
      (ready) => {
        ready.unsaid = [...ready.unsaid, ...newRoots(ready.context.roots)];
        opening.now = ready;
      },
      () => {
        // Forget the failed opening, so that the next call opens the workspace again.
        if (served === opening) served = undefined;
      },
    );
    return opening;
  };
  return {
    info: { name: 'lookfirst', title: 'Lookfirst', version },
    get instructions() {
      return `${rootsText({ roots: knownRoots ?? [], cwd: options.cwd })} ${dialect.instructions}`.trimStart();
    },
    tools: () => definitions,
    call: (name, args, surroundings) => {
      const tool = byName.get(name);
      if (tool === undefined) throw new TypeError(`no tool is called ${name}`);
      const chosen = selectSession(surroundings);
      served ??= open();
      return answerCall(served, options, { tool, args, chosen, surroundings });
    },
    report: async (surroundings) => {
      const events = eventsIn(surroundings.meta);
      const choice = selectSession(surroundings);
      if (events.kind === 'none') return;
      if (events.kind === 'invalid') throw new Fault('MISUSE', events.reason);
      if (choice.kind === 'invalid') throw new Fault('MISUSE', choice.reason);
      served ??= open();
      const { pool } = served.now ?? (await served.ready);
      await pool.before(choice, events.apply);
    },
    renew: () => {
      served = undefined;
    },
    sessionEnded: (hint) => {
      const ended = served?.now?.pool.end(hint) ?? served?.ready.then(({ pool }) => pool.end(hint));
      ended?.catch((error: unknown) => log(`a session could not be closed: ${String(error)}`));
    },
  };
}

/** One call of a tool. */
interface Asked {
  readonly tool: Tool;
  readonly args: ToolArguments;
  readonly chosen: SessionChoice;
  readonly surroundings: ToolContext;
}

/** Makes a call in its session. The first answer after the workspace was opened carries the messages from that. */
async function answerCall(
  opening: Opening,
  { dialect, log }: ToolHostOptions,
  { tool, args, chosen, surroundings }: Asked,
): Promise<ToolAnswer> {
  const served = opening.now ?? (await opening.ready);
  const { context, pool, store, hasApprovals } = served;
  const { meta, clientInfo } = surroundings;
  if (chosen.kind === 'invalid') return refused(served, tool, chosen.reason);
  const events = eventsIn(meta);
  if (events.kind === 'invalid') return refused(served, tool, events.reason);
  const found = subAgentChoice(store, chosen, meta);
  const choice = found === undefined ? chosen : await found;
  if (events.kind === 'events') await pool.before(choice, events.apply);
  const translated = translateCall(tool, args, dialect);
  if ('reason' in translated) return refused(served, tool, translated.reason);
  const call = callInRoom(translated, clientInfo?.name);
  const words = choice.kind === 'call' ? { ...context, forgets: true as const } : context;
  const lease = pool.lease(choice, clientInfo?.name);
  try {
    const session = lease.now ?? (await lease.session);
    const performing = {
      session,
      tool: tool.name,
      context: words,
      watch: surroundings,
      form: 'bytes',
    } as const;
    const answer = await callTool(call, dialect, performing);
    if (hasApprovals) logApproval(answer, log);
    return withUnsaid(served, answer);
  } finally {
    const closing = released(lease);
    if (closing !== undefined) await closing;
  }
}

function refused(served: Served, { name }: Tool, reason: string): ToolAnswer {
  return withUnsaid(served, refuseArguments(name, reason, served.context));
}

/** Adds the messages from opening the workspace to the first answer, once. */
function withUnsaid(served: Served, answer: ToolAnswer): ToolAnswer {
  if (served.unsaid.length === 0) return answer;
  const said = served.unsaid.map((warning) => `[lookfirst: ${warning}]`).join('\n');
  served.unsaid = [];
  return withText(answer, said);
}

/** The parts of an open workspace that calls need. */
interface Served {
  readonly pool: SessionPool;
  readonly store: Store;
  readonly context: RenderContext;
  /** True if some changes need the user's approval. */
  readonly hasApprovals: boolean;
  /** Messages for the model that no answer has carried yet. */
  unsaid: readonly string[];
}

/** A workspace that is being opened; `now`: set when it is open. */
interface Opening {
  readonly ready: Promise<Served>;
  now?: Served;
}

async function serve({ open, dialect }: ToolHostOptions): Promise<Served> {
  const sessions = await open();
  const { policy, workspace, store, now } = sessions.world;
  const context = renderContext(dialect, { roots: workspace.roots, wording: policy.preset, now });
  const hasApprovals = policy.approve.length > 0;
  return { pool: new SessionPool(sessions), store, context, hasApprovals, unsaid: sessions.warnings };
}

function definitionOf({ call: _, needs: __, ...tool }: Tool): ToolDefinition {
  return { ...tool, inputSchema: toJsonSchema(tool.inputSchema), _meta: CLAUDE_META };
}

/** Logs the command with which the user can approve a change, for users who read the log. */
function logApproval(answer: ToolAnswer, log: (line: string) => void): void {
  if (answer.ok) return;
  const { detail, path }: Readonly<Record<string, unknown>> = { ...answer.outcome };
  if (!isRecord(detail) || detail['cause'] !== 'approval' || typeof path !== 'string') return;
  log(`a change waits for your approval: lookfirst allow ${shellPath(path)} --once`);
}

/** The tools of a dialect that are offered with these options. */
export function offeredTools(
  { tools }: Dialect,
  {
    readOnly,
    commands = false,
  }: {
    readonly readOnly: boolean;
    readonly commands?: boolean | undefined;
  },
): readonly Tool[] {
  const allowed = tools.filter(({ needs }) => needs === undefined || commands);
  return allowed.filter((tool) => tool.annotations.readOnlyHint || !readOnly);
}

/** The workspace, wording and time that a dialect needs to render its texts. */
export function renderContext(
  { names: tools }: Dialect,
  source: { readonly roots: readonly string[]; readonly wording: PresetName; now(): number },
): RenderContext {
  const { roots, wording } = source;
  return {
    roots,
    tools,
    wording,
    get nowMs() {
      return source.now();
    },
  };
}

/** Validates a tool's arguments and translates them to an operation, or returns the reason they are invalid. */
export function translateCall(
  tool: Tool,
  args: unknown,
  dialect: Dialect,
): Call | { readonly reason: string } {
  const checked = checkArguments(tool.inputSchema, args, dialect.unknownArguments);
  if ('reason' in checked) return checked;
  const translated = tool.call(checked.args);
  const { note } = checked;
  const call = note === undefined || 'reason' in translated ? translated : { ...translated, note };
  return dialect.expandsHome === true && !('reason' in call) ? withPaths(call, withHome) : call;
}

/** Expands `~` and `~/…` as a shell does. */
function withHome(path: string): string {
  return expandHome(path, userHome());
}

/** Refuses invalid arguments. The refusal has no path, because it concerns the call, not a file. */
export function refuseArguments(tool: string, reason: string, context: RenderContext): ToolAnswer {
  const refusal = invalidArgument('call', '', reason);
  return { ok: false, text: explain({ ...refusal, path: tool }, context), outcome: refusalOutcome(refusal) };
}

/** The message for an unknown tool. Suggests a known name if one is similar. */
export function unknownTool(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return `Tool ${name} not found${near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`}`;
}

/** The members of operations and intents that contain paths. */
const PATHS: ReadonlySet<string> = new Set(['path', 'source', 'destination', 'moveTo']);

/** Applies `map` to every path in a call's arguments. */
export function withPaths(call: Call, map: (path: string) => string): Call {
  // Reads have code of their own, because mapping all members would take a tenth of the time of a
  // short read.
  if (call.kind === 'read') {
    const { path, ...read } = call.operation;
    return { ...call, operation: { ...read, path: map(path) } };
  }
  const operation: Record<string, unknown> = mapped(call.operation, map);
  const { paths, changes } = operation as { paths?: readonly string[]; changes?: readonly FileIntent[] };
  if (paths !== undefined) operation['paths'] = paths.map(map);
  if (changes !== undefined) operation['changes'] = changes.map((change) => mapped(change, map));
  // The cast is safe: only strings were replaced by strings.
  return { ...call, operation, asked: call.asked ?? call.operation } as unknown as Call;
}

/** If the glob of a call begins with the virtual root, makes the glob relative to that root. */
export function withVirtualGlobs(call: Call, virtualRoot: string): Call {
  const start = virtualRoot.endsWith('/') ? virtualRoot : `${virtualRoot}/`;
  const isVirtual = (glob: string | undefined): glob is string => glob?.startsWith(start) === true;
  if (call.kind === 'find' && isVirtual(call.operation.pattern)) {
    const { pattern, path = virtualRoot } = call.operation;
    return {
      ...call,
      operation: { ...call.operation, pattern: pattern.slice(start.length), path },
      asked: call.operation,
    };
  }
  if (call.kind === 'search' && isVirtual(call.operation.glob)) {
    const { glob, path = virtualRoot } = call.operation;
    return {
      ...call,
      operation: { ...call.operation, glob: glob.slice(start.length), path },
      asked: call.operation,
    };
  }
  return call;
}

function mapped(value: object, map: (path: string) => string): Record<string, unknown> {
  const entries = Object.entries(value).map(([name, member]): [string, unknown] =>
    PATHS.has(name) && typeof member === 'string' ? [name, map(member)] : [name, member],
  );
  return Object.fromEntries(entries);
}
