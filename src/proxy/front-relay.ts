import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { eventsIn, SESSION_KEY } from '../tools/session-choice.ts';
import type { Endpoint, FrontRequest } from '../wire/front/serve-front.ts';
import { mediaType, type Rejection, readBody, rejectRequest } from '../wire/http.ts';
import { type Headers, headersAfter } from '../wire/http-headers.ts';
import {
  INTERNAL_ERROR,
  INVALID_REQUEST,
  idKey,
  isModern,
  PARSE_ERROR,
  paramsOf,
  parseLine,
  rpcMeta,
} from '../wire/rpc.ts';
import {
  EVENT_STREAM,
  EventParser,
  onOneLine,
  openStream,
  type ServerEvent,
  writeEvent,
} from '../wire/sse.ts';
import type { GateSettings } from './gate-settings.ts';
import { HTTP_SESSION, JUDGED_METHODS } from './gate-settings.ts';
import { bodyOf, type Exchange, HttpClient } from './http-exchange.ts';
import { Pump } from './pump.ts';

interface RelayOptions {
  readonly url: string;
  /** Headers sent to the server in addition to the client's own. */
  readonly headers: Headers;
  readonly maxBytes: number;
  readonly gate: GateSettings;
  /** True if the client's authorization is meant for us and must not be forwarded. */
  readonly ownsAuthorization: boolean;
}

/** Methods whose requests and answers the gate reads; all others are relayed as bytes. */
const HEEDED = new Set(JUDGED_METHODS);

/**
 * Relays HTTP requests to a server behind a URL. Each request that the gate must read passes
 * through its own `Pump`. All others are forwarded as bytes.
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

  async handle({ req, name }: FrontRequest, res: ServerResponse): Promise<void> {
    if (req.method !== 'POST') return this.#pass(req, res, undefined);
    const body = await readBody(req, this.#options.maxBytes);
    if (body === undefined)
      return rejectRequest(res, { status: 413, code: INVALID_REQUEST, message: 'the message is too large' });
    const message = parseLine(body);
    const unreadable = problemWith(req, message);
    if (unreadable !== undefined) return rejectRequest(res, unreadable);
    const method = isRecord(message) ? message['method'] : undefined;
    if (isRecord(message) && method === 'notifications/cancelled') this.#cancelled(req, message);
    const events = isRecord(message) ? eventsIn(rpcMeta(message)).kind : 'none';
    const heeded =
      Array.isArray(message) || (typeof method === 'string' && HEEDED.has(method)) || events !== 'none';
    if (heeded) await this.#heed({ req, name }, res, { body, message });
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
        rejectRequest(res, { status: 502, code: INTERNAL_ERROR, message: 'the server cannot be reached' });
      return;
    }
    res.writeHead(response.statusCode ?? 502, headersBack(response));
    // If either side breaks off, `pipeline` closes the other. Such an end is no fault of ours.
    pipeline(response, res, () => {});
  }

  async #heed(
    { req, name }: Pick<FrontRequest, 'req' | 'name'>,
    res: ServerResponse,
    post: { readonly body: Buffer; readonly message: unknown },
  ): Promise<void> {
    const { maxBytes } = this.#options;
    const gate = namedGate(this.#options.gate, name);
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
    url.search = searchOf(req) || this.#url.search;
    return this.#http.send({
      method,
      url,
      // The gate reads answers, so the server must not compress them.
      headers: { ...headers, 'accept-encoding': 'identity', ...changed, ...this.#options.headers },
      ...(body === undefined ? {} : { body }),
    });
  }
}

/** The gate for a request to `/mcp/NAME`: the request belongs to the session NAME, unless it names another session itself. */
function namedGate(gate: GateSettings, name: string | undefined): GateSettings {
  if (name === undefined) return gate;
  return { ...gate, session: (meta) => gate.session({ [SESSION_KEY]: name, ...meta }) };
}

/** The part of a request's URL from `?` on. Does not parse the URL, because clients may send invalid ones. */
function searchOf({ url = '/' }: IncomingMessage): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark);
}

/**
 * The reason to reject a body that the gate cannot read. A server that is less strict could find a
 * call in it.
 */
function problemWith({ headers }: IncomingMessage, message: unknown): Rejection | undefined {
  const coding = headers['content-encoding'] ?? 'identity';
  const charset = /charset\s*=\s*"?([^\s";]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  if (coding.toLowerCase() !== 'identity' || !/^utf-?8$/i.test(charset))
    return { status: 415, code: INVALID_REQUEST, message: 'the body must be UTF-8 and not compressed' };
  if (isRecord(message) || Array.isArray(message)) return undefined;
  return { status: 400, code: PARSE_ERROR, message: 'Parse error' };
}

function openKey(req: IncomingMessage, id: unknown): string | undefined {
  const key = idKey(id);
  return key === undefined ? undefined : `${String(req.headers['mcp-session-id'])} ${key}`;
}

interface RelayedPostOptions {
  readonly res: ServerResponse;
  readonly maxBytes: number;
  /** True for MCP revision 2026-07-28, in which a disconnect cancels the request. */
  readonly modern: boolean;
  readonly gate: GateSettings;
  /** Sends the client's request to the server with this message as its body. */
  send(line: Buffer): Exchange;
}

/** One posted message that the gate reads, and everything the server returns for it. */
class RelayedPost {
  readonly #options: RelayedPostOptions;
  readonly #pump: Pump;
  #exchange: Exchange | undefined;
  #response: IncomingMessage | undefined;
  #body: Buffer | undefined;
  #event: ServerEvent | undefined;
  #sent: Promise<void> = Promise.resolve();

  constructor(options: RelayedPostOptions) {
    this.#options = options;
    this.#pump = new Pump(
      {
        toUpstream: (line) => {
          this.#sent = this.#send(line);
        },
        toClient: (line) => this.#toClient(line),
      },
      options.gate,
    );
  }

  /** Resolves when the client has its answer or has disconnected. */
  async run(line: Buffer): Promise<void> {
    const { res, modern } = this.#options;
    if (modern)
      res.once('close', () => {
        if (!res.writableFinished) void this.close();
      });
    this.#pump.fromClient(line);
    await this.#pump.idle();
    await this.#sent;
    await this.#pump.close();
    // If nothing was forwarded, the message concerned only the gate. Answer 202 (accepted).
    if (!res.headersSent && this.#exchange === undefined) res.statusCode = 202;
    if (!res.writableEnded) res.end();
  }

  /** Handles the client's cancellation. The server receives it too, and ends the exchange. */
  async cancelled(): Promise<void> {
    await this.#pump.close();
    if (this.#exchange === undefined) this.#options.res.end();
  }

  /** Called when the client has disconnected or the proxy ends. Aborts the exchange. */
  async close(): Promise<void> {
    this.#exchange?.abort();
    await this.#pump.close();
  }

  async #send(line: Buffer): Promise<void> {
    if (this.#exchange !== undefined) return;
    this.#exchange = this.#options.send(line);
    try {
      const response = await this.#exchange.response;
      this.#response = response;
      if (mediaType(response) === EVENT_STREAM) await this.#stream(response);
      else await this.#whole(response);
    } catch (error) {
      this.#options.gate.log(`the server cannot be reached: ${String(error)}`);
      const { res } = this.#options;
      if (!res.headersSent && !res.destroyed)
        rejectRequest(res, { status: 502, code: INTERNAL_ERROR, message: 'the server cannot be reached' });
    }
  }

  async #whole(response: IncomingMessage): Promise<void> {
    const body = await bodyOf(response, this.#options.maxBytes);
    const parsed = parseLine(body);
    if (Array.isArray(parsed) || (isRecord(parsed) && idKey(parsed['id']) !== undefined)) {
      this.#body = body;
      this.#pump.fromUpstream(onOneLine(body));
      return this.#pump.idle();
    }
    this.#options.res.writeHead(response.statusCode ?? 502, headersBack(response));
    this.#options.res.end(body);
  }

  #stream(response: IncomingMessage): Promise<void> {
    const parser = new EventParser({
      maxBytes: this.#options.maxBytes,
      onEvent: (event) => this.#onEvent(event),
      onRetry: (ms) => {
        this.#openStream();
        this.#options.res.write(`retry: ${ms}\n`);
      },
      onTooLong: () => response.destroy(),
    });
    return new Promise((resolve) => {
      response.on('data', (chunk: Buffer) => parser.push(chunk));
      response.on('close', () => resolve(this.#pump.idle()));
      response.on('error', () => resolve(this.#pump.idle()));
    });
  }

  #onEvent(event: ServerEvent): void {
    this.#event = event;
    this.#openStream();
    const isMessage = event.data.length > 0 && (event.type === '' || event.type === 'message');
    if (isMessage) this.#pump.fromUpstream(event.data);
    else this.#writeEvent(event.data);
  }

  #toClient(line: Buffer): boolean {
    const { res } = this.#options;
    if (res.destroyed || res.writableEnded) return false;
    if (this.#event !== undefined) {
      this.#writeEvent(line);
      return true;
    }
    // An unchanged answer is returned exactly as it arrived, including line breaks.
    const body = this.#body !== undefined && line.equals(onOneLine(this.#body)) ? this.#body : line;
    const headers = this.#response === undefined ? {} : headersBack(this.#response);
    res.writeHead(this.#response?.statusCode ?? 200, {
      'content-type': 'application/json',
      ...headers,
      'content-length': body.length,
    });
    res.end(body);
    return true;
  }

  #openStream(): void {
    const { res } = this.#options;
    if (!res.headersSent && !res.destroyed)
      openStream(res, this.#response === undefined ? {} : headersBack(this.#response));
  }

  /** Sends data to the client as an event, with the id and type of the server's current event. */
  #writeEvent(data: Buffer): void {
    writeEvent(this.#options.res, { ...(this.#event ?? { id: undefined, type: '' }), data });
  }
}

/** Headers that concern only one connection, not the message. The gate does not forward them. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'proxy-authorization',
  'host',
  'content-length',
  'expect',
]);

/** The server's headers, without those that concern only the server's connection to us. */
function headersBack(response: IncomingMessage): Record<string, string> {
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(response.headers))
    if (!HOP_BY_HOP.has(name) && value !== undefined) headers[name] = value;
  // The cast is safe: Node joins multi-valued headers except Set-Cookie, and the protocol does not use cookies.
  return headers as Record<string, string>;
}
