import { isRecord, type JsonRecord } from '../model/record.ts';
import { SESSION_KEY } from '../tools/session-choice.ts';
import { COMPACTED_METHOD, CONTEXT_KEY, TURN_KEY } from '../tools/session-events.ts';
import type { ToolHost } from '../tools/tool-host.ts';
import { metaOf } from './envelope.ts';

/** The messages of a POST with the session that the address names; a message that names its own keeps it. */
export function inSession(body: unknown, session: string | undefined): unknown {
  if (session === undefined) return body;
  if (Array.isArray(body)) return body.map((message) => inSession(message, session));
  if (!isRecord(body) || typeof body['method'] !== 'string') return body;
  const params = isRecord(body['params']) ? body['params'] : {};
  return { ...body, params: { ...params, _meta: { [SESSION_KEY]: session, ...metaOf(params) } } };
}

/** Applies what messages other than tool calls say about their session; the SDK ignores it. */
export async function reportEvents(
  body: unknown,
  host: ToolHost,
  sessionHint: string | undefined,
): Promise<void> {
  for (const message of Array.isArray(body) ? body : [body]) {
    const meta = isRecord(message) ? eventMeta(message) : undefined;
    if (meta !== undefined) await host.report?.({ meta, sessionHint });
  }
}

function eventMeta({ method, params }: JsonRecord): JsonRecord | undefined {
  const meta = isRecord(params) ? metaOf(params) : {};
  if (method === COMPACTED_METHOD) return { ...meta, [CONTEXT_KEY]: 'compacted' };
  return (CONTEXT_KEY in meta || TURN_KEY in meta) && method !== 'tools/call' ? meta : undefined;
}
