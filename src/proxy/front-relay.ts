import type { IncomingMessage, ServerResponse } from 'node:http';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { COMPACTED_METHOD, eventsIn } from '../tools/session-events.ts';
import { addressOf } from './front-address.ts';
import { type Endpoint, HTTP_SESSION, namedGate } from './front-endpoint.ts';
import { rejectFront } from './front-reply.ts';
import { bodyOf, type Exchange, HttpClient } from './http-exchange.ts';
import { type Headers, headersAfter } from './http-headers.ts';
import type { InterceptOptions } from './intercept-options.ts';
import { HOP_BY_HOP, headersBack, RelayedPost } from './relayed-post.ts';
import { INVALID_REQUEST, idKey, isModern, paramsOf, parseLine, rpcMeta } from './rpc.ts';
import { onOneLine } from './sse.ts';

export interface RelayOptions {
  readonly url: string;
  /** Sent to the server in addition to the client's own headers. */
  readonly headers: Headers;
  readonly maxBytes: number;
  readonly gate: InterceptOptions;
  /** The client's authorization is meant for us and must not be forwarded. */
  readonly ownsAuthorization: boolean;
}

/** Methods whose requests and answers the gate reads; all others are relayed as bytes. */
const HEEDED = new Set([
  'tools/call',
  'tools/list',
  'initialize',
  'server/discover',
  'resources/read',
  COMPACTED_METHOD,
]);

/**
 * Relays HTTP requests to a server behind a URL. Methods, headers, status, streams and sessions
 * stay the server's own. Only posts that the gate must read go through a pump, one for each.
 */
export class RelayEndpoint implements Endpoint {
  readonly #options: RelayOptions;
  readonly #url: URL;
  readonly #http = new HttpClient();
  readonly #open = new Map<string, RelayedPost>();

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
  }

  async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method !== 'POST') return this.#pass(req, res, undefined);
    const body = await bodyOf(req, this.#options.maxBytes).catch(() => undefined);
    if (body === undefined) {
      rejectFront(res, { status: 413, code: INVALID_REQUEST, message: 'the message is too large' });
      return;
    }
    const message = parseLine(body);
    const method = isRecord(message) ? message['method'] : undefined;
    if (isRecord(message) && method === 'notifications/cancelled') this.#cancelled(req, message);
    const events = isRecord(message) ? eventsIn(rpcMeta(message)).kind : 'none';
    const heeded =
      Array.isArray(message) || (typeof method === 'string' && HEEDED.has(method)) || events !== 'none';
    if (heeded) await this.#heed(req, res, { body, message });
    else await this.#pass(req, res, body);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((post) => post.close()));
    this.#http.close();
  }

  /** Forwards a request and its answer as bytes. */
  async #pass(req: IncomingMessage, res: ServerResponse, body: Buffer | undefined): Promise<void> {
    const exchange = this.#exchange(req, body);
    res.once('close', () => exchange.abort());
    const response = await exchange.response.catch(() => undefined);
    if (response === undefined) {
      if (!res.destroyed)
        rejectFront(res, { status: 502, code: -32603, message: 'the server cannot be reached' });
      return;
    }
    res.writeHead(response.statusCode ?? 502, headersBack(response));
    response.pipe(res);
  }

  async #heed(
    req: IncomingMessage,
    res: ServerResponse,
    post: { readonly body: Buffer; readonly message: unknown },
  ): Promise<void> {
    const { maxBytes } = this.#options;
    const gate = namedGate(this.#options.gate, req);
    const session = req.headers['mcp-session-id'];
    const given = onOneLine(post.body);
    const relayed = new RelayedPost({
      res,
      maxBytes,
      modern: isRecord(post.message) && isModern(post.message),
      // An unchanged message is sent exactly as it arrived, including line breaks.
      send: (line) =>
        line.equals(given)
          ? this.#exchange(req, post.body)
          : this.#exchange(req, line, headersAfter(req.headers, post.message, parseLine(line))),
      gate:
        typeof session === 'string'
          ? { ...gate, session: (meta) => gate.session({ ...meta, [HTTP_SESSION]: session }) }
          : gate,
    });
    const key = isRecord(post.message) ? openKey(req, post.message['id']) : undefined;
    if (key !== undefined) this.#open.set(key, relayed);
    await relayed.run(given);
    if (key !== undefined && this.#open.get(key) === relayed) this.#open.delete(key);
  }

  #cancelled(req: IncomingMessage, message: JsonRecord): void {
    const key = openKey(req, paramsOf(message)['requestId']);
    if (key !== undefined) void this.#open.get(key)?.cancelled();
  }

  #exchange(req: IncomingMessage, body: Buffer | undefined, changed: Headers = {}): Exchange {
    // The protocol only uses GET, POST and DELETE; the server itself refuses other methods.
    const method = req.method as 'GET' | 'POST' | 'DELETE';
    const headers: Headers = {};
    for (const [name, value] of Object.entries(req.headers)) {
      if (HOP_BY_HOP.has(name) || (name === 'authorization' && this.#options.ownsAuthorization)) continue;
      if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
    }
    const url = new URL(this.#url);
    url.search = addressOf(req).search || this.#url.search;
    return this.#http.send({
      method,
      url,
      headers: { ...headers, ...changed, ...this.#options.headers },
      ...(body === undefined ? {} : { body }),
    });
  }
}

function openKey(req: IncomingMessage, id: unknown): string | undefined {
  const key = idKey(id);
  return key === undefined ? undefined : `${String(req.headers['mcp-session-id'])} ${key}`;
}
