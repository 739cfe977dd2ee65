import { isRecord, type JsonRecord } from '../model/record.ts';

/** Present in every request of revision 2026-07-28, and in none before. */
const MODERN = 'io.modelcontextprotocol/protocolVersion';

/** Parses a message or batch; undefined if the line is not JSON. */
export function parseLine(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Like `parseLine`, for a line that is known to be a message; returns an empty object for anything else. */
export function parseRecord(line: Buffer): JsonRecord {
  const message = parseLine(line);
  return isRecord(message) ? message : {};
}

/** The lookup key of an id; undefined if it is not a valid id. */
export function idKey(id: unknown): string | undefined {
  return typeof id === 'string' || typeof id === 'number' ? JSON.stringify(id) : undefined;
}

/** The lookup key from an id's JSON text; see `idKey`. */
export function idKeyOfText(text: string): string {
  return text.startsWith('"') ? text : JSON.stringify(Number(text));
}

export function paramsOf(message: JsonRecord): JsonRecord {
  return isRecord(message['params']) ? message['params'] : {};
}

export function rpcMeta(message: JsonRecord): JsonRecord {
  const meta = paramsOf(message)['_meta'];
  return isRecord(meta) ? meta : {};
}

/** True if the sender uses the revision without sessions, whose results are marked as complete. */
export function isModern(message: JsonRecord): boolean {
  return typeof rpcMeta(message)[MODERN] === 'string';
}

/** An answer of our own. `id` is the JSON text of the request's id, so that it is returned unchanged. */
export function resultLine(id: string, result: JsonRecord): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`);
}

export function errorLine(id: string, code: number, message: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message })}}`);
}

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
