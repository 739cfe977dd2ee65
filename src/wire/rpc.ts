import { isRecord, type JsonRecord } from '../model/record.ts';

/** The `_meta` key that every request of MCP revision 2026-07-28 has, and no request of an earlier revision. */
const MODERN = 'io.modelcontextprotocol/protocolVersion';

/** Parses a message or batch; undefined if the line is not JSON. */
export function parseLine(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The lookup key of an id; undefined if it is not a valid id. */
export function idKey(id: unknown): string | undefined {
  return typeof id === 'string' || typeof id === 'number' ? JSON.stringify(id) : undefined;
}

export function paramsOf(message: JsonRecord): JsonRecord {
  return isRecord(message['params']) ? message['params'] : {};
}

export function rpcMeta(message: JsonRecord): JsonRecord {
  const meta = paramsOf(message)['_meta'];
  return isRecord(meta) ? meta : {};
}

/** True if the sender uses MCP revision 2026-07-28, which has no sessions. */
export function isModern(message: JsonRecord): boolean {
  return typeof rpcMeta(message)[MODERN] === 'string';
}

/** Builds a JSON-RPC response. `id` is the JSON text of the request's id, so that it is returned unchanged. */
export function resultLine(id: string, result: JsonRecord): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`);
}

/** A message as a line. */
export function lineOf(message: JsonRecord): Buffer {
  return Buffer.from(JSON.stringify(message));
}

export function errorLine(id: string, code: number, message: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message })}}`);
}

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
/** This code and the next are in the range that JSON-RPC leaves to servers. */
export const SERVER_ERROR = -32000;
export const SESSION_NOT_FOUND = -32001;

const BRACE = 0x7b;
const BRACKET = 0x5b;
const QUOTE = 0x22;

/**
 * True if a line begins like a message or a batch, after any white space: `{"`, or `[{`. A log line
 * that merely begins with a bracket is not a message.
 */
export function beginsMessage(line: Buffer): boolean {
  const at = skipSpace(line, 0);
  const first = line[at];
  if (first !== BRACE && first !== BRACKET) return false;
  return line[skipSpace(line, at + 1)] === (first === BRACE ? QUOTE : BRACE);
}

function skipSpace(line: Buffer, from: number): number {
  let at = from;
  while (isSpace(line[at])) at++;
  return at;
}

/** True for white space that may occur within a line of JSON. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}

/** Matches JSON strings and the numbers between them. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
/** Matches texts that may contain a number which is too long or has an exponent. */
const UNUSUAL_NUMBER = /[\d.]{16}|\d[eE][\d+-]/;

/** True if JSON text contains a number that would change if the text were parsed and written again. */
export function hasInexactNumber(json: string): boolean {
  if (!UNUSUAL_NUMBER.test(json)) return false;
  for (const [token] of json.matchAll(STRING_OR_NUMBER))
    if (!token.startsWith('"') && !isExact(token)) return true;
  return false;
}

/** The number of digits that every double holds exactly. */
const EXACT_DIGITS = 15;

function isExact(token: string): boolean {
  const value = Number(token);
  const digits = token.replace(/[eE].*$/, '').replace(/\D/g, '');
  return Number.isFinite(value) && (digits.length <= EXACT_DIGITS || String(value) === token);
}
