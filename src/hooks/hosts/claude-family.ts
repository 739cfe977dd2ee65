import type { HostName } from '../../config/hook-flags.ts';
import type { JsonRecord } from '../../model/record.ts';
import {
  type HookAnswer,
  type HookEvent,
  type HookReply,
  type Host,
  type Malformed,
  SILENT,
} from '../event.ts';
import { deniedOnStderr, optionalText, payloadText, sessionOf } from './payload.ts';

/** The differences between the programs that share Claude Code's form of hooks. */
interface FamilyMember {
  readonly name: HostName;
  readonly projectVariable?: string;
  /** The field of an event that names the turn; undefined if the program sends none. */
  readonly turnField?: string;
  /** The event that reports a compaction. Hosts that send no event after a compaction have only `PreCompact`. */
  readonly compaction: 'PostCompact' | 'PreCompact';
  /** True if the program puts a full stop after the reason of a denial. */
  readonly addsStop?: true;
}

/** A host with Claude Code's events and answers: `hook_event_name`, `tool_name`, `hookSpecificOutput`. */
export function claudeFamily(member: FamilyMember): Host {
  const { name, projectVariable } = member;
  return {
    name,
    ...(projectVariable === undefined ? {} : { projectVariable }),
    contextBefore: true,
    understand: (payload) => understand(member, payload),
    answer: (reply, event) => answer(member, reply, event),
  };
}

function understand(member: FamilyMember, payload: JsonRecord): HookEvent | Malformed {
  const session = sessionOf(payload, 'session_id', 'sessionId');
  if (session === undefined) return { kind: 'malformed', reason: 'the event has no session_id' };
  const context = {
    session,
    ...optionalText('turn', member.turnField === undefined ? undefined : payload[member.turnField]),
    ...optionalText('cwd', payload['cwd']),
    ...optionalText('transcript', payload['transcript_path']),
  };
  const eventName = payloadText(payload['hook_event_name']) ?? payloadText(payload['hookEventName']) ?? '';
  switch (eventName) {
    case 'PreToolUse':
    case 'PostToolUse':
    case 'PostToolUseFailure': {
      const call = toolCall(payload);
      if ('kind' in call) return call;
      if (eventName === 'PreToolUse') return { ...context, ...call, kind: 'before' };
      if (eventName === 'PostToolUse')
        return { ...context, ...call, kind: 'after', response: payload['tool_response'] };
      return { ...context, ...call, kind: 'failed', error: payloadText(payload['error']) ?? '' };
    }
    case 'UserPromptSubmit':
      return { ...context, kind: 'prompt', prompt: payloadText(payload['prompt']) ?? '' };
    case 'SessionStart':
      return { ...context, ...startOf(payloadText(payload['source'])) };
    case 'PreCompact':
    case 'PostCompact':
      return { ...context, kind: eventName === member.compaction ? 'compacted' : 'other' };
    case 'SubagentStart':
      return { ...context, kind: 'agent-start' };
    case 'SubagentStop':
      return { ...context, kind: 'agent-stop' };
    case 'Stop':
      return { ...context, kind: 'turn-end' };
    // There are no cases for worktrees, which are found through git. With a hook for WorktreeCreate,
    // Claude Code would not create worktrees itself.
    case 'SessionEnd':
      return { ...context, kind: 'end' };
    default:
      return { ...context, kind: 'other' };
  }
}

function toolCall(payload: JsonRecord): { tool: string; input: unknown; call?: string } | Malformed {
  const tool = payloadText(payload['tool_name']);
  if (tool === undefined) return { kind: 'malformed', reason: 'the event has no tool_name' };
  return { tool, input: payload['tool_input'], ...optionalText('call', payload['tool_use_id']) };
}

function startOf(
  source: string | undefined,
): { kind: 'start'; source: 'new' | 'resumed' | 'cleared' } | { kind: 'compacted' } {
  switch (source) {
    case 'compact':
      return { kind: 'compacted' };
    case 'clear':
      return { kind: 'start', source: 'cleared' };
    case 'resume':
    case 'fork':
      return { kind: 'start', source: 'resumed' };
    default:
      return { kind: 'start', source: 'new' };
  }
}

/** Events whose answer may carry a context that the model reads. */
const WITH_CONTEXT = new Set([
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'UserPromptSubmit',
  'SessionStart',
]);

/**
 * Converts a reply to the form that the host expects. The decision is inside `hookSpecificOutput`,
 * because Codex and VS Code ignore it elsewhere.
 */
function answer(
  { addsStop }: FamilyMember,
  reply: HookReply,
  { eventName }: { readonly eventName: string; readonly kind: string },
): HookAnswer {
  if (reply.verdict === 'deny') {
    if (eventName !== 'PreToolUse') return deniedOnStderr(reply.reason);
    return specific({
      hookEventName: eventName,
      permissionDecision: 'deny',
      permissionDecisionReason: addsStop === true ? reply.reason.replace(/\.$/, '') : reply.reason,
    });
  }
  if (reply.context === undefined || !WITH_CONTEXT.has(eventName)) return SILENT;
  return specific({ hookEventName: eventName, additionalContext: reply.context });
}

function specific(hookSpecificOutput: JsonRecord): HookAnswer {
  return { ...SILENT, stdout: JSON.stringify({ hookSpecificOutput }) };
}
