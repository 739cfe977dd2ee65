import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errnoOf, Fault } from '../model/fault.ts';
import { SERVER_ERROR } from './rpc.ts';

/** The HTTP status and JSON-RPC error that end a request. */
export interface Rejection {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  /** The id of the request; default: null. */
  readonly id?: unknown;
  readonly data?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Ends a request with a JSON-RPC error. */
export function rejectRequest(res: ServerResponse, rejection: Rejection): void {
  const { status, id = null, headers, ...error } = rejection;
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
}

/**
 * Reads the whole body. Returns undefined as soon as the body exceeds the limit, and rejects if the
 * client disconnects. The rest of a long body is still read and discarded, because a client that is
 * still sending could otherwise not read the error.
 */
export function readBody(message: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  return new Promise((resolve, fail) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    message.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else {
        chunks.length = 0;
        resolve(undefined);
      }
    });
    message.once('end', () => resolve(Buffer.concat(chunks)));
    message.once('error', fail);
    message.once('close', () => fail(new Error('the connection was closed')));
  });
}

/**
 * The given media types that an Accept header accepts. If several ranges of the header match a
 * type, the most specific one decides: with `q=0` it excludes the type. A missing header accepts
 * none, because MCP requires one.
 */
export function acceptedOf(header: string | undefined, types: readonly string[]): readonly string[] {
  const qualities = new Map<string, number>();
  for (const range of (header ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    qualities.set(name, quality === undefined ? 1 : Number(quality));
  }
  return types.filter((type) => {
    const ranges = [type, type.replace(/\/.*/, '/*'), '*/*'];
    const deciding = ranges.find((range) => qualities.has(range));
    return deciding !== undefined && qualities.get(deciding) !== 0;
  });
}

/**
 * An unused connection stays open this long. Many clients reuse a connection for up to a minute, and
 * a call that is sent while the server closes the connection fails.
 */
const KEEP_ALIVE_MS = 75_000;

const LISTENING: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses that port; choose another one',
  EACCES: 'this user may not use that port; choose one above 1023',
};

/** Listens on 127.0.0.1 and returns the port; 0 chooses any free port. Throws a Fault if it cannot listen. */
export async function listenLocally(server: Server, port: number): Promise<number> {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    const errno = errnoOf(error) ?? String(error);
    const why = LISTENING[errno] ?? errno;
    throw new Fault('IO_FAILED', `could not serve on 127.0.0.1:${port}: ${why}`, {
      cause: error,
      reason: errno,
    });
  }
  // The cast is safe: the address of a TCP server is never a string.
  return (server.address() as AddressInfo).port;
}

/** The media type without its parameters, in lower case. */
export function mediaType({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

const LOCAL_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The rejection of a request that another site makes a browser send (DNS rebinding, or a page that
 * posts to this port); undefined if its Host and Origin are this machine.
 */
export function notLocal({ headers }: IncomingMessage): Rejection | undefined {
  const { host, origin } = headers;
  if (!isLocalName(`http://${host}`))
    return { status: 403, code: SERVER_ERROR, message: `Invalid Host: ${host ?? 'missing'}` };
  if (origin === undefined || isLocalName(origin)) return undefined;
  return { status: 403, code: SERVER_ERROR, message: `Invalid Origin: ${origin}` };
}

function isLocalName(url: string): boolean {
  return URL.canParse(url) && LOCAL_NAMES.has(new URL(url).hostname);
}

/** An unguessable token of 256 bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * True if an `Authorization` header carries this token as `Bearer`. The comparison takes the same time for every wrong
 * token.
 */
export function carriesToken(authorization: string | undefined, token: string): boolean {
  const [, given = ''] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  // Compares digests, so that the time reveals neither content nor length.
  return given !== '' && timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The rejection of a request; undefined if the request carries the token. */
export function checkToken(authorization: string | undefined, token: string): Rejection | undefined {
  if (carriesToken(authorization, token)) return undefined;
  const challenge = authorization === undefined ? 'Bearer' : 'Bearer error="invalid_token"';
  return {
    status: 401,
    code: SERVER_ERROR,
    message: 'Unauthorized: send the token that the server printed as "Authorization: Bearer TOKEN"',
    headers: { 'www-authenticate': challenge },
  };
}

/**
 * Maximum depth of nesting in a JSON body, more than any tool needs. A deeper body is rejected,
 * because validation and printing are recursive and would overflow the stack.
 */
export const MAX_DEPTH = 200;

/** True if a JSON value is nested deeper than `MAX_DEPTH`. */
export function isDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return false;
}

/**
 * The token in `LOOKFIRST_TOKEN`; undefined if it is not set. Throws a Fault for a token that is
 * not printable ASCII, because a header carries no other characters unchanged.
 */
export function givenToken(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const token = env['LOOKFIRST_TOKEN'] || undefined;
  if (token !== undefined && !/^[!-~]+$/.test(token))
    throw new Fault('CONFIG_INVALID', 'LOOKFIRST_TOKEN may contain only ASCII characters, without spaces');
  return token;
}

/**
 * The line about the token that a server prints when it starts. A token from the environment is not printed: the user
 * knows it, and logs are no place for secrets.
 */
export function tokenLine(token: string, given: string | undefined): string {
  return `token: ${given === undefined ? token : 'the value of LOOKFIRST_TOKEN'}`;
}

/**
 * The token in a configuration that the user can copy. A token from the environment is never
 * printed, so a placeholder replaces it.
 */
export function shownToken(token: string, given: string | undefined): string {
  return given === undefined ? token : 'THE_VALUE_OF_LOOKFIRST_TOKEN';
}

/** Decodes a name in the path of a URL; undefined if its escapes are invalid. */
export function decodedName(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
