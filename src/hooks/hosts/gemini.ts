import { isRecord, type JsonRecord } from '../../model/record.ts';
import { type HookAnswer, type HookEvent, type Host, type Malformed, SILENT } from '../event.ts';
import { deniedOnStderr, optionalText, payloadText, sessionOf } from './payload.ts';

/** Gemini CLI: `BeforeTool` and `AfterTool` without a call id, answers in the form `{decision, reason}`. */
export const GEMINI_HOST: Host = {
  name: 'gemini',
  projectVariable: 'GEMINI_PROJECT_DIR',
  contextBefore: false,
  understand,
  answer(reply, { eventName }): HookAnswer {
    if (reply.verdict === 'deny') {
      if (eventName !== 'BeforeTool') return deniedOnStderr(reply.reason);
      return { ...SILENT, stdout: JSON.stringify({ decision: 'deny', reason: reply.reason }) };
    }
    if (reply.context === undefined || !WITH_CONTEXT.has(eventName)) return SILENT;
    const hookSpecificOutput = { hookEventName: eventName, additionalContext: reply.context };
    return { ...SILENT, stdout: JSON.stringify({ hookSpecificOutput }) };
  },
};

const WITH_CONTEXT = new Set(['AfterTool', 'BeforeAgent', 'SessionStart']);

function understand(payload: JsonRecord): HookEvent | Malformed {
  const session = sessionOf(payload, 'session_id');
  if (session === undefined) return { kind: 'malformed', reason: 'the event has no session_id' };
  const context = {
    session,
    ...optionalText('cwd', payload['cwd']),
    ...optionalText('transcript', payload['transcript_path']),
  };
  switch (payloadText(payload['hook_event_name'])) {
    case 'BeforeTool':
    case 'AfterTool': {
      const tool = payloadText(payload['tool_name']);
      if (tool === undefined) return { kind: 'malformed', reason: 'the event has no tool_name' };
      const call = { tool, input: payload['tool_input'] };
      if (payload['hook_event_name'] === 'BeforeTool') return { ...context, ...call, kind: 'before' };
      const response = payload['tool_response'];
      const error = errorOf(response);
      if (error !== undefined) return { ...context, ...call, kind: 'failed', error };
      return { ...context, ...call, kind: 'after', response };
    }
    case 'BeforeAgent':
      return { ...context, kind: 'prompt', prompt: payloadText(payload['prompt']) ?? '' };
    case 'AfterAgent':
      return { ...context, kind: 'turn-end' };
    case 'SessionStart': {
      const source = payloadText(payload['source']);
      const known = source === 'resume' ? 'resumed' : source === 'clear' ? 'cleared' : 'new';
      return { ...context, kind: 'start', source: known };
    }
    case 'SessionEnd':
      return { ...context, kind: 'end' };
    default:
      // PreCompress fires before every model turn, even if nothing is compressed, so it does not
      // prove a compaction.
      return { ...context, kind: 'other' };
  }
}

/**
 * The error message in the response to a failed call; undefined if the call succeeded. Gemini has
 * no separate event for failures.
 */
function errorOf(response: unknown): string | undefined {
  if (!isRecord(response) || !isRecord(response['error'])) return undefined;
  return payloadText(response['error']['message']) ?? 'the tool failed';
}
