import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { SESSION_KEY } from '../tools/session-choice.ts';
import { namedIn } from './front-address.ts';
import { FrontConnection } from './front-connection.ts';
import { type Endpoint, HTTP_SESSION, namedGate } from './front-endpoint.ts';
import { LegacyClient } from './front-legacy.ts';
import { ModernClients } from './front-modern.ts';
import { rejectFront } from './front-reply.ts';
import { bodyOf } from './http-exchange.ts';
import type { InterceptOptions } from './intercept-options.ts';
import { INVALID_REQUEST, isModern, PARSE_ERROR, paramsOf, parseLine, rpcMeta } from './rpc.ts';
import { onOneLine } from './sse.ts';
import { StdioUpstream, type StdioUpstreamOptions } from './upstream-stdio.ts';

export interface ProcessEndpointOptions {
  readonly gate: InterceptOptions;
  readonly maxBytes: number;
  readonly process: StdioUpstreamOptions;
}

const IDLE_MS = 30 * 60_000;
const LOOK_MS = 60_000;
const MAX_CLIENTS = 64;

/** Offers servers started as processes: one for each client with a session, one for all clients without. */
export class ProcessEndpoint implements Endpoint {
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
      rejectFront(
        res,
        { status: 405, code: -32000, message: 'Method not allowed' },
        { allow: 'GET, POST, DELETE' },
      );
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([this.#modern.close(), ...[...this.#clients.values()].map((client) => client.close())]);
  }

  async #post(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await bodyOf(req, this.#options.maxBytes).catch(() => undefined);
    if (body === undefined) {
      rejectFront(res, { status: 413, code: INVALID_REQUEST, message: 'the message is too large' });
      return;
    }
    const message = parseLine(body);
    if (!isRecord(message)) {
      const code = Array.isArray(message) ? INVALID_REQUEST : PARSE_ERROR;
      rejectFront(res, { status: 400, code, message: code === PARSE_ERROR ? 'Parse error' : 'no batches' });
      return;
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
    else rejectFront(res, { status: 400, id, ...problem });
  }

  #postLegacy(req: IncomingMessage, res: ServerResponse, post: Post): void {
    const fresh = post.message['method'] === 'initialize' && req.headers['mcp-session-id'] === undefined;
    const client = fresh ? this.#newClient(req, res) : this.#clientOf(req, res);
    client?.post(post.line, post.message, res);
  }

  #newClient(req: IncomingMessage, res: ServerResponse): LegacyClient | undefined {
    if (this.#clients.size >= MAX_CLIENTS) this.#endIdle();
    if (this.#clients.size >= MAX_CLIENTS) {
      rejectFront(res, { status: 503, code: -32000, message: 'too many sessions' });
      return undefined;
    }
    const id = randomUUID();
    const gate = namedGate(this.#options.gate, req);
    const own: InterceptOptions = {
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
      rejectFront(res, {
        status: 400,
        code: -32000,
        message: 'Bad Request: the header Mcp-Session-Id is missing',
      });
      return undefined;
    }
    const client = this.#clients.get(id);
    if (client === undefined) rejectFront(res, { status: 404, code: -32001, message: 'Session not found' });
    return client;
  }

  #connect(gate: InterceptOptions, toClient: (line: Buffer) => void): FrontConnection {
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
 * Adds the session name of `/mcp/NAME` to a message, because all such clients share one connection
 * to the server.
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
