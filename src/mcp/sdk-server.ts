import {
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { CallTimes } from '../model/foreign-session.ts';
import { defined, isRecord, type JsonRecord } from '../model/record.ts';
import { describe, failureAnswer } from '../tools/failure.ts';
import type { ToolContext } from '../tools/tool-answer.ts';
import { type ToolHost, unknownTool } from '../tools/tool-host.ts';
import { JsonText } from '../wire/lines.ts';
import { approvalForm, approvalOf, type HeldCalls, QUESTION_MS } from './approval.ts';
import {
  CAPABILITIES,
  CLIENT_CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  canElicit,
  type Era,
  formOf,
  implementationOf,
  isRequestId,
  LEGACY_VERSIONS,
  metaOf,
  type ToolResult,
  toolResult,
} from './protocol.ts';
import { inputRead } from './stdio-loop.ts';

/** A tool result in the SDK's form, always an object. */
type CallResult = JsonRecord & { readonly content: readonly JsonRecord[] };

export interface SdkServerOptions {
  /** Receives messages for the user. */
  readonly log: (line: string) => void;
  /**
   * Calls of clients of revision 2026-07-28 that wait for the user's approval. All requests share
   * this list.
   */
  readonly held: HeldCalls;
  /** The arrival time of the request that is being served, as `performance.now()`. Default: now. */
  readonly arrivedAt?: () => number;
  /** True if the client of the request that is being served has disconnected. Default: false. */
  readonly isClientGone?: () => boolean;
}

/**
 * An SDK server for a host: one per session of a legacy client, one per request of a modern client.
 * It keeps no state. Importing this loads the SDK and zod, so the stdio loop must not import it.
 */
export function sdkServer(host: ToolHost, era: Era, options: SdkServerOptions): Server {
  const { log, held, arrivedAt, isClientGone = () => false } = options;
  const server = new Server(
    { ...host.info },
    {
      capabilities: CAPABILITIES[era],
      instructions: host.instructions,
      supportedProtocolVersions: [...LEGACY_VERSIONS],
    },
  );
  const tools = new Map(host.tools().map((tool) => [tool.name, tool]));
  // The casts are safe: the SDK's types want mutable arrays and its own JSON types; the values are the same.
  server.setRequestHandler('tools/list', () => ({ tools: host.tools() }) as never);
  server.setRequestHandler('tools/call', async (request, context) => {
    const { name, arguments: args = {} } = request.params;
    const tool = tools.get(name);
    if (tool === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, unknownTool(name, [...tools.keys()]));
    const times: CallTimes = {
      arrivedAt: arrivedAt?.() ?? performance.now(),
      answeredAt: Number.POSITIVE_INFINITY,
    };
    try {
      const called = { name, args, context: { ...toolContext(server, context), times } };
      const { inputResponses, requestState, envelope } = context.mcpReq;
      const answer = await (isRecord(envelope) && canElicit(envelope[CLIENT_CAPABILITIES_KEY])
        ? held.run(host, { ...called, inputResponses, requestState: requestState() })
        : host.call(name, args, called.context));
      if ('inputRequests' in answer) return inputRequired({ ...answer });
      const { signal } = context.mcpReq;
      await beforeAnswer(times, () => signal.aborted || isClientGone());
      return objectOf(toolResult(answer, formOf(tool))) as never;
    } catch (error) {
      if (!context.mcpReq.signal.aborted) log(`${name} failed: ${describe(error)}`);
      return objectOf(toolResult(failureAnswer(name, error), 'plain')) as never;
    }
  });
  return server;
}

/**
 * Records the time at which an answer is about to be sent. Records none if the call was cancelled
 * or the client has disconnected: the client then gets no answer, so what the answer shows does not
 * count as seen.
 */
async function beforeAnswer(times: CallTimes, isLost: () => boolean): Promise<void> {
  // Before taking the time, read the input that has already arrived. The client sent it before it
  // could see this answer, so it must get an earlier time than the answer.
  if (times.showsMore === true) await inputRead();
  if (!isLost()) times.answeredAt = performance.now();
}

/**
 * Converts a result to the SDK's form. The SDK needs a string, so text that is stored as escaped
 * JSON bytes is parsed. The server over stdio sends these bytes directly instead.
 */
function objectOf(result: ToolResult): CallResult {
  if (result.kind === 'object') return result.result;
  const escaped = new JsonText(result.escaped.expectedBytes);
  result.escaped.writeTo(escaped);
  const text: string = JSON.parse(`"${escaped.finish().toString('utf8')}"`);
  return {
    content: [{ type: 'text', text }],
    ...(result.structuredAs === undefined ? {} : { structuredContent: { [result.structuredAs]: text } }),
    ...defined({ isError: result.isError, _meta: result.meta }),
  };
}

/** Asks the user of a legacy client through the stream of the call. */
function approver({ mcpReq }: ServerContext): NonNullable<ToolContext['approve']> {
  // Name the call, so that the question uses the stream of the call. Without that, it would go to
  // the client's own event stream, which many clients do not open, and the call would hang.
  const options = { signal: mcpReq.signal, timeout: QUESTION_MS, relatedRequestId: mcpReq.id };
  return async (request) => {
    try {
      return approvalOf(await mcpReq.elicitInput(approvalForm(request), options));
    } catch {
      // The question was cancelled, timed out or is not supported, so the change is not approved.
      return undefined;
    }
  };
}

function toolContext(server: Server, context: ServerContext): ToolContext {
  const { signal, envelope, _meta, notify } = context.mcpReq;
  const meta: JsonRecord = metaOf({ _meta });
  const token = meta['progressToken'];
  const claimed = isRecord(envelope) ? envelope[CLIENT_INFO_KEY] : server.getClientVersion();
  let last = Number.NEGATIVE_INFINITY;
  return {
    signal,
    meta,
    clientInfo: implementationOf(claimed),
    sessionHint: context.sessionId,
    approve:
      envelope === undefined && canElicit(server.getClientCapabilities()) ? approver(context) : undefined,
    progress: (done, total, message) => {
      if (!isRequestId(token) || done <= last || signal.aborted) return;
      last = done;
      const params = {
        progressToken: token,
        progress: done,
        ...defined({ total, message }),
      };
      // Ignore errors: the client may have disconnected.
      notify({ method: 'notifications/progress', params }).catch(() => {});
    },
  };
}
