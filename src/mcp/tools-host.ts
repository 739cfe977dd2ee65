import { nearest } from '../config/nearest.ts';
import { checkArguments } from '../dialect/check-arguments.ts';
import type { Call, Dialect, Tool } from '../dialect/tool.ts';
import type { Words } from '../dialect/words.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
import type { Refusal } from '../model/verdict.ts';
import type { GatedSession } from '../session/gated-session.ts';
import type { Sessions } from '../session/sessions.ts';
import { TOOL_NAMES } from './dialect-names.ts';
import { performCall } from './perform-call.ts';
import { reportWords } from './report-words.ts';
import { type ChoiceOptions, chooseSession } from './session-choice.ts';
import { SessionPool } from './session-pool.ts';
import type { JsonObject, ToolDefinition, ToolHost, ToolResult } from './tool-host.ts';
import { type Answer, refusalResult, successResult } from './tool-results.ts';

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
    call: (name, args, context) => {
      const tool = byName.get(name);
      if (tool === undefined) throw new TypeError(`no tool is called ${name}`);
      served ??= open();
      return andThen(served, ({ pool, words }) => {
        const call = understand(tool, args);
        if ('reason' in call) return refusedArguments(tool, call.reason, words);
        const choice = chooseSession(context, options);
        if (choice.kind === 'invalid') return refusedArguments(tool, choice.reason, words);
        const perform = (session: GatedSession): Awaitable<Answer> =>
          performCall(call, { session, words, context });
        return andThen(pool.use(choice, perform), (answer) => {
          if (answer.ok)
            return successResult(answer, tool.outputSchema === undefined ? 'plain' : 'structured');
          const refusal = inTermsOf(dialect, answer.refusal);
          return refusalResult(inWords(call, refusal, words), refusal);
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
  readonly words: Words;
}

async function serve({ open, dialect }: ToolHostOptions): Promise<Served> {
  const sessions = await open();
  const { policy, workspace, now } = sessions.world;
  const tools = TOOL_NAMES[dialect.name];
  const words = reportWords({ roots: workspace.roots, tools, wording: policy.wording, now });
  return { pool: new SessionPool(sessions), words };
}

function definitionOf({ call: _, ...tool }: Tool): ToolDefinition {
  // The same JSON Schema; the protocol's type for it has no fixed members.
  return { ...tool, inputSchema: { ...tool.inputSchema } };
}

function understand(tool: Tool, args: JsonObject): Call | { readonly reason: string } {
  const reason = checkArguments(tool.inputSchema, args, nearest);
  return reason === undefined ? tool.call(args) : { reason };
}

/** Arguments that make no sense concern the call, not a file: no path goes with the refusal. */
function refusedArguments(tool: Tool, reason: string, words: Words): ToolResult {
  const refusal: Refusal = {
    code: 'INVALID_ARGUMENT',
    action: 'run',
    path: '',
    next: 'fix_argument',
    detail: { reason },
  };
  return refusalResult(words.refusal({ ...refusal, path: tool.name }), refusal);
}

function inWords(call: Call, refusal: Refusal, words: Words): string {
  const foreword = call.foreword?.(refusal, words);
  const text = words.refusal(refusal);
  return foreword === undefined ? text : `${foreword}\n${text}`;
}

/** Reasons name arguments by the default dialect's words; here they get this one's. */
function inTermsOf({ terms }: Dialect, refusal: Refusal): Refusal {
  const reason = refusal.detail?.reason;
  if (refusal.code !== 'INVALID_ARGUMENT' || reason === undefined) return refusal;
  const said = reason.replace(/\b[a-z]+(?:_[a-z]+)?\b/g, (word) => terms[word] ?? word);
  return { ...refusal, detail: { ...refusal.detail, reason: said } };
}
