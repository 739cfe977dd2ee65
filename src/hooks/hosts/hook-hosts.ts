import type { HostName } from '../../config/hook-flags.ts';
import { isRecord, type JsonRecord, parseJson } from '../../model/record.ts';
import type { Host } from '../event.ts';
import { type CommonForm, hostOf } from './common-form.ts';
import { GENERIC } from './generic.ts';
import { OPENCODE } from './opencode.ts';
import { payloadText } from './payload.ts';

// No host has an event for worktrees, which are found through git. With a hook for WorktreeCreate,
// Claude Code would not create worktrees itself.
const CLAUDE_EVENTS = [
  ['PreToolUse', 'before'],
  ['PostToolUse', 'after'],
  ['PostToolUseFailure', 'failed'],
  ['UserPromptSubmit', 'prompt'],
  ['SessionStart', 'start'],
  ['SubagentStart', 'agent-start'],
  ['SubagentStop', 'agent-stop'],
  ['Stop', 'turn-end'],
  ['SessionEnd', 'end'],
] as const;

/** Claude Code, Codex and VS Code. Codex and VS Code ignore a decision outside `hookSpecificOutput`. */
const CLAUDE_FORM = {
  sessionFields: ['session_id', 'sessionId'],
  events: new Map([...CLAUDE_EVENTS, ['PostCompact', 'compacted']]),
  withContext: new Set([
    'PreToolUse',
    'PostToolUse',
    'PostToolUseFailure',
    'UserPromptSubmit',
    'SessionStart',
  ]),
  denial: (reason, hookEventName) => ({
    hookSpecificOutput: { hookEventName, permissionDecision: 'deny', permissionDecisionReason: reason },
  }),
  context: (additionalContext, hookEventName) => ({
    hookSpecificOutput: { hookEventName, additionalContext },
  }),
} as const satisfies Omit<CommonForm, 'name'>;

const CLAUDE_CODE = hostOf({
  ...CLAUDE_FORM,
  name: 'claude-code',
  projectVariable: 'CLAUDE_PROJECT_DIR',
  turnField: 'prompt_id',
});

const CODEX = hostOf({
  ...CLAUDE_FORM,
  name: 'codex',
  turnField: 'turn_id',
  // Codex puts a full stop after the reason: `Command blocked by PreToolUse hook: REASON. Command: TEXT`.
  denial: (reason, eventName) => CLAUDE_FORM.denial(reason.replace(/\.$/, ''), eventName),
});

const VSCODE = hostOf({
  ...CLAUDE_FORM,
  name: 'vscode',
  // VS Code sends no event after a compaction.
  events: new Map([...CLAUDE_EVENTS, ['PreCompact', 'compacted']]),
});

/** Gemini CLI sends no call ids and no separate event for failures. */
const GEMINI = hostOf({
  name: 'gemini',
  projectVariable: 'GEMINI_PROJECT_DIR',
  sessionFields: ['session_id'],
  // PreCompress fires before every model turn, even if nothing is compressed, so it does not prove a
  // compaction.
  events: new Map([
    ['BeforeTool', 'before'],
    ['AfterTool', 'after'],
    ['BeforeAgent', 'prompt'],
    ['AfterAgent', 'turn-end'],
    ['SessionStart', 'start'],
    ['SessionEnd', 'end'],
  ]),
  withContext: new Set(['AfterTool', 'BeforeAgent', 'SessionStart']),
  errorIn(response) {
    const error = isRecord(response) ? response['error'] : undefined;
    return isRecord(error) ? (payloadText(error['message']) ?? 'the tool failed') : undefined;
  },
  denial: (reason) => ({ decision: 'deny', reason }),
  context: CLAUDE_FORM.context,
});

/** Cursor shows the model additional text only after a call, not before it. */
const CURSOR_FORM = hostOf({
  name: 'cursor',
  projectVariable: 'CURSOR_PROJECT_DIR',
  sessionFields: ['conversation_id', 'session_id'],
  turnField: 'generation_id',
  // Cursor also sends afterFileEdit, beforeShellExecution and afterShellExecution for the same calls.
  events: new Map([
    ['preToolUse', 'before'],
    ['postToolUse', 'after'],
    ['postToolUseFailure', 'failed'],
    ['beforeSubmitPrompt', 'prompt'],
    ['sessionStart', 'start'],
    ['preCompact', 'compacted'],
    ['subagentStart', 'agent-start'],
    ['subagentStop', 'agent-stop'],
    ['stop', 'turn-end'],
    ['sessionEnd', 'end'],
  ]),
  withContext: new Set(['postToolUse', 'sessionStart']),
  response({ tool_output: output }) {
    return typeof output === 'string' ? (parseJson(output) ?? output) : output;
  },
  denial: (reason) => ({
    permission: 'deny',
    // The user sees the text before the next step, which is only for the agent.
    user_message: reason.split(/\n| Next: /, 1)[0] ?? reason,
    agent_message: reason,
  }),
  context: (text) => ({ additional_context: text }),
});

const CURSOR: Host = {
  ...CURSOR_FORM,
  understand(payload) {
    const { hook_event_name: name, file_path, content } = payload;
    if (name !== 'beforeReadFile') return CURSOR_FORM.understand(payload);
    // Treat this event as the result of a read. It contains the whole file, but the model may have
    // asked for some lines only. If so, the result after the read shows which.
    const read: JsonRecord = { tool_name: 'Read', tool_input: { file_path }, tool_output: { content } };
    const event = CURSOR_FORM.understand({ ...payload, ...read, hook_event_name: 'postToolUse' });
    return event.kind === 'after' ? { ...event, isPartial: true } : event;
  },
};

/** Every agent program with hooks, by the name that `lookfirst hook` takes. */
export const HOOK_HOSTS: Readonly<Record<HostName, Host>> = {
  'claude-code': CLAUDE_CODE,
  codex: CODEX,
  gemini: GEMINI,
  cursor: CURSOR,
  vscode: VSCODE,
  opencode: OPENCODE,
  generic: GENERIC,
};
