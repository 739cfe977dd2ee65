import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import {
  localhostHostValidation,
  localhostOriginValidation,
  type NodeIncomingMessageLike,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import { createMcpHandler, isInitializeRequest, isLegacyRequest } from '@modelcontextprotocol/server';
import { Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { isSessionId, MAX_SESSION_ID_CHARS } from '../model/session-record.ts';
import { COMPACTED_METHOD, CONTEXT_KEY, SESSION_KEY, TURN_KEY } from '../tools/session-choice.ts';
import type { ToolHost } from '../tools/tool-host.ts';
import {
  acceptedOf,
  checkToken,
  decodedName,
  listenLocally,
  type Rejection,
  readJson,
  rejectRequest,
} from '../wire/http.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, SERVER_ERROR, SESSION_NOT_FOUND } from '../wire/rpc.ts';
import { HeldCalls } from './approval.ts';
import { metaOf } from './protocol.ts';
import { type SdkServerOptions, sdkServer } from './sdk-server.ts';
import { inputRead } from './stdio-loop.ts';

const METHODS: readonly string[] = ['POST', 'GET', 'DELETE'];
/**
 * The media types of answers. A client must accept both types for a POST, and the second one for a
 * GET.
 */
const ANSWER_TYPES: readonly string[] = ['application/json', 'text/event-stream'];
const MAX_BODY_BYTES = 64 << 20;
/** If a client takes longer to send one request, the server closes the connection. */
const REQUEST_MS = 60_000;

export interface HttpOptions {
  readonly host: ToolHost;
  /** The token that clients must send as `Authorization: Bearer`. */
  readonly token: string;
  /** The port; default 0: any free port. */
  readonly port?: number;
  /** Receives messages for the user. */
  readonly log: (line: string) => void;
  /**
   * The viewer. It serves every path except `/mcp` and does its own authentication. This server
   * checks Host and Origin before it calls the viewer.
   */
  readonly other?: RequestListener;
  /** The largest request body that is accepted; larger ones are rejected. Default 64 MiB. */
  readonly maxBodyBytes?: number;
  /** Time limit for a client to send one request before its connection is closed; default 60 s. */
  readonly requestMs?: number;
  /**
   * Limits of HTTP sessions, which only protocol revisions before 2026-07-28 have. Default: a
   * session expires after half an hour without a request; at most 256 sessions.
   */
  readonly sessions?: Partial<SessionLimits>;
}

interface HttpServer {
  /** The URL of the server: `http://127.0.0.1:PORT/mcp` */
  readonly url: string;
  readonly port: number;
  /** Stops listening, cancels running calls, and ends every session. */
  close(): Promise<void>;
}

/** The path of the server. A client may append `/NAME`, the name of its session. */
const MCP_PATH = '/mcp';

/** The meaning of a request's path. */
type Address =
  | { readonly kind: 'mcp'; readonly session: string | undefined }
  | { readonly kind: 'misnamed' }
  | { readonly kind: 'other' };

interface SessionLimits {
  /** A session without open requests is dropped after this time. */
  readonly idleMs: number;
  /** At this limit, a new session replaces the one idle the longest, or is rejected if none is idle. */
  readonly maxSessions: number;
  /** The current time in milliseconds. Only differences between two values are used. */
  readonly now: () => number;
}

interface Session {
  readonly transport: NodeStreamableHTTPServerTransport;
  /** The number of requests being answered, including an open event stream. */
  open: number;
  usedMs: number;
}

const NOT_FOUND: Rejection = { status: 404, code: SESSION_NOT_FOUND, message: 'Session not found' };
const MISNAMED: Rejection = {
  status: 404,
  code: SERVER_ERROR,
  message: `Not found: NAME in ${MCP_PATH}/NAME must have 1 to ${MAX_SESSION_ID_CHARS} printable characters`,
};
const NO_ROOM: Rejection = { status: 503, code: SERVER_ERROR, message: 'Too many sessions in use' };

/** When a request arrived, as a `performance.now()` time, and its response. */
interface Arrival {
  readonly at: number;
  readonly res: ServerResponse;
}

/** One HTTP request, its response, and its body if it was read. */
interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly body: unknown;
}

/**
 * Serves a host as Streamable HTTP on 127.0.0.1 at `/mcp` and `/mcp/NAME`. NAME is the session of
 * every call that does not name its own. Loads the SDK and zod, so import this module only for
 * HTTP.
 */
export async function listenHttp(options: HttpOptions): Promise<HttpServer> {
  const endpoint = new Endpoint(options);
  const requestTimeout = options.requestMs ?? REQUEST_MS;
  const limits = {
    requestTimeout,
    headersTimeout: requestTimeout,
    connectionsCheckingInterval: Math.ceil(requestTimeout / 4),
  };
  const server = createServer(limits, (req, res) => {
    endpoint.serve(req, res).catch((error: unknown) => {
      // Ignore the error if the client has disconnected in the middle of its request.
      if (req.destroyed && !req.complete) return;
      options.log(`${req.method} ${MCP_PATH} failed: ${String(error)}`);
      if (!res.headersSent)
        rejectRequest(res, { status: 500, code: INTERNAL_ERROR, message: 'Internal error' });
      else res.destroy();
    });
  });
  const port = await listenLocally(server, options.port ?? 0);
  return { url: `http://127.0.0.1:${port}${MCP_PATH}`, port, close: () => closeServer(server, endpoint) };
}

class Endpoint {
  readonly #options: HttpOptions;
  readonly #maxBodyBytes: number;
  readonly #hostOk = localhostHostValidation();
  readonly #originOk = localhostOriginValidation();
  readonly #held = new HeldCalls(inputRead);
  /** Arrival time and response of the request being served. The SDK does not pass them to the tools. */
  readonly #arrivals = new AsyncLocalStorage<Arrival>();
  readonly #sessions: HttpSessions;
  readonly #modern: ReturnType<typeof createMcpHandler>;
  readonly #serveModern: ReturnType<typeof toNodeHandler>;
  readonly #expiry: NodeJS.Timeout;

  constructor(options: HttpOptions) {
    const { host, log, maxBodyBytes = MAX_BODY_BYTES } = options;
    this.#options = options;
    this.#maxBodyBytes = maxBodyBytes;
    const limits = {
      idleMs: 30 * 60_000,
      maxSessions: 256,
      now: () => performance.now(),
      ...options.sessions,
    };
    const arrivedAt = (): number => this.#arrivals.getStore()?.at ?? performance.now();
    const isClientGone = (): boolean => this.#arrivals.getStore()?.res.destroyed === true;
    const server = { log, held: this.#held, arrivedAt, isClientGone };
    this.#sessions = new HttpSessions({ ...server, host, limits });
    this.#modern = createMcpHandler(({ era }) => sdkServer(host, era, server), {
      legacy: 'reject',
      maxRequestBodySize: maxBodyBytes,
    });
    this.#serveModern = toNodeHandler(this.#modern, { maxRequestBodySize: maxBodyBytes });
    this.#expiry = setInterval(
      () => {
        this.#sessions.expire().catch((error: unknown) => log(`expiry failed: ${String(error)}`));
      },
      Math.max(1, Math.min(limits.idleMs / 2, 60_000)),
    ).unref();
  }

  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (!this.#hostOk(req, res) || !this.#originOk(req, res)) return;
    const address = addressOf(req.url);
    if (address.kind === 'misnamed') return rejectRequest(res, MISNAMED);
    if (address.kind === 'other') {
      if (this.#options.other !== undefined) this.#options.other(req, res);
      else
        rejectRequest(res, {
          status: 404,
          code: SERVER_ERROR,
          message: `Not found: the server is at ${MCP_PATH}, or ${MCP_PATH}/NAME`,
        });
      return;
    }
    const unauthorized = checkToken(req.headers.authorization, this.#options.token);
    if (unauthorized !== undefined) rejectRequest(res, unauthorized);
    else if (!METHODS.includes(req.method ?? ''))
      rejectRequest(res, {
        status: 405,
        code: SERVER_ERROR,
        message: `Method not allowed: use ${METHODS.join(', ')}`,
        headers: { allow: METHODS.join(', ') },
      });
    else {
      // Replace wildcards by the names in `ANSWER_TYPES`, because the SDK would reject `*/*`.
      req.headers.accept = acceptedOf(req.headers.accept, ANSWER_TYPES).join(', ');
      const arrival = { at: performance.now(), res };
      await this.#arrivals.run(arrival, () => this.#route(req, res, address.session));
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#expiry);
    this.#held.close();
    await Promise.all([this.#modern.close(), this.#sessions.close()]);
  }

  async #route(req: IncomingMessage, res: ServerResponse, name: string | undefined): Promise<void> {
    const read = req.method === 'POST' ? await readJson(req, this.#maxBodyBytes) : { value: undefined };
    if ('status' in read) {
      rejectRequest(res, read);
      return;
    }
    const body = inSession(read.value, name);
    const header = req.headers['mcp-session-id'];
    const session = typeof header === 'string' ? header : undefined;
    const isKnown = session === undefined || this.#sessions.has(session);
    const malformed = isKnown ? await reportEvents(body, this.#options.host, session) : undefined;
    if (malformed !== undefined) rejectRequest(res, malformed);
    else if (session !== undefined) await this.#sessions.resume(session, { req, res, body });
    else if (isInitializeRequest(body) && (await isLegacy(req, body)))
      await this.#sessions.begin({ req, res, body });
    else if (req.method === 'POST' && (await isLegacy(req, body)))
      rejectRequest(res, {
        status: 400,
        code: SERVER_ERROR,
        message: 'Bad Request: Mcp-Session-Id header is required',
      });
    // The cast is safe: the types differ only in how they express an absent header.
    else await this.#serveModern(req as NodeIncomingMessageLike, res, body);
  }
}

/** Uses the SDK's own check whether a request is legacy, with the body that was already read. */
function isLegacy(req: IncomingMessage, body: unknown): Promise<boolean> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers))
    if (typeof value === 'string') headers.set(name, value);
  return isLegacyRequest(new Request('http://localhost/', { method: 'POST', headers }), body);
}

async function closeServer(server: Server, endpoint: Endpoint): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await endpoint.close();
  server.closeAllConnections();
  await closed;
}

/** Parses the path of a request: `/mcp`, `/mcp/NAME`, or another one. */
function addressOf(url: string | undefined): Address {
  // Split manually: clients may send paths that a URL parser rejects.
  const [path = '/'] = (url ?? '/').split('?');
  if (path === MCP_PATH) return { kind: 'mcp', session: undefined };
  if (!path.startsWith(`${MCP_PATH}/`)) return { kind: 'other' };
  const name = decodedName(path.slice(MCP_PATH.length + 1));
  return isSessionId(name) ? { kind: 'mcp', session: name } : { kind: 'misnamed' };
}

/**
 * Adds the session from the address to the messages of a POST. A message that names its own session
 * keeps it.
 */
function inSession(body: unknown, session: string | undefined): unknown {
  if (session === undefined) return body;
  if (Array.isArray(body)) return body.map((message) => inSession(message, session));
  if (!isRecord(body) || typeof body['method'] !== 'string') return body;
  const params = isRecord(body['params']) ? body['params'] : {};
  return { ...body, params: { ...params, _meta: { [SESSION_KEY]: session, ...metaOf(params) } } };
}

/**
 * Applies the session events (a compaction, a new turn) in messages other than tool calls, because
 * the SDK does not report these events. Returns the rejection if an event is malformed.
 */
async function reportEvents(
  body: unknown,
  host: ToolHost,
  sessionHint: string | undefined,
): Promise<Rejection | undefined> {
  try {
    for (const message of Array.isArray(body) ? body : [body]) {
      const meta = isRecord(message) ? eventMeta(message) : undefined;
      if (meta !== undefined) await host.report?.({ meta, sessionHint });
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'MISUSE') throw error;
    return { status: 400, code: INVALID_PARAMS, message: `Invalid params: ${error.message}` };
  }
}

function eventMeta({ method, params }: JsonRecord): JsonRecord | undefined {
  const meta = isRecord(params) ? metaOf(params) : {};
  if (method === COMPACTED_METHOD) return { ...meta, [CONTEXT_KEY]: 'compacted' };
  return (CONTEXT_KEY in meta || TURN_KEY in meta) && method !== 'tools/call' ? meta : undefined;
}

/**
 * Sessions of the protocol revisions before 2026-07-28. Clients rarely end them, so idle ones expire. Notifies the
 * host whenever a session ends.
 */
class HttpSessions {
  readonly #host: ToolHost;
  readonly #limits: SessionLimits;
  readonly #server: SdkServerOptions;
  readonly #sessions = new Map<string, Session>();

  constructor(options: SdkServerOptions & { readonly host: ToolHost; readonly limits: SessionLimits }) {
    this.#host = options.host;
    this.#limits = options.limits;
    this.#server = options;
  }

  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** Serves a request that names a session. Rejects it if there is no such session. */
  async resume(id: string, exchange: Exchange): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined) rejectRequest(exchange.res, NOT_FOUND);
    else await this.#handle(session, exchange);
  }

  /** Serves an `initialize` request in a new session. */
  async begin(exchange: Exchange): Promise<void> {
    if (this.#sessions.size >= this.#limits.maxSessions && !(await this.#evict())) {
      rejectRequest(exchange.res, NO_ROOM);
      return;
    }
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        this.#sessions.set(id, session);
      },
    });
    const session: Session = { transport, open: 0, usedMs: this.#limits.now() };
    transport.onclose = () => {
      const id = transport.sessionId;
      if (id !== undefined && this.#sessions.delete(id)) this.#host.sessionEnded?.(id);
    };
    await sdkServer(this.#host, 'legacy', this.#server).connect(transport);
    await this.#handle(session, exchange);
  }

  /** Ends sessions that were idle too long. */
  async expire(): Promise<void> {
    const before = this.#limits.now() - this.#limits.idleMs;
    const idle = [...this.#sessions.values()].filter(({ open, usedMs }) => open === 0 && usedMs <= before);
    await Promise.all(idle.map(({ transport }) => transport.close()));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
  }

  async #handle(session: Session, { req, res, body }: Exchange): Promise<void> {
    session.open += 1;
    res.once('close', () => {
      session.open -= 1;
      session.usedMs = this.#limits.now();
    });
    await session.transport.handleRequest(req, res, body);
  }

  async #evict(): Promise<boolean> {
    const [oldest] = [...this.#sessions.values()]
      .filter(({ open }) => open === 0)
      .sort((a, b) => a.usedMs - b.usedMs);
    await oldest?.transport.close();
    return oldest !== undefined;
  }
}
