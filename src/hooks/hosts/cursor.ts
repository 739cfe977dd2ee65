import { type JsonRecord, parseJson } from '../../model/record.ts';
import { type HookAnswer, type HookEvent, type Host, type Malformed, SILENT } from '../event.ts';
import { deniedOnStderr, optionalText, payloadText, sessionOf, workspaceRoots } from './payload.ts';

/**
 * Cursor. Its events have names in camel case, and it expects denials as `{permission,
 * agent_message}`. It shows the model additional text only after a call, not before it.
 */
export const CURSOR: Host = {
  name: 'cursor',
  projectVariable: 'CURSOR_PROJECT_DIR',
  contextBefore: false,
  understand,
  answer(reply, { kind, eventName }): HookAnswer {
    if (reply.verdict === 'deny') {
      if (kind !== 'before') return deniedOnStderr(reply.reason);
      const denial = {
        permission: 'deny',
        user_message: whatOf(reply.reason),
        agent_message: reply.reason,
      };
      return { ...SILENT, stdout: JSON.stringify(denial) };
    }
    if (reply.context === undefined || !WITH_CONTEXT.has(eventName)) return SILENT;
    return { ...SILENT, stdout: JSON.stringify({ additional_context: reply.context }) };
  },
};

const WITH_CONTEXT = new Set(['postToolUse', 'sessionStart']);

/**
 * The part of a reason that the user sees: the text before the next step, which is only for the
 * agent.
 */
function whatOf(reason: string): string {
  return reason.split(/\n| Next: /, 1)[0] ?? reason;
}

function understand(payload: JsonRecord): HookEvent | Malformed {
  const session = sessionOf(payload, 'conversation_id', 'session_id');
  if (session === undefined) return { kind: 'malformed', reason: 'the event has no conversation_id' };
  const context = {
    session,
    ...optionalText('turn', payload['generation_id']),
    ...optionalText('cwd', payload['cwd']),
    ...optionalText('transcript', payload['transcript_path']),
    ...workspaceRoots(payload['workspace_roots']),
  };
  const eventName = payloadText(payload['hook_event_name']);
  switch (eventName) {
    case 'preToolUse':
    case 'postToolUse':
    case 'postToolUseFailure': {
      const tool = payloadText(payload['tool_name']);
      if (tool === undefined) return { kind: 'malformed', reason: 'the event has no tool_name' };
      const call = { tool, input: payload['tool_input'], ...optionalText('call', payload['tool_use_id']) };
      if (eventName === 'preToolUse') return { ...context, ...call, kind: 'before' };
      if (eventName === 'postToolUse')
        return { ...context, ...call, kind: 'after', response: parsed(payload['tool_output']) };
      return { ...context, ...call, kind: 'failed', error: payloadText(payload['error_message']) ?? '' };
    }
    case 'beforeReadFile':
      // Treat this event as the result of a read. It contains the whole file, but the model may
      // have asked for some lines only. If so, the result after the read shows which.
      return {
        ...context,
        kind: 'after',
        tool: 'Read',
        input: { file_path: payload['file_path'] },
        response: { content: payload['content'] },
        isPartial: true,
      };
    case 'beforeSubmitPrompt':
      return { ...context, kind: 'prompt', prompt: payloadText(payload['prompt']) ?? '' };
    case 'sessionStart':
      return { ...context, kind: 'start', source: 'new' };
    case 'preCompact':
      return { ...context, kind: 'compacted' };
    case 'subagentStart':
      return { ...context, kind: 'agent-start' };
    case 'subagentStop':
      return { ...context, kind: 'agent-stop' };
    case 'stop':
      return { ...context, kind: 'turn-end' };
    case 'sessionEnd':
      return { ...context, kind: 'end' };
    default:
      // Ignores afterFileEdit, beforeShellExecution and afterShellExecution: `preToolUse` and
      // `postToolUse` report the same calls.
      return { ...context, kind: 'other' };
  }
}

/** Parses a tool's result, which Cursor sends as JSON text. */
function parsed(output: unknown): unknown {
  return typeof output === 'string' ? (parseJson(output) ?? output) : output;
}
