import { isUtf8 } from 'node:buffer';
import { isRecord, type JsonRecord } from '../model/record.ts';

/** Constants and errors of the Model Context Protocol that both transports need. */

/** Revisions supported by `initialize`, newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
export type LegacyVersion = (typeof LEGACY_VERSIONS)[number];

/** Revisions without `initialize`, served request by request. */
export const MODERN_VERSIONS = ['2026-07-28'] as const;

/** The only revision in which one line may contain several messages. */
export const BATCH_VERSION: LegacyVersion = '2025-03-26';

/**
 * `legacy`: revisions negotiated by `initialize`; `modern`: 2026-07-28, where every request carries
 * its own envelope.
 */
export type Era = 'legacy' | 'modern';

/** The name and version of a client or server. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

export const PROTOCOL_VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
export const CLIENT_INFO_KEY = 'io.modelcontextprotocol/clientInfo';
export const CLIENT_CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
export const SERVER_INFO_KEY = 'io.modelcontextprotocol/serverInfo';
export const SUBSCRIPTION_ID_KEY = 'io.modelcontextprotocol/subscriptionId';

/**
 * Tools only: their list never changes while the server runs, and there are no resources or
 * prompts. `logging` is declared because some legacy clients set a log level unconditionally;
 * nothing is logged over the protocol.
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

const parseError = (why: string): RpcError => new RpcError(-32700, `Parse error: ${why}`);
export const invalidRequest = (why: string): RpcError => new RpcError(-32600, `Invalid request: ${why}`);
export const methodNotFound = (): RpcError => new RpcError(-32601, 'Method not found');
export const invalidParams = (why: string, data?: unknown): RpcError => new RpcError(-32602, why, data);
export const internalError = (): RpcError => new RpcError(-32603, 'Internal error');
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

/** One JSON-RPC message, or the error to answer because it is invalid. */
export type Message =
  | Request
  | Notification
  /** A response to a request of ours; `result` is undefined for an error. */
  | { readonly kind: 'response'; readonly id: unknown; readonly result: unknown }
  | { readonly kind: 'invalid'; readonly id: RequestId | null; readonly error: RpcError };

/** One line of input: a message, or the members of a JSON-RPC batch. */
type Line = Message | { readonly kind: 'batch'; readonly members: readonly unknown[] };

/**
 * Parses one line. Bytes that are not UTF-8 are a parse error: decoding would put replacement
 * characters into files.
 */
export function readLine(bytes: Buffer): Line {
  if (!isUtf8(bytes)) return { kind: 'invalid', id: null, error: parseError('not UTF-8') };
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
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
  // JSON cannot express infinity, so the answer could not repeat such an id.
  return typeof value === 'string' || Number.isFinite(value);
}

function invalid(id: RequestId | null, error: RpcError): Message {
  return { kind: 'invalid', id, error };
}
