import type { RenderContext } from '../dialect/render.ts';
import type { Dialect, Tool } from '../dialect/tool.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
import { Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Store } from '../store/store.ts';
import { callTool, offeredTools, refuseArguments, renderContext, translateCall } from './call-tool.ts';
import { type ChoiceOptions, type Chosen, chooseSession, subAgentChoice } from './session-choice.ts';
import { eventsIn } from './session-events.ts';
import { SessionPool } from './session-pool.ts';
import { type ToolAnswer, withText } from './tool-answer.ts';
import type { ToolContext } from './tool-context.ts';

/** One tool as it is listed to clients; `inputSchema` and `outputSchema` are JSON Schema objects. */
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
   * Runs one tool that `tools()` names. Refusals, bad arguments included, are answers; what it throws
   * is our own failure and reaches the client as a fixed sentence. After `signal` fires the answer is dropped.
   */
  call(name: string, args: JsonRecord, context: ToolContext): Awaitable<ToolAnswer>;
  /** Applies what the `_meta` of a notification, or of a request other than a tool call, says about its session. */
  report?(context: Pick<ToolContext, 'meta' | 'sessionHint'>): Awaitable<void>;
  /** The workspace was opened anew: later calls use it. */
  renew?(): void;
  /** A transport session ended or expired: nothing will come from this `sessionHint` again. */
  sessionEnded?(sessionHint: string): void;
}

export interface ToolHostOptions extends ChoiceOptions {
  /** Opens the workspace; asked once, by the first call: a client that only lists the tools need not wait for it. */
  readonly open: () => Promise<Sessions>;
  readonly dialect: Dialect;
  /** Offer only the tools that change nothing. The workspace's own policy refuses changes whatever is offered. */
  readonly readOnly: boolean;
  /** Offer the tool that runs commands; default: no. */
  readonly commands?: boolean | undefined;
  /** Offer the tools that claim and release paths; default: no. */
  readonly claims?: boolean | undefined;
  /** Of this package. */
  readonly version: string;
  /** For people. */
  readonly log: (line: string) => void;
}

/** Clients with tool search offer such tools at once: an agent must not fall back to ungated tools for want of these. */
const ALWAYS_LOADED = { 'anthropic/alwaysLoad': true } as const;

/** The tools of a dialect over a workspace. */
export function createToolHost(options: ToolHostOptions): ToolHost {
  const { dialect, version, log } = options;
  const tools = offeredTools(dialect, options);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const definitions = tools.map(definitionOf);
  let served: Awaitable<Served> | undefined;
  let unsaid: readonly string[] = [];
  const open = (): Promise<Served> => {
    const opening: Promise<Served> = serve(options).then(
      (opened) => {
        if (served === opening) served = opened;
        unsaid = opened.warnings;
        return opened;
      },
      (error: unknown) => {
        // The next call tries again.
        if (served === opening) served = undefined;
        throw error;
      },
    );
    return opening;
  };
  /** What went wrong at the start is said once, in the first answer. */
  const withWarnings = (answer: ToolAnswer): ToolAnswer => {
    if (unsaid.length === 0) return answer;
    const said = unsaid.map((warning) => `[lookfirst: ${warning}]`).join('\n');
    unsaid = [];
    return withText(answer, said);
  };
  return {
    info: { name: 'lookfirst', title: 'Lookfirst', version },
    instructions: dialect.instructions,
    tools: () => definitions,
    call: (name, args, surroundings) => {
      const tool = byName.get(name);
      if (tool === undefined) throw new TypeError(`no tool is called ${name}`);
      served ??= open();
      const answer = andThen(served, ({ pool, context, store }) => {
        const chosen = chooseSession(surroundings, options);
        if (chosen.kind === 'invalid') return refuseArguments(name, chosen.reason, context);
        const events = eventsIn(surroundings.meta);
        if (events.kind === 'invalid') return refuseArguments(name, events.reason, context);
        const run = (choice: Chosen): Awaitable<ToolAnswer> => {
          const call = translateCall(tool, args, dialect);
          if ('reason' in call) return refuseArguments(name, call.reason, context);
          const answered = pool.use(
            choice,
            (session) =>
              callTool(call, dialect, { session, tool: name, context, watch: surroundings, form: 'bytes' }),
            surroundings.clientInfo?.name,
          );
          return andThen(answered, (each) => {
            logApproval(each, log);
            return each;
          });
        };
        return andThen(subAgentChoice(store, chosen, surroundings.meta) ?? chosen, (choice) =>
          events.kind === 'none' ? run(choice) : pool.before(choice, events.apply).then(() => run(choice)),
        );
      });
      return unsaid.length === 0 && !(answer instanceof Promise) ? answer : andThen(answer, withWarnings);
    },
    report: (surroundings) => {
      const events = eventsIn(surroundings.meta);
      const choice = chooseSession(surroundings, options);
      if (events.kind === 'none') return;
      if (events.kind === 'invalid') throw new Fault('MISUSE', events.reason);
      if (choice.kind === 'invalid') throw new Fault('MISUSE', choice.reason);
      served ??= open();
      return andThen(served, ({ pool }) => pool.before(choice, events.apply));
    },
    renew: () => {
      served = undefined;
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
  readonly store: Store;
  readonly context: RenderContext;
  readonly warnings: readonly string[];
}

async function serve({ open, dialect }: ToolHostOptions): Promise<Served> {
  const sessions = await open();
  const { policy, workspace, store, now } = sessions.world;
  const context = renderContext(dialect, { roots: workspace.roots, wording: policy.wording, now });
  return { pool: new SessionPool(sessions), store, context, warnings: store.warnings };
}

function definitionOf({ call: _, needs: __, ...tool }: Tool): ToolDefinition {
  // The same JSON Schema; the protocol's type for it has no fixed members.
  return { ...tool, inputSchema: { ...tool.inputSchema }, _meta: ALWAYS_LOADED };
}

/** Tells people how to approve a change; the agent is only told to ask them. */
function logApproval(answer: ToolAnswer, log: (line: string) => void): void {
  const outcome: Readonly<Record<string, unknown>> = { ...answer.outcome };
  const { detail, path } = { detail: outcome['detail'], path: outcome['path'] };
  if (answer.ok || !isRecord(detail) || detail['reason'] !== 'approval') return;
  log(`a change waits for your approval: lookfirst allow ${JSON.stringify(path ?? '')} --once`);
}
