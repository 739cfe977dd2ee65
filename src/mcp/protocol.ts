import { isAscii, isUtf8 } from 'node:buffer';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { OUTCOME_KEY } from '../report/json.ts';
import type { ToolAnswer } from '../tools/tool-answer.ts';
import { type Escaped, JsonText } from '../wire/lines.ts';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
} from '../wire/rpc.ts';

/** Revisions supported by `initialize`, newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
export type LegacyVersion = (typeof LEGACY_VERSIONS)[number];

/**
 * Revisions without `initialize`: every request names its revision and needs no earlier request.
 */
export const MODERN_VERSIONS = ['2026-07-28'] as const;

/** The only revision in which one line may contain several messages. */
export const BATCH_VERSION: LegacyVersion = '2025-03-26';

/**
 * `legacy`: protocol revisions that client and server agree on with `initialize`. `modern`:
 * 2026-07-28, where every request names its revision and client in `_meta`.
 */
export type Era = 'legacy' | 'modern';

/** The name and version of a client or server. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

const PROTOCOL_VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const CLIENT_INFO_KEY = 'io.modelcontextprotocol/clientInfo';
export const CLIENT_CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
const SERVER_INFO_KEY = 'io.modelcontextprotocol/serverInfo';
export const SUBSCRIPTION_ID_KEY = 'io.modelcontextprotocol/subscriptionId';

/**
 * The capabilities of this server: only tools, whose list never changes while the server runs. `logging` is declared
 * because some legacy clients set a log level unconditionally; nothing is logged over the protocol.
 */
export const CAPABILITIES = {
  legacy: { tools: {}, logging: {} },
  modern: { tools: {} },
} as const;

/** A protocol error caused by the client program, not by the model. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }
}

const parseError = (why: string): RpcError => new RpcError(PARSE_ERROR, `Parse error: ${why}`);
export const invalidRequest = (why: string): RpcError =>
  new RpcError(INVALID_REQUEST, `Invalid request: ${why}`);
export const methodNotFound = (): RpcError => new RpcError(METHOD_NOT_FOUND, 'Method not found');
export const invalidParams = (why: string, data?: unknown): RpcError =>
  new RpcError(INVALID_PARAMS, why, data);
export const internalError = (): RpcError => new RpcError(INTERNAL_ERROR, 'Internal error');
export const unsupportedVersion = (requested: string): RpcError =>
  new RpcError(-32022, `Unsupported protocol version: ${requested}`, {
    supported: MODERN_VERSIONS,
    requested,
  });

export type RequestId = string | number;

export interface Request {
  readonly kind: 'request';
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonRecord;
}

export interface Notification {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: JsonRecord;
}

/** One JSON-RPC message, or the error with which the server answers an invalid message. */
export type Message =
  | Request
  | Notification
  /** A response to a request of ours; `result` is undefined for an error. */
  | { readonly kind: 'response'; readonly id: unknown; readonly result: unknown }
  | { readonly kind: 'invalid'; readonly id: RequestId | null; readonly error: RpcError };

/** One line of input: a message, or the members of a JSON-RPC batch. */
type Line = Message | { readonly kind: 'batch'; readonly members: readonly unknown[] };

/**
 * Parses one line. Bytes that are not UTF-8 are a parse error: decoding would replace them, and the
 * replacement characters could get into files.
 */
export function readLine(bytes: Buffer): Line {
  // Most messages are ASCII, which `latin1` decodes many times faster.
  const encoding = isAscii(bytes) ? 'latin1' : 'utf8';
  if (encoding === 'utf8' && !isUtf8(bytes))
    return { kind: 'invalid', id: null, error: parseError('not UTF-8') };
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString(encoding));
  } catch {
    return { kind: 'invalid', id: null, error: parseError('not JSON') };
  }
  return Array.isArray(value) ? { kind: 'batch', members: value } : readMessage(value);
}

/** Classifies a parsed JSON-RPC value. Unknown members are ignored. */
export function readMessage(value: unknown): Message {
  if (!isRecord(value)) return invalid(null, invalidRequest('not an object'));
  const { id, method, params } = value;
  const known = isRequestId(id) ? id : null;
  if (value['jsonrpc'] !== '2.0') return invalid(known, invalidRequest('jsonrpc must be "2.0"'));
  if (method === undefined && ('result' in value || 'error' in value))
    return { kind: 'response', id, result: value['result'] };
  if (typeof method !== 'string') return invalid(known, invalidRequest('method must be a string'));
  if ('id' in value && known === null)
    return invalid(null, invalidRequest('id must be a string or a number'));
  if (params !== undefined && !isRecord(params))
    return invalid(known, invalidParams('params must be an object'));
  return known === null
    ? { kind: 'notification', method, params: params ?? {} }
    : { kind: 'request', id: known, method, params: params ?? {} };
}

export function isRequestId(value: unknown): value is RequestId {
  // Reject an infinite number such as `1e999`: JSON cannot express it, so the answer could not
  // repeat the id.
  return typeof value === 'string' || Number.isFinite(value);
}

function invalid(id: RequestId | null, error: RpcError): Message {
  return { kind: 'invalid', id, error };
}

/**
 * An outgoing message as a list of pieces, in the order in which they are written. A piece is JSON
 * text, or an object that writes its own JSON text.
 */
export type Parts = readonly (string | Escaped)[];

/** A message as bytes, without a newline. */
export function messageBytes(parts: Parts): Buffer {
  let size = 0;
  for (const part of parts) size += typeof part === 'string' ? part.length : part.expectedBytes;
  const out = new JsonText(size);
  for (const part of parts) {
    if (typeof part === 'string') out.json(part);
    else part.writeTo(out);
  }
  return out.finish();
}

export function resultMessage(id: RequestId, result: JsonRecord): Parts {
  return [`${head(id)}"result":${JSON.stringify(result)}}`];
}

export function errorMessage(id: RequestId | null, error: RpcError): Parts {
  const { code, message, data } = error;
  return [`${head(id)}"error":${JSON.stringify({ code, message, data })}}`];
}

export function requestMessage(id: RequestId, method: string, params?: JsonRecord): Parts {
  return [JSON.stringify({ jsonrpc: '2.0', id, method, params })];
}

export function notificationMessage(method: string, params: JsonRecord): Parts {
  return [JSON.stringify({ jsonrpc: '2.0', method, params })];
}

/** The answer to a modern call that first needs input from the client. */
export function inputRequiredMessage(id: RequestId, input: JsonRecord, info: Implementation): Parts {
  const result = complete(input, { era: 'modern', info });
  return resultMessage(id, { ...result, resultType: 'input_required' });
}

/**
 * The answer to `tools/call`. A refusal is a result, never a protocol error, so that the model can
 * act on it. For a modern client the answer also says that the result is complete, and names the
 * server.
 */
export function toolMessage(id: RequestId, answer: ToolAnswer, asked: AskedTool): Parts {
  // Assign the key separately, because a computed name in a literal takes ten times as long on Node
  // 20.
  const meta: Record<string, unknown> = {};
  meta[OUTCOME_KEY] = answer.outcome;
  if (!answer.ok) {
    const content = [{ type: 'text', text: answer.text }];
    return resultMessage(id, complete({ content, isError: true, _meta: meta }, asked));
  }
  const { shown } = answer;
  const isStructured = asked.tool.outputSchema !== undefined;
  // A structured answer contains the text twice: in `content` and in `structuredContent`. It is
  // escaped only once.
  const escaped = isStructured && typeof shown === 'string' ? escapedText(shown) : escapedIn(shown);
  if (escaped === undefined) {
    const content = typeof shown === 'string' ? [{ type: 'text', text: shown }] : shown;
    const again = isStructured ? { structuredContent: { content: shown } } : {};
    return resultMessage(id, complete({ content, ...again, _meta: meta }, asked));
  }
  const opening = `${head(id)}"result":{"content":[{"type":"text","text":"`;
  const closing = `,${JSON.stringify(complete({ _meta: meta }, asked)).slice(1)}}`;
  if (!isStructured) return [opening, escaped, `"}]${closing}`];
  return [opening, twice(escaped, '"}],"structuredContent":{"content":"'), `"}${closing}`];
}

/** The called tool, and the client and server of the call. */
interface AskedTool {
  readonly tool: { readonly outputSchema?: unknown };
  readonly era: Era;
  readonly info: Implementation;
}

function escapedIn(shown: Shown): Escaped | undefined {
  return typeof shown !== 'string' && 'escaped' in shown ? shown.escaped : undefined;
}

type Shown = Extract<ToolAnswer, { ok: true }>['shown'];

/** Writes a text, `between`, and the same text again. */
function twice(text: Escaped, between: string): Escaped {
  return {
    expectedBytes: text.expectedBytes * 2,
    writeTo: (out) => {
      const from = out.length;
      text.writeTo(out);
      const to = out.length;
      out.json(between).again(from, to);
    },
  };
}

/** Adds the members that revision 2026-07-28 requires in every result; legacy results stay unchanged. */
export function complete(
  result: JsonRecord,
  server: { readonly era: Era; readonly info: Implementation },
): JsonRecord {
  if (server.era === 'legacy') return result;
  const meta = result['_meta'];
  return {
    ...result,
    resultType: 'complete',
    _meta: { ...(typeof meta === 'object' ? meta : {}), [SERVER_INFO_KEY]: server.info },
  };
}

function head(id: RequestId | null): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
}

function escapedText(text: string): Escaped {
  return {
    expectedBytes: text.length + (text.length >> 3),
    // `out.text` takes half the time of `JSON.stringify`. But it writes UTF-8, which cannot
    // represent half of a surrogate pair.
    writeTo: (out) =>
      void (text.isWellFormed() ? out.text(text) : out.json(JSON.stringify(text).slice(1, -1))),
  };
}

/** The `_meta` fields that revision 2026-07-28 requires in every request. */
export type Envelope =
  /** The request names no revision: a legacy message. */
  | { readonly kind: 'none' }
  | {
      readonly kind: 'modern';
      readonly clientInfo: Implementation | undefined;
      /** True if the client can show a form to its user. */
      readonly canElicit: boolean;
    }
  | { readonly kind: 'invalid'; readonly error: RpcError };

/**
 * Parses the `_meta` fields of revision 2026-07-28 (the envelope). An invalid envelope is an error,
 * never a legacy message.
 */
export function envelopeOf(params: JsonRecord): Envelope {
  const meta = metaOf(params);
  if (!(PROTOCOL_VERSION_KEY in meta)) return { kind: 'none' };
  const version = meta[PROTOCOL_VERSION_KEY];
  if (typeof version !== 'string') return broken(PROTOCOL_VERSION_KEY, 'expected a string');
  if (!isRecord(meta[CLIENT_CAPABILITIES_KEY]))
    return broken(
      CLIENT_CAPABILITIES_KEY,
      CLIENT_CAPABILITIES_KEY in meta ? 'expected an object' : 'missing',
    );
  const info = meta[CLIENT_INFO_KEY];
  const clientInfo = implementationOf(info);
  if (info !== undefined && clientInfo === undefined)
    return broken(CLIENT_INFO_KEY, 'expected a name and a version');
  if (!MODERN_VERSIONS.some((known) => known === version))
    return { kind: 'invalid', error: unsupportedVersion(version) };
  return { kind: 'modern', clientInfo, canElicit: canElicit(meta[CLIENT_CAPABILITIES_KEY]) };
}

/** The `_meta` of a request, `{}` if it has none. */
export function metaOf(params: JsonRecord): JsonRecord {
  const meta = params['_meta'];
  return isRecord(meta) ? meta : {};
}

/** A client's name and version; undefined unless it gave both. */
export function implementationOf(value: unknown): Implementation | undefined {
  if (!isRecord(value)) return undefined;
  const { name, version, title } = value;
  if (typeof name !== 'string' || typeof version !== 'string') return undefined;
  return typeof title === 'string' ? { name, version, title } : { name, version };
}

function broken(key: string, problem: string): Envelope {
  const text = `Invalid _meta envelope for protocol revision 2026-07-28: ${key}: ${problem}`;
  return { kind: 'invalid', error: invalidParams(text, { envelope: { key, problem } }) };
}

/**
 * True if a client can show a form to its user. An empty `elicitation` capability means that it
 * can; one that lists only `url` means that it cannot.
 */
export function canElicit(capabilities: unknown): boolean {
  const elicitation = isRecord(capabilities) ? capabilities['elicitation'] : undefined;
  if (!isRecord(elicitation)) return false;
  return 'form' in elicitation || !('url' in elicitation);
}
