import { isUtf8 } from 'node:buffer';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { invalidParams, invalidRequest, parseError, type RpcError } from './protocol.ts';

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
export type Line = Message | { readonly kind: 'batch'; readonly members: readonly unknown[] };

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
