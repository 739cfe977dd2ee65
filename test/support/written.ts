import { messageBytes, type Parts, toolMessage } from '../../src/mcp/protocol.ts';
import type { ToolAnswer } from '../../src/tools/tool-answer.ts';
import type { ToolHost } from '../../src/tools/tool-host.ts';

/** The text of a message as it would be sent. */
export function written(parts: Parts): string {
  return messageBytes(parts).toString('utf8');
}

/** The result that a client would get for a tool's answer. */
export function resultOf(host: ToolHost, name: string, answer: ToolAnswer): Record<string, unknown> {
  const tool = host.tools().find((candidate) => candidate.name === name) ?? {};
  const asked = { tool, era: 'legacy', info: host.info } as const;
  return JSON.parse(written(toolMessage(1, answer, asked))).result;
}
