import type { ScribeKind } from '../scribe.ts';
import { ANTHROPIC_MESSAGES } from './anthropic-messages.ts';
import { CLAUDE_AGENT, CLAUDE_CODE } from './claude-code.ts';
import { CODEX } from './codex.ts';
import { GEMINI } from './gemini.ts';
import { MCP_LOG } from './mcp-log.ts';
import { OPENAI_AGENTS } from './openai-agents.ts';
import { THREAD_EVENTS } from './thread-events.ts';

/** The scribes of all formats. A scribe writes a conversation as a host would record it. */
export const SCRIBES: readonly ScribeKind[] = [
  THREAD_EVENTS,
  ANTHROPIC_MESSAGES,
  CLAUDE_CODE,
  CLAUDE_AGENT,
  OPENAI_AGENTS,
  CODEX,
  GEMINI,
  MCP_LOG,
];
