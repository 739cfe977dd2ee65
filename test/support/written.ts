import { formOf, type Parts, toolMessage, toolResult, writeParts } from '../../src/mcp/protocol.ts';
import type { ToolAnswer } from '../../src/tools/tool-answer.ts';
import type { ToolHost } from '../../src/tools/tool-host.ts';
import { JsonText } from '../../src/wire/lines.ts';

/** The text of a message as it would be sent. */
export function written(parts: Parts): string {
  const out = new JsonText(0);
  writeParts(parts, out);
  return out.finish().toString('utf8');
}

/** The result that a client would get for a tool's answer. */
export function resultOf(host: ToolHost, name: string, answer: ToolAnswer): Record<string, unknown> {
  const tool = host.tools().find((candidate) => candidate.name === name) ?? {};
  const server = { era: 'legacy', info: host.info } as const;
  return JSON.parse(written(toolMessage(1, toolResult(answer, formOf(tool)), server))).result;
}
