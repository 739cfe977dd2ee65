import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { isRecord, type JsonRecord } from '../../model/record.ts';
import { acceptedOf, isDeep, MAX_DEPTH, mediaType, type Rejection, readBody } from '../http.ts';
import { INVALID_REQUEST, PARSE_ERROR, parseLine, SERVER_ERROR } from '../rpc.ts';
import { onOneLine } from '../sse.ts';

/** A message that a client has posted. */
export interface Posted {
  /** The message as one line. */
  readonly line: Buffer;
  readonly message: JsonRecord;
  /** When the request arrived, as a `performance.now()` time. */
  readonly arrivedAt: number;
}

/** The media types of answers. A client must accept both for a POST, and the second one for a GET. */
const ANSWER_TYPES: readonly string[] = ['application/json', 'text/event-stream'];

/** The rejection of a request whose client does not accept our answers; undefined if it does. */
export function notAcceptable({ method, headers }: IncomingMessage): Rejection | undefined {
  const needed = method === 'GET' ? ANSWER_TYPES.slice(1) : ANSWER_TYPES;
  if (acceptedOf(headers.accept, needed).length === needed.length) return undefined;
  return {
    status: 406,
    code: SERVER_ERROR,
    message: `Not Acceptable: the client must accept ${needed.join(' and ')}`,
  };
}

/** The message in the body of a POST, or the reason it is rejected. */
export async function readPosted(
  req: IncomingMessage,
  maxBytes: number,
): Promise<Omit<Posted, 'arrivedAt'> | Rejection> {
  const unreadable = unreadableBody(req);
  if (unreadable !== undefined) return unreadable;
  const body = await readBody(req, maxBytes);
  if (body === undefined)
    return { status: 413, code: SERVER_ERROR, message: `Payload Too Large: more than ${maxBytes} bytes` };
  if (!isUtf8(body)) return { status: 400, code: PARSE_ERROR, message: 'Parse error: not UTF-8' };
  const line = onOneLine(body);
  const message = parseLine(line);
  if (message === undefined) return { status: 400, code: PARSE_ERROR, message: 'Parse error: not JSON' };
  const problem = problemWith(message);
  if (problem !== undefined) return { status: 400, code: INVALID_REQUEST, message: problem };
  // The cast is safe: `problemWith` has checked it.
  return { line, message: message as JsonRecord };
}

/** The rejection of a body that is no plain JSON text. A less strict reader could find a call in it. */
function unreadableBody(req: IncomingMessage): Rejection | undefined {
  const { headers } = req;
  if (mediaType(req) !== 'application/json')
    return { status: 415, code: SERVER_ERROR, message: 'Unsupported Media Type: send application/json' };
  const coding = headers['content-encoding'] ?? 'identity';
  const charset = /charset\s*=\s*"?([^\s";]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  if (coding.toLowerCase() === 'identity' && /^utf-?8$/i.test(charset)) return undefined;
  return { status: 415, code: INVALID_REQUEST, message: 'the body must be UTF-8 and not compressed' };
}

function problemWith(message: unknown): string | undefined {
  if (Array.isArray(message)) return 'Invalid request: send one message per request, not a batch';
  if (!isRecord(message)) return 'Invalid request: not an object';
  return isDeep(message) ? `Invalid request: nested deeper than ${MAX_DEPTH} levels` : undefined;
}
