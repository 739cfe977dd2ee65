import type { HookCallback, HookCallbackMatcher, HookEvent } from '@anthropic-ai/claude-agent-sdk';
import { answerHook } from './hooks/answer-hook.ts';
import type { HookReply } from './hooks/event.ts';
import { HOOK_HOSTS } from './hooks/hosts/hook-hosts.ts';
import { hooksInProcess } from './hooks/respond.ts';
import { isRecord, stringIn } from './model/record.ts';
import type { GatedSession } from './session/gated-session.ts';
import { gatedSession, type SessionSource } from './tools/toolset.ts';

export { lookfirstServer, lookfirstTools, type ServerOptions } from './adapters/claude-agent-sdk.ts';

/** The hook events of Claude Code that the gate handles. */
const EVENTS = [
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'UserPromptSubmit',
  'SessionStart',
  'PostCompact',
  'SubagentStart',
  'SubagentStop',
  'Stop',
  'SessionEnd',
] as const satisfies readonly HookEvent[];

const CLAUDE_CODE = HOOK_HOSTS['claude-code'];

/**
 * The `hooks` option of an agent. The hooks run in this process. They judge each call of the
 * agent's file tools and shell before it runs, and record it afterwards. If a hook fails before a
 * change, the change is denied.
 */
export function lookfirstHooks(session: SessionSource): Partial<Record<HookEvent, HookCallbackMatcher[]>> {
  const respond = hooksInProcess('claude-code');
  const hook: HookCallback = async (input) => {
    const declaredEvent = (isRecord(input) ? stringIn(input, 'hook_event_name') : undefined) ?? '';
    const call = {
      host: CLAUDE_CODE,
      text: JSON.stringify(input),
      declaredEvent,
      onFailure: 'deny',
    } as const;
    const { stdout, stderr, exitCode } = await answerHook(call, async (event): Promise<HookReply> => {
      // Do not close the session at the end of the conversation: the program that opened it closes
      // it.
      const kind = event.kind === 'end' ? 'turn-end' : event.kind;
      return respond(await agentOf(gatedSession(session), event.session), { ...event, kind } as typeof event);
    });
    if (exitCode !== 0) return denial(stderr);
    // The text is the hook output that Claude Code would read from a hook process, as JSON.
    return stdout === '' ? {} : JSON.parse(stdout);
  };
  const matcherOf = (event: HookEvent): HookCallbackMatcher =>
    event === 'PreToolUse' ? { hooks: [hook], onFailure: 'block' } : { hooks: [hook] };
  return Object.fromEntries(EVENTS.map((event) => [event, [matcherOf(event)]]));
}

function denial(reason: string): Awaited<ReturnType<HookCallback>> {
  return {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: reason.trim(),
    },
  };
}

/**
 * The session of an event. Each sub-agent has its own, because it has not seen the files that its
 * parent has read. In a sub-agent's event, the session id ends with a slash and the sub-agent's id.
 */
async function agentOf(main: GatedSession, id: string): Promise<GatedSession> {
  const slash = id.indexOf('/');
  return slash < 0 ? main : gatedSession(await main.subAgent(`${main.id}${id.slice(slash)}`));
}
