import { homedir } from 'node:os';
import { checkArguments } from '../dialect/check-arguments.ts';
import type { RenderContext } from '../dialect/render.ts';
import type { Call, Dialect, Tool } from '../dialect/tool.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
import { nearestName } from '../model/nearest-name.ts';
import type { PresetName } from '../model/policy.ts';
import type { Refusal } from '../model/verdict.ts';
import { explain } from '../report/explain.ts';
import { refusalOutcome } from '../report/json.ts';
import { withPaths } from './map-paths.ts';
import { type Performing, performCall } from './perform-call.ts';
import type { ToolAnswer } from './tool-answer.ts';

/** The tools of a dialect that are offered with these options. */
export function offeredTools(
  { tools }: Dialect,
  {
    readOnly,
    commands = false,
    claims = false,
  }: {
    readonly readOnly: boolean;
    readonly commands?: boolean | undefined;
    readonly claims?: boolean | undefined;
  },
): readonly Tool[] {
  const offered = { commands, claims };
  const allowed = tools.filter(({ needs }) => needs === undefined || offered[needs]);
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
  const call = tool.call(checked.args);
  return dialect.expandsHome === true && !('reason' in call) ? withPaths(call, withHome) : call;
}

/** Expands `~` and `~/…` as a shell does. */
function withHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? homedir() + path.slice(1) : path;
}

/** Performs a translated call and answers in the dialect's wording. */
export function callTool(call: Call, dialect: Dialect, performing: Performing): Awaitable<ToolAnswer> {
  return andThen(performCall(call, performing), (performed): ToolAnswer => {
    if (performed.ok) return performed;
    const refusal = inTermsOf(dialect, performed.refusal);
    const foreword = call.foreword?.(refusal, performing.context);
    const text = explain(refusal, performing.context);
    return {
      ok: false,
      text: foreword === undefined ? text : `${foreword}\n${text}`,
      outcome: refusalOutcome(refusal),
    };
  });
}

/** Refuses invalid arguments. The refusal has no path, because it concerns the call, not a file. */
export function refuseArguments(tool: string, reason: string, context: RenderContext): ToolAnswer {
  const refusal: Refusal = {
    code: 'INVALID_ARGUMENT',
    action: 'call',
    path: '',
    next: 'fix_argument',
    detail: { reason },
  };
  return { ok: false, text: explain({ ...refusal, path: tool }, context), outcome: refusalOutcome(refusal) };
}

/** The message for an unknown tool; suggests the nearest known name. */
export function unknownTool(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return `Tool ${name} not found${near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`}`;
}

/** Replaces the default dialect's argument names in a reason by this dialect's names. */
function inTermsOf({ terms }: Dialect, refusal: Refusal): Refusal {
  const reason = refusal.detail?.reason;
  if (refusal.code !== 'INVALID_ARGUMENT' || reason === undefined) return refusal;
  const named = reason.replace(/\b[a-z]+(?:_[a-z]+)?\b/g, (word) => terms[word] ?? word);
  return { ...refusal, detail: { ...refusal.detail, reason: named } };
}
