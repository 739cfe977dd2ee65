import { nearest } from '../config/nearest.ts';
import { checkArguments } from '../dialect/check-arguments.ts';
import type { RenderContext } from '../dialect/render.ts';
import type { Call, Dialect, Tool } from '../dialect/tool.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
import type { JsonRecord } from '../model/record.ts';
import type { Refusal } from '../model/verdict.ts';
import { explain } from '../report/explain.ts';
import type { GatedSession } from '../session/gated-session.ts';
import type { Sessions } from '../session/sessions.ts';
import { performCall } from './perform-call.ts';
import { type ChoiceOptions, chooseSession } from './session-choice.ts';
import { SessionPool } from './session-pool.ts';
import type { ToolContext } from './tool-context.ts';
import { type Answer, refusalResult, successResult, type ToolResult } from './tool-result.ts';

/** One tool as it is listed to clients; `inputSchema` and `outputSchema` are JSON Schema objects. */
interface ToolDefinition {
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
}

/**
 * What a transport serves: the tools, without a word about how messages travel. One host serves many clients at once,
 * so its state lives by session, never by connection.
 */
export interface ToolHost {
  /** How the server introduces itself. */
  readonly info: { readonly name: string; readonly title?: string; readonly version: string };
  readonly instructions: string;
  /** In a fixed order, the same for every client. */
  tools(): readonly ToolDefinition[];
  /**
   * Runs one tool that `tools()` names. Refusals, bad arguments included, are results with `isError`; what it throws
   * is our own failure and reaches the client as a fixed sentence. After `signal` fires the answer is dropped.
   */
  call(name: string, args: JsonRecord, context: ToolContext): Awaitable<ToolResult>;
  /** A transport session ended or expired: nothing will come from this `sessionHint` again. */
  sessionEnded?(sessionHint: string): void;
}

export interface ToolHostOptions extends ChoiceOptions {
  /** Opens the workspace; asked once, by the first call: a client that only lists the tools need not wait for it. */
  readonly open: () => Promise<Sessions>;
  readonly dialect: Dialect;
  /** Offer only the tools that change nothing. The workspace's own policy refuses changes whatever is offered. */
  readonly readOnly: boolean;
  /** Of this package. */
  readonly version: string;
  /** For people. */
  readonly log: (line: string) => void;
}

/** The tools of a dialect over a workspace. */
export function createToolHost(options: ToolHostOptions): ToolHost {
  const { dialect, version, log } = options;
  const tools = dialect.tools.filter((tool) => tool.annotations.readOnlyHint || !options.readOnly);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const definitions = tools.map(definitionOf);
  let served: Awaitable<Served> | undefined;
  const open = async (): Promise<Served> => {
    served = await serve(options);
    return served;
  };
  return {
    info: { name: 'lookfirst', title: 'Lookfirst', version },
    instructions: dialect.instructions,
    tools: () => definitions,
    call: (name, args, surroundings) => {
      const tool = byName.get(name);
      if (tool === undefined) throw new TypeError(`no tool is called ${name}`);
      served ??= open();
      return andThen(served, ({ pool, context }) => {
        const call = understand(tool, args);
        if ('reason' in call) return refusedArguments(tool, call.reason, context);
        const choice = chooseSession(surroundings, options);
        if (choice.kind === 'invalid') return refusedArguments(tool, choice.reason, context);
        const perform = (session: GatedSession): Awaitable<Answer> =>
          performCall(call, { session, context, watch: surroundings });
        return andThen(pool.use(choice, perform), (answer) => {
          if (answer.ok)
            return successResult(answer, tool.outputSchema === undefined ? 'plain' : 'structured');
          const refusal = inTermsOf(dialect, answer.refusal);
          return refusalResult(inWords(call, refusal, context), refusal);
        });
      });
    },
    sessionEnded: (hint) => {
      if (served === undefined) return;
      const ended = andThen(served, ({ pool }) => pool.end(hint));
      Promise.resolve(ended).catch((error: unknown) =>
        log(`a session could not be closed: ${String(error)}`),
      );
    },
  };
}

/** What calls need of an open workspace. */
interface Served {
  readonly pool: SessionPool;
  readonly context: RenderContext;
}

async function serve({ open, dialect }: ToolHostOptions): Promise<Served> {
  const sessions = await open();
  const { policy, workspace, now } = sessions.world;
  const context: RenderContext = {
    roots: workspace.roots,
    tools: dialect.names,
    wording: policy.wording,
    get nowMs() {
      return now();
    },
  };
  return { pool: new SessionPool(sessions), context };
}

function definitionOf({ call: _, ...tool }: Tool): ToolDefinition {
  // The same JSON Schema; the protocol's type for it has no fixed members.
  return { ...tool, inputSchema: { ...tool.inputSchema } };
}

function understand(tool: Tool, args: JsonRecord): Call | { readonly reason: string } {
  const reason = checkArguments(tool.inputSchema, args, nearest);
  return reason === undefined ? tool.call(args) : { reason };
}

/** Arguments that make no sense concern the call, not a file: no path goes with the refusal. */
function refusedArguments(tool: Tool, reason: string, context: RenderContext): ToolResult {
  const refusal: Refusal = {
    code: 'INVALID_ARGUMENT',
    action: 'run',
    path: '',
    next: 'fix_argument',
    detail: { reason },
  };
  return refusalResult(explain({ ...refusal, path: tool.name }, context), refusal);
}

function inWords(call: Call, refusal: Refusal, context: RenderContext): string {
  const foreword = call.foreword?.(refusal, context);
  const text = explain(refusal, context);
  return foreword === undefined ? text : `${foreword}\n${text}`;
}

/** Reasons name arguments by the default dialect's words; here they get this one's. */
function inTermsOf({ terms }: Dialect, refusal: Refusal): Refusal {
  const reason = refusal.detail?.reason;
  if (refusal.code !== 'INVALID_ARGUMENT' || reason === undefined) return refusal;
  const said = reason.replace(/\b[a-z]+(?:_[a-z]+)?\b/g, (word) => terms[word] ?? word);
  return { ...refusal, detail: { ...refusal.detail, reason: said } };
}
