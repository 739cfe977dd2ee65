import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { carriesToken } from '../wire/bearer.ts';
import { mediaType, type Rejection, readBody } from '../wire/http.ts';

/** Undefined if the request carries the token; otherwise the rejection. */
export function checkToken(authorization: string | undefined, token: string): Rejection | undefined {
  if (carriesToken(authorization, token)) return undefined;
  const challenge = authorization === undefined ? 'Bearer' : 'Bearer error="invalid_token"';
  return {
    status: 401,
    code: -32000,
    message: 'Unauthorized: send the token that the server printed as "Authorization: Bearer TOKEN"',
    headers: { 'www-authenticate': challenge },
  };
}

/**
 * The JSON body of a POST, or the reason it is rejected. Bytes beyond `maxBytes` are read and
 * discarded: a client whose connection breaks while sending never reads the error.
 */
export async function readJson(
  req: IncomingMessage,
  maxBytes: number,
): Promise<{ readonly value: unknown } | Rejection> {
  if (mediaType(req) !== 'application/json')
    return { status: 415, code: -32000, message: 'Unsupported Media Type: send application/json' };
  const body = await readBody(req, maxBytes);
  if (body === undefined)
    return { status: 413, code: -32000, message: `Payload Too Large: more than ${maxBytes} bytes` };
  if (!isUtf8(body)) return { status: 400, code: -32700, message: 'Parse error: not UTF-8' };
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    return { status: 400, code: -32700, message: 'Parse error: not JSON' };
  }
  if (isDeep(value))
    return { status: 400, code: -32600, message: `Invalid request: nested deeper than ${MAX_DEPTH} levels` };
  return { value };
}

/** Deeper than any tool needs. Validation and printing are recursive and would overflow the stack. */
const MAX_DEPTH = 200;

function isDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return false;
}
