import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { errnoOf, errorText } from '../model/fault.ts';
import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import { mediaType, readBody } from '../wire/http.ts';
import { type HeaderParameter, type Headers, learnParameters, modernHeaders } from '../wire/http-headers.ts';
import { errorLine, INTERNAL_ERROR, idKey, isModern, lineOf, paramsOf, parseLine } from '../wire/rpc.ts';
import { EVENT_STREAM, EventParser, onOneLine } from '../wire/sse.ts';
import type { Upstream, UpstreamEnd, UpstreamEvents } from './upstream.ts';

interface HttpUpstreamOptions {
  readonly url: string;
  readonly headers: Headers;
  readonly maxBytes: number;
}

interface Open {
  readonly exchange: Exchange;
  readonly modern: boolean;
}

/** Time that open requests may continue after the client has disconnected; then they are aborted. */
const FAREWELL_MS = 10_000;
/** Time that the request to end the server's session may take; then it is aborted. */
const GOODBYE_MS = 1_000;

interface ServerStreamOptions {
  readonly maxBytes: number;
  /**
   * The key of the request that this stream answers; undefined for a stream that answers none and
   * stays open.
   */
  readonly awaits: string | undefined;
  onLine(line: Buffer): void;
  /** Reconnects to continue after the event with this id; undefined if the server refuses. */
  again(lastEventId: string | undefined): Promise<IncomingMessage | undefined>;
}

/** Errors of a connection that was never made. */
const UNREACHABLE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH']);
const RETRIES = 5;
const RETRY_MS = 1000;

/**
 * A server behind a Streamable HTTP URL, with or without sessions. Every message is posted as the bytes received;
 * answers arrive as JSON or as an event stream. The server must see the same files as we do.
 */
export class HttpUpstream implements Upstream {
  readonly ended: Promise<UpstreamEnd>;
  readonly full: boolean = false;
  readonly #options: HttpUpstreamOptions;
  readonly #url: URL;
  readonly #http = new HttpClient();
  readonly #open = new Map<string, Open>();
  readonly #parameters = new Map<string, readonly HeaderParameter[]>();
  #events: UpstreamEvents = { onLine: () => {}, log: () => {} };
  #streams = new Set<ServerStream>();
  #session: string | undefined;
  #version: string | undefined;
  /** The messages that began the session. They begin another one if the server loses the session. */
  readonly #opening: { readonly line: Buffer; readonly message: JsonRecord }[] = [];
  #renewal: Promise<boolean> | undefined;
  /** Resolves when the server has accepted the handshake. Later messages wait for it. */
  #handshake: Promise<unknown> = Promise.resolve();
  #posting = new Set<Promise<void>>();
  #over = false;
  #resolve: (end: UpstreamEnd) => void = () => {};

  constructor(options: HttpUpstreamOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  open(events: UpstreamEvents): void {
    this.#events = events;
  }

  send(line: Buffer): void {
    const parsed = parseLine(line);
    const message: JsonRecord = isRecord(parsed) ? parsed : {};
    if (message['method'] === 'notifications/cancelled' && this.#aborted(message)) return;
    const posted = this.#handshake.then(() => this.#post(line, message));
    if (message['method'] === 'initialize' || message['method'] === 'notifications/initialized') {
      this.#handshake = posted;
      this.#opening.push({ line, message });
    }
    const tracked = posted.finally(() => this.#posting.delete(tracked));
    this.#posting.add(tracked);
  }

  whenDrained(then: () => void): void {
    then();
  }

  pause(): void {
    for (const stream of this.#streams) stream.pause();
  }

  resume(): void {
    for (const stream of this.#streams) stream.resume();
  }

  close(): void {
    const timer = setTimeout(() => this.#end({ code: 0, signal: null }), FAREWELL_MS);
    void Promise.allSettled(this.#posting).then(() => {
      clearTimeout(timer);
      this.#end({ code: 0, signal: null });
    });
  }

  stop(signal: NodeJS.Signals): void {
    this.#end({ code: null, signal });
  }

  /**
   * Posts a message. Never rejects: a request that cannot be sent is answered with an error; other
   * failures are logged. If the server no longer knows the session, posts the message again in a new
   * one: the server has not acted on it.
   */
  async #post(line: Buffer, message: JsonRecord, attempt: 'first' | 'second' = 'first'): Promise<void> {
    if (this.#over) return;
    const session = this.#session;
    const key = typeof message['method'] === 'string' ? idKey(message['id']) : undefined;
    const exchange = this.#http.send({
      method: 'POST',
      url: this.#url,
      headers: this.#headersFor(message),
      body: line,
    });
    if (key !== undefined) this.#open.set(key, { exchange, modern: isModern(message) });
    try {
      const response = await exchange.response;
      const isLost = response.statusCode === 404 && session !== undefined && attempt === 'first';
      if (isLost && (await this.#renewed(session))) {
        response.resume();
        await this.#post(line, message, 'second');
      } else await this.#received(response, message, key);
    } catch (error) {
      const cure = UNREACHABLE.has(errnoOf(error) ?? '') ? ': start the server, or correct --url' : '';
      this.#failed(key, `${errorText(error)}${cure}`);
    } finally {
      if (key !== undefined) this.#open.delete(key);
    }
  }

  async #received(response: IncomingMessage, message: JsonRecord, key: string | undefined): Promise<void> {
    const status = response.statusCode ?? 0;
    const good = status >= 200 && status < 300;
    if (good && message['method'] === 'initialize') this.#session = headerOf(response, 'mcp-session-id');
    if (good && mediaType(response) === EVENT_STREAM) return this.#stream(response, message, key);
    const body = await bodyOf(response, this.#options.maxBytes);
    if (good && message['method'] === 'notifications/initialized' && !isModern(message)) this.#listen();
    if (key === undefined) {
      if (!good) this.#events.log(`${message['method'] ?? 'a message'} was answered with HTTP ${status}`);
      return;
    }
    this.#deliverBody(body, { message, key, status });
  }

  /** Delivers a JSON body as the answer to a request. The body may be an error without an id. */
  #deliverBody(body: Buffer, to: { message: JsonRecord; key: string; status: number }): void {
    const parsed = parseLine(body);
    if (Array.isArray(parsed) || (isRecord(parsed) && idKey(parsed['id']) !== undefined)) {
      this.#deliver(onOneLine(body), to.message);
      return;
    }
    const error = fieldOf(parsed, 'error');
    if (isRecord(error)) this.#events.onLine(lineOf({ jsonrpc: '2.0', id: to.message['id'], error }));
    else this.#failed(to.key, `HTTP ${to.status}: ${body.toString('utf8', 0, 500)}`);
    this.#lost(to.status);
  }

  /** Replaces the lost session by a new one. Messages that lost it at the same time share it. False if that fails. */
  #renewed(lost: string): Promise<boolean> {
    if (this.#session !== undefined && this.#session !== lost) return Promise.resolve(true);
    this.#renewal ??= this.#renew()
      .catch(() => false)
      .finally(() => {
        this.#session ??= lost;
        this.#renewal = undefined;
      });
    return this.#renewal;
  }

  async #renew(): Promise<boolean> {
    const [first, ...rest] = this.#opening;
    if (first?.message['method'] !== 'initialize') return false;
    this.#session = undefined;
    const headers = this.#headersFor(first.message);
    const exchange = this.#http.send({ method: 'POST', url: this.#url, headers, body: first.line });
    const response = (await exchange.response).resume();
    this.#session = headerOf(response, 'mcp-session-id');
    if (this.#session === undefined) return false;
    for (const { line, message } of rest) await this.#post(line, message, 'second');
    this.#events.log('the server had lost its session; a new one was begun');
    return true;
  }

  /** Ends this upstream if the server no longer knows its session and gives no other one. */
  #lost(status: number): void {
    if (status !== 404 || this.#session === undefined) return;
    this.#session = undefined;
    this.#end({ code: 1, signal: null });
  }

  async #stream(response: IncomingMessage, message: JsonRecord, key: string | undefined): Promise<void> {
    const stream = this.#begun(key, (line) => this.#deliver(line, message));
    const answered = await stream.run(response);
    this.#streams.delete(stream);
    if (!answered && !this.#over) this.#failed(key, 'the stream ended without an answer');
  }

  /** Opens the stream for messages of the server that answer no request. Not every server offers one. */
  #listen(): void {
    const stream = this.#begun(undefined, (line) => this.#events.onLine(line));
    void this.#get(undefined)
      .then((response) => (response === undefined ? false : stream.run(response)))
      .catch((error: unknown) => this.#events.log(`no stream from the server: ${String(error)}`))
      .finally(() => this.#streams.delete(stream));
  }

  #begun(awaits: string | undefined, onLine: ServerStreamOptions['onLine']): ServerStream {
    const { maxBytes } = this.#options;
    const stream = new ServerStream({ maxBytes, awaits, onLine, again: (id) => this.#get(id) });
    this.#streams.add(stream);
    return stream;
  }

  async #get(lastEventId: string | undefined): Promise<IncomingMessage | undefined> {
    if (this.#over) return undefined;
    const headers = { ...this.#commonHeaders(), accept: EVENT_STREAM };
    const resume: Headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const exchange = this.#http.send({ method: 'GET', url: this.#url, headers: { ...headers, ...resume } });
    const response = await exchange.response;
    if (response.statusCode === 200 && mediaType(response) === EVENT_STREAM) return response;
    response.resume();
    return undefined;
  }

  #deliver(line: Buffer, message: JsonRecord): void {
    if (message['method'] === 'initialize') {
      const version = fieldOf(parseLine(line), 'result.protocolVersion');
      if (typeof version === 'string') this.#version = version;
    }
    if (message['method'] === 'tools/list' && isModern(message)) this.#learn(line);
    this.#events.onLine(line);
  }

  #learn(line: Buffer): void {
    learnParameters(this.#parameters, fieldOf(parseLine(line), 'result.tools'));
  }

  /**
   * Cancels a call by aborting its request, as MCP revision 2026-07-28 requires. Returns false if
   * no open call of this revision has the id.
   */
  #aborted(message: JsonRecord): boolean {
    const open = this.#open.get(idKey(paramsOf(message)['requestId']) ?? '');
    if (open?.modern !== true) return false;
    this.#open.delete(idKey(paramsOf(message)['requestId']) ?? '');
    open.exchange.abort();
    return true;
  }

  #failed(key: string | undefined, why: string): void {
    if (this.#over) return;
    if (key === undefined) this.#events.log(`${this.#url.origin}: ${why}`);
    // An aborted request is no longer in `#open`, so the client gets no answer to it.
    else if (this.#open.has(key))
      this.#events.onLine(errorLine(key, INTERNAL_ERROR, `${this.#url.origin}: ${why}`));
  }

  #headersFor(message: JsonRecord): Headers {
    const tool = paramsOf(message)['name'];
    const parameters = typeof tool === 'string' ? (this.#parameters.get(tool) ?? []) : [];
    return {
      ...(message['method'] === 'initialize' ? this.#options.headers : this.#commonHeaders()),
      ...modernHeaders(message, parameters),
      'content-type': 'application/json',
      accept: `application/json, ${EVENT_STREAM}`,
    };
  }

  #commonHeaders(): Headers {
    return {
      ...this.#options.headers,
      ...(this.#session === undefined ? {} : { 'mcp-session-id': this.#session }),
      ...(this.#version === undefined ? {} : { 'mcp-protocol-version': this.#version }),
    };
  }

  #end(end: UpstreamEnd): void {
    if (this.#over) return;
    this.#over = true;
    for (const { exchange } of this.#open.values()) exchange.abort();
    for (const stream of this.#streams) stream.stop();
    void this.#goodbye().finally(() => {
      this.#http.close();
      this.#resolve(end);
    });
  }

  /** Ends the server's session. Failure is harmless, because servers drop idle sessions. */
  async #goodbye(): Promise<void> {
    if (this.#session === undefined) return;
    const exchange = this.#http.send({ method: 'DELETE', url: this.#url, headers: this.#commonHeaders() });
    const timer = setTimeout(() => exchange.abort(), GOODBYE_MS);
    await exchange.response.then(
      (response) => response.resume(),
      () => undefined,
    );
    clearTimeout(timer);
  }
}

function headerOf(response: IncomingMessage, name: string): string | undefined {
  const value = response.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/**
 * One event stream. After a disconnect, it reconnects and continues after the last event that had
 * an id. If no event had an id, only a stream that answers no request reconnects.
 */
class ServerStream {
  readonly #options: ServerStreamOptions;
  #response: IncomingMessage | undefined;
  #lastEventId: string | undefined;
  #retryMs = RETRY_MS;
  #answered = false;
  #stopped = false;
  #wake: () => void = () => {};

  constructor(options: ServerStreamOptions) {
    this.#options = options;
  }

  /** Resolves when the stream is over: true if the awaited answer has arrived. */
  async run(first: IncomingMessage): Promise<boolean> {
    let response: IncomingMessage | undefined = first;
    for (let failures = 0; failures < RETRIES && !this.#stopped; failures++) {
      if (response !== undefined) {
        await this.#read(response);
        failures = 0;
      }
      if (this.#answered || !this.#resumable()) break;
      await this.#pause();
      if (this.#stopped) break;
      response = await this.#options.again(this.#lastEventId).catch(() => undefined);
    }
    return this.#answered;
  }

  stop(): void {
    this.#stopped = true;
    this.#response?.destroy();
    this.#wake();
  }

  pause(): void {
    this.#response?.pause();
  }

  resume(): void {
    this.#response?.resume();
  }

  #resumable(): boolean {
    return this.#options.awaits === undefined || this.#lastEventId !== undefined;
  }

  #read(response: IncomingMessage): Promise<void> {
    this.#response = response;
    const parser = new EventParser({
      maxBytes: this.#options.maxBytes,
      onEvent: ({ id, type, data }) => {
        if (id !== undefined) this.#lastEventId = id;
        if (data.length === 0 || (type !== '' && type !== 'message')) return;
        this.#answered ||= this.#isAnswer(data);
        this.#options.onLine(data);
      },
      onRetry: (ms) => {
        this.#retryMs = ms;
      },
      onTooLong: () => response.destroy(),
    });
    return new Promise((resolve) => {
      response.on('data', (chunk: Buffer) => parser.push(chunk));
      response.on('close', () => resolve());
      response.on('error', () => resolve());
    });
  }

  #isAnswer(line: Buffer): boolean {
    const { awaits } = this.#options;
    if (awaits === undefined) return false;
    const message = parseLine(line);
    return isRecord(message) && message['method'] === undefined && idKey(message['id']) === awaits;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#retryMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** One request and its response; `abort` ends it at any time. */
interface Exchange {
  readonly response: Promise<IncomingMessage>;
  abort(): void;
}

interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: Headers;
  readonly body?: Buffer;
}

const REDIRECTS = 3;

/** An HTTP client without time limits: a tool may take any time, and an event stream has no end. */
class HttpClient {
  readonly #http = new HttpAgent({ keepAlive: true });
  readonly #https = new HttpsAgent({ keepAlive: true });

  send(request: ExchangeRequest): Exchange {
    let current: { destroy(): void } | undefined;
    let aborted = false;
    const go = (url: URL, left: number): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const secure = url.protocol === 'https:';
        const sent = (secure ? requestHttps : requestHttp)(
          url,
          { method: request.method, headers: request.headers, agent: secure ? this.#https : this.#http },
          (response) => {
            const next = left > 0 ? redirectOf(url, response) : undefined;
            if (next === undefined || aborted) resolve(response);
            else {
              response.resume();
              resolve(go(next, left - 1));
            }
          },
        );
        current = sent;
        sent.on('error', reject);
        sent.end(request.body);
      });
    return {
      response: go(request.url, REDIRECTS),
      abort: () => {
        aborted = true;
        current?.destroy();
      },
    };
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

/**
 * The target of a redirect that keeps method and body. Undefined for a redirect to another origin,
 * because that origin would get our headers.
 */
function redirectOf(from: URL, response: IncomingMessage): URL | undefined {
  if (response.statusCode !== 307 && response.statusCode !== 308) return undefined;
  const { location } = response.headers;
  if (location === undefined || !URL.canParse(location, from.href)) return undefined;
  const to = new URL(location, from);
  return to.origin === from.origin ? to : undefined;
}

/** The whole body of an answer; rejects if it exceeds the limit. */
async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const body = await readBody(response, maxBytes);
  if (body !== undefined) return body;
  response.destroy();
  throw new Error(`the answer has more than ${maxBytes} bytes`);
}
