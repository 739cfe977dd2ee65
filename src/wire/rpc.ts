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

/** True if the sender uses MCP revision 2026-07-28, which has no sessions. */
export function isModern(message: JsonRecord): boolean {
  return typeof rpcMeta(message)[MODERN] === 'string';
}

/** Builds a JSON-RPC response. `id` is the JSON text of the request's id, so that it is returned unchanged. */
export function resultLine(id: string, result: JsonRecord): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`);
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

/**
 * The functions below check the bytes of a message, so that most messages need no parsing. A quote
 * inside a JSON string is always escaped, so `"method"` is never a part of a longer string. It may
 * be a key of an inner object.
 */

const METHOD = Buffer.from('"method"');
/** The first bytes of an ASCII character that is written as an escape, such as `\u006d` for `m`. */
const ESCAPED_LETTER = Buffer.from('\\u00');
const QUOTE = 0x22;
const COLON = 0x3a;

/**
 * Every string value of a `"method"` key in the line, at any depth. `undefined` means a value
 * or key that may contain escapes. The caller must parse the line if the list contains `undefined`
 * or one of the methods it handles.
 */
export function methodsIn(line: Buffer): (string | undefined)[] {
  const found: (string | undefined)[] = [];
  for (let at = line.indexOf(METHOD); at >= 0; at = line.indexOf(METHOD, at + METHOD.length)) {
    const value = stringAfterColon(line, at + METHOD.length);
    if (value !== null) found.push(value);
  }
  if (line.includes(ESCAPED_LETTER)) found.push(undefined);
  return found;
}

/**
 * The string value after a key that ends at `from`. Undefined if the value contains escapes or is
 * cut off. Null if no colon and string follow, for example because the text is a value, not a key.
 */
function stringAfterColon(line: Buffer, from: number): string | undefined | null {
  let at = skipSpace(line, from);
  if (line[at] !== COLON) return null;
  at = skipSpace(line, at + 1);
  if (line[at] !== QUOTE) return null;
  const end = line.indexOf(QUOTE, at + 1);
  if (end < 0) return undefined;
  const value = line.toString('latin1', at + 1, end);
  return value.includes('\\') ? undefined : value;
}

/** The first position at or after `from` that is not white space. */
export function skipSpace(line: Buffer, from: number): number {
  let at = from;
  while (isSpace(line[at])) at++;
  return at;
}

/** True for white space that may occur within a line of JSON. */
export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}

const BRACE = 0x7b;
const BRACKET = 0x5b;

/**
 * True if a message or a batch may begin at an offset: `{"`, or `[{`. A log line that merely begins
 * with a bracket is not a message. Undefined if the bytes end before that can be decided.
 */
export function beginsMessage(bytes: Buffer, from: number): boolean | undefined {
  const first = bytes[from];
  if (first !== BRACE && first !== BRACKET) return false;
  const second = bytes[skipSpace(bytes, from + 1)];
  return second === undefined ? undefined : second === (first === BRACE ? QUOTE : BRACE);
}

const HEAD = /^\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*("[ !#-[\]-~]*"|-?\d+)\s*[,}]/;
const TAIL = /[,{]\s*"id"\s*:\s*("[ !#-[\]-~]*"|-?\d+)\s*\}\s*$/;
const WINDOW = 256;

/**
 * The id of a message as JSON text, if the key `id` directly follows a leading `jsonrpc` key or is
 * the last key. All known implementations write one of these two orders. Undefined if it was not
 * found: parse the message.
 */
export function idIn(line: Buffer): string | undefined {
  const head = line.toString('latin1', 0, Math.min(line.length, WINDOW));
  return idBetween(head, line.toString('latin1', Math.max(0, line.length - WINDOW)));
}

/**
 * Serialises a message that was rewritten. `line` is the original: an id that JavaScript cannot
 * represent exactly stays as it is written there, if `idIn` finds it.
 */
export function rewrittenLine(line: Buffer, message: JsonRecord): Buffer {
  const { id, ...rest } = message;
  const text = typeof id === 'number' && !Number.isSafeInteger(id) ? idIn(line) : undefined;
  if (text === undefined) return Buffer.from(JSON.stringify(message));
  return Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"id":${text}}`);
}

/** Like `idIn`, for a message of which only the beginning and the end are available. */
export function idBetween(head: string, tail: string): string | undefined {
  return HEAD.exec(head)?.[1] ?? TAIL.exec(tail)?.[1];
}

const RESPONSE =
  /^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*(?:"[ !#-[\]-~]*"|-?\d+)\s*,\s*)?"(?:result|error)"\s*:/;

/** True if the beginning shows that this is a response. False means unknown: parse the message. */
export function isPlainlyResponse(head: string): boolean {
  return RESPONSE.test(head);
}
