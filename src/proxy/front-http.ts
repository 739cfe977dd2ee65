import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/node';
import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import { SESSION_KEY } from '../tools/session-choice.ts';
import { carriesToken, listenLocally, rejectRequest } from '../wire/http.ts';
import {
  errorLine,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  idKey,
  isModern,
  PARSE_ERROR,
  paramsOf,
  parseLine,
  rpcMeta,
  SERVER_ERROR,
  SESSION_NOT_FOUND,
} from '../wire/rpc.ts';
import { onOneLine, openStream, writeMessage } from '../wire/sse.ts';
import {
  ENDPOINT_PATH,
  type Endpoint,
  FrontConnection,
  HTTP_SESSION,
  namedGate,
  namedIn,
  receivedBody,
} from './front-endpoint.ts';
import { ModernClients } from './front-modern.ts';
import { RelayEndpoint } from './front-relay.ts';
import { Reply } from './front-reply.ts';
import { type GateOptions, type GateSettings, gateFor } from './gate-settings.ts';
import { MAX_MESSAGE_BYTES } from './lines.ts';
import type { UpstreamChoice } from './upstream.ts';
import { StdioUpstream, type StdioUpstreamOptions, stdioOptions } from './upstream-stdio.ts';

/** Options for a gate that clients reach by Streamable HTTP on this machine. */
export interface FrontOptions extends GateOptions, UpstreamChoice {
  readonly stderr: Writable;
  /** The port; default 0: any free port. */
  readonly port?: number;
  /**
   * The token that clients must send as `Authorization: Bearer`; undefined admits every client on
   * this machine.
   */
  readonly token: string | undefined;
  readonly maxBytes?: number;
}

interface Front {
  /** The URL of the gate: `http://127.0.0.1:PORT/mcp` */
  readonly url: string;
  readonly port: number;
  /** Stops listening, and ends every server process that the gate started. */
  close(): Promise<void>;
}

/**
 * Serves the gate on 127.0.0.1. If the server behind the gate is a command, each client with a
 * session gets its own process of that command, and all other clients share one. If it is a URL,
 * the gate relays the requests and reads only those that it must check.
 */
export async function serveProxy(options: FrontOptions): Promise<Front> {
  const log = (text: string): void => void options.stderr.write(`lookfirst: ${text}\n`);
  const endpoint = endpointFor(options, log);
  const letIn = guard(options.token);
  const server = createServer((req, res) => {
    if (!letIn(req, res)) return;
    if (namedIn(req).kind === 'other') {
      const message = `Not found: this serves ${ENDPOINT_PATH} and ${ENDPOINT_PATH}/NAME`;
      rejectRequest(res, { status: 404, code: SESSION_NOT_FOUND, message });
      return;
    }
    endpoint.handle(req, res).catch((error: unknown) => {
      log(`${req.method} failed: ${String(error)}`);
      if (res.headersSent) res.destroy();
      else rejectRequest(res, { status: 500, code: INTERNAL_ERROR, message: 'Internal error' });
    });
  });
  // No timeout: a tool may take any time, and a stream has no end.
  server.requestTimeout = 0;
  const port = await listenLocally(server, options.port ?? 0);
  const close = async (): Promise<void> => {
    server.close();
    await endpoint.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}${ENDPOINT_PATH}`, port, close };
}

function endpointFor(options: FrontOptions, log: (text: string) => void): Endpoint {
  const gate = gateFor(options, log);
  const maxBytes = options.maxBytes ?? MAX_MESSAGE_BYTES;
  const { url, headers = {}, token, stderr } = options;
  if (url !== undefined)
    return new RelayEndpoint({ url, headers, maxBytes, gate, ownsAuthorization: token !== undefined });
  const process = stdioOptions(options, { stderr, maxLineBytes: maxBytes });
  return new ProcessEndpoint({ gate, maxBytes, process });
}

/**
 * Returns a function that checks a request. It returns true if the host and origin are this machine
 * and the token is right. Otherwise it answers the request with an error and returns false.
 */
function guard(token: string | undefined): (req: IncomingMessage, res: ServerResponse) => boolean {
  const hostOk = localhostHostValidation();
  const originOk = localhostOriginValidation();
  return (req, res) => {
    if (!hostOk(req, res) || !originOk(req, res)) return false;
    if (token === undefined || carriesToken(req.headers.authorization, token)) return true;
    rejectRequest(res, {
      status: 401,
      code: SESSION_NOT_FOUND,
      message: 'Unauthorized',
      headers: { 'www-authenticate': 'Bearer realm="lookfirst"' },
    });
    return false;
  };
}

interface ProcessEndpointOptions {
  readonly gate: GateSettings;
  readonly maxBytes: number;
  readonly process: StdioUpstreamOptions;
}

const IDLE_MS = 30 * 60_000;
const LOOK_MS = 60_000;
const MAX_CLIENTS = 64;

/**
 * Serves clients if the server behind the gate is a command. Starts one process of the command for
 * each client with a session, and one for all other clients.
 */
class ProcessEndpoint implements Endpoint {
  readonly #options: ProcessEndpointOptions;
  readonly #clients = new Map<string, LegacyClient>();
  readonly #modern: ModernClients;
  readonly #timer: NodeJS.Timeout;

  constructor(options: ProcessEndpointOptions) {
    this.#options = options;
    this.#modern = new ModernClients((toClient) => this.#connect(options.gate, toClient));
    this.#timer = setInterval(() => this.#endIdle(), LOOK_MS);
    this.#timer.unref();
  }

  async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method === 'POST') return this.#post(req, res);
    const client = this.#clientOf(req, res);
    if (client === undefined) return;
    if (req.method === 'GET') client.listen(res);
    else if (req.method === 'DELETE') {
      this.#clients.delete(client.id);
      await client.close();
      res.writeHead(200).end();
    } else
      rejectRequest(res, {
        status: 405,
        code: SERVER_ERROR,
        message: 'Method not allowed',
        headers: { allow: 'GET, POST, DELETE' },
      });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([this.#modern.close(), ...[...this.#clients.values()].map((client) => client.close())]);
  }

  async #post(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await receivedBody(req, res, this.#options.maxBytes);
    if (body === undefined) return;
    const message = parseLine(body);
    if (!isRecord(message)) {
      const batch = { code: INVALID_REQUEST, message: 'send one message per request, not a batch' };
      const problem = Array.isArray(message) ? batch : { code: PARSE_ERROR, message: 'Parse error' };
      return rejectRequest(res, { status: 400, ...problem });
    }
    const line = onOneLine(body);
    if (isModern(message) || isModernHeader(req))
      this.#postModern(req, res, inSessionOf(req, { line, message }));
    else this.#postLegacy(req, res, { line, message });
  }

  #postModern(req: IncomingMessage, res: ServerResponse, post: Post): void {
    const { id, method } = post.message;
    const asks = id !== undefined && typeof method === 'string';
    const problem = asks ? this.#modern.problemWith(post.message, req.headers) : undefined;
    if (problem === undefined) this.#modern.post(post.line, post.message, res);
    else rejectRequest(res, { status: 400, id, ...problem });
  }

  #postLegacy(req: IncomingMessage, res: ServerResponse, post: Post): void {
    const fresh = post.message['method'] === 'initialize' && req.headers['mcp-session-id'] === undefined;
    const client = fresh ? this.#newClient(req, res) : this.#clientOf(req, res);
    client?.post(post.line, post.message, res);
  }

  #newClient(req: IncomingMessage, res: ServerResponse): LegacyClient | undefined {
    if (this.#clients.size >= MAX_CLIENTS) this.#endIdle();
    if (this.#clients.size >= MAX_CLIENTS) {
      rejectRequest(res, { status: 503, code: SERVER_ERROR, message: 'too many sessions' });
      return undefined;
    }
    const id = randomUUID();
    const gate = namedGate(this.#options.gate, req);
    const own: GateSettings = {
      ...gate,
      session: (meta) => gate.session({ ...meta, [HTTP_SESSION]: id }),
    };
    const client = new LegacyClient(id, (toClient) => this.#connect(own, toClient));
    this.#clients.set(id, client);
    void client.ended().then(() => this.#clients.delete(id));
    return client;
  }

  #clientOf(req: IncomingMessage, res: ServerResponse): LegacyClient | undefined {
    const id = req.headers['mcp-session-id'];
    if (typeof id !== 'string') {
      rejectRequest(res, {
        status: 400,
        code: SERVER_ERROR,
        message: 'Bad Request: the header Mcp-Session-Id is missing',
      });
      return undefined;
    }
    const client = this.#clients.get(id);
    if (client === undefined)
      rejectRequest(res, { status: 404, code: SESSION_NOT_FOUND, message: 'Session not found' });
    return client;
  }

  #connect(gate: GateSettings, toClient: (line: Buffer) => boolean): FrontConnection {
    return new FrontConnection(new StdioUpstream(this.#options.process), gate, toClient);
  }

  #endIdle(): void {
    const since = Date.now() - IDLE_MS;
    for (const client of this.#clients.values()) {
      if (client.busy || client.lastUsedMs > since) continue;
      this.#clients.delete(client.id);
      void client.close();
    }
  }
}

interface Post {
  readonly line: Buffer;
  readonly message: JsonRecord;
}

/**
 * Adds the session name from the URL path `/mcp/NAME` to a message. Clients of MCP revision
 * 2026-07-28 share one connection to the server, so the connection does not identify the session.
 */
function inSessionOf(req: IncomingMessage, post: Post): Post {
  const named = namedIn(req);
  const meta = rpcMeta(post.message);
  if (named.kind !== 'name' || meta[SESSION_KEY] !== undefined) return post;
  const params = { ...paramsOf(post.message), _meta: { ...meta, [SESSION_KEY]: named.name } };
  const message = { ...post.message, params };
  return { line: Buffer.from(JSON.stringify(message)), message };
}

function isModernHeader(req: IncomingMessage): boolean {
  const version = req.headers['mcp-protocol-version'];
  return typeof version === 'string' && version >= '2026-';
}

/** Maximum messages kept for a client without an open stream; beyond it the oldest are dropped. */
const HELD = 1000;

interface OpenPost {
  readonly reply: Reply;
  readonly token: string | undefined;
}

/**
 * One client of an MCP revision with sessions. It has its own server process, so that ids and
 * tokens need no translation. An answer or progress message goes to the request that it belongs to.
 * A request from the server goes to the newest open request, or else to the client's event stream
 * (see `listen`). Any other message goes to the event stream, or else to the newest open request.
 * With neither, a message waits for the event stream.
 */
class LegacyClient {
  readonly id: string;
  readonly #open: () => FrontConnection;
  readonly #posts = new Map<string, OpenPost>();
  #connection: FrontConnection | undefined;
  #stream: ServerResponse | undefined;
  #held: Buffer[] = [];
  lastUsedMs: number = Date.now();

  constructor(id: string, open: (toClient: (line: Buffer) => boolean) => FrontConnection) {
    this.id = id;
    this.#open = () => open((line) => this.#route(line));
  }

  get connection(): FrontConnection {
    this.#connection ??= this.#open();
    return this.#connection;
  }

  post(line: Buffer, message: JsonRecord, response: ServerResponse): void {
    this.lastUsedMs = Date.now();
    const key = typeof message['method'] === 'string' ? idKey(message['id']) : undefined;
    if (key === undefined) {
      this.connection.send(line);
      response.writeHead(202, this.#headers).end();
      return;
    }
    const streams = /text\/event-stream/.test(response.req.headers.accept ?? '');
    const reply = new Reply(response, { headers: this.#headers, modern: false, streams });
    const token = idKey(rpcMeta(message)['progressToken']);
    this.#posts.set(key, { reply, token });
    // In MCP revisions with sessions, a disconnect does not cancel the request; its answer is dropped.
    reply.onGone(() => {
      if (this.#posts.get(key)?.reply === reply) this.#posts.delete(key);
    });
    this.connection.send(line);
  }

  /** Opens the client's event stream, for messages that belong to no request. Only one is allowed. */
  listen(response: ServerResponse): void {
    this.lastUsedMs = Date.now();
    if (this.#stream !== undefined) {
      rejectRequest(response, {
        status: 409,
        code: SERVER_ERROR,
        message: 'Conflict: one stream per session',
      });
      return;
    }
    this.#stream = response;
    openStream(response, this.#headers);
    response.once('close', () => {
      this.#stream = undefined;
    });
    const held = this.#held;
    this.#held = [];
    for (const line of held) writeMessage(response, line);
  }

  /** Resolves when the client's server has ended. Open requests are answered with an error. */
  async ended(): Promise<void> {
    await this.connection.ended();
    for (const [key, { reply }] of this.#posts)
      reply.finish(errorLine(key, INTERNAL_ERROR, 'the server has ended'));
    this.#posts.clear();
    this.#stream?.end();
  }

  get busy(): boolean {
    return this.#posts.size > 0 || this.#stream !== undefined;
  }

  async close(): Promise<void> {
    this.#stream?.end();
    await this.#connection?.close();
  }

  get #headers(): Readonly<Record<string, string>> {
    return { 'mcp-session-id': this.id };
  }

  #route(line: Buffer): boolean {
    const message = parseLine(line);
    const key = idKey(fieldOf(message, 'id'));
    const method = fieldOf(message, 'method');
    if (method === undefined && key !== undefined) {
      const post = this.#posts.get(key);
      this.#posts.delete(key);
      post?.reply.finish(line);
      return post !== undefined;
    }
    if (isRecord(message) && method === 'notifications/progress') {
      const token = idKey(fieldOf(message, 'params.progressToken'));
      const post = [...this.#posts.values()].find((open) => open.token === token);
      if (post !== undefined) {
        post.reply.event(line);
        return true;
      }
    }
    this.#tell(line, key === undefined ? 'notification' : 'request');
    return true;
  }

  #tell(line: Buffer, kind: 'notification' | 'request'): void {
    const newest = [...this.#posts.values()].at(-1)?.reply;
    if (newest !== undefined && (kind === 'request' || this.#stream === undefined)) newest.event(line);
    else if (this.#stream !== undefined) writeMessage(this.#stream, line);
    else {
      this.#held.push(line);
      if (this.#held.length > HELD) this.#held.shift();
    }
  }
}
