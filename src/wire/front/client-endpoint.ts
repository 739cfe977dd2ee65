import type { ServerResponse } from 'node:http';
import type { JsonRecord } from '../../model/record.ts';
import { rejectRequest } from '../http.ts';
import { isModern, lineOf, paramsOf, rpcMeta, SERVER_ERROR } from '../rpc.ts';
import type { Link, ToClient } from './link.ts';
import { ModernClients } from './modern-clients.ts';
import { notAcceptable, type Posted, readPosted } from './posted.ts';
import type { Endpoint, FrontRequest } from './serve-front.ts';
import { SessionClients, type SessionLimits, sessionIdOf } from './session-clients.ts';

interface ClientEndpointOptions {
  readonly maxBytes: number;
  readonly limits?: Partial<SessionLimits> | undefined;
  /** The `_meta` key for the NAME in a request's path. A message that has this key already keeps its value. */
  readonly sessionKey: string;
  /**
   * Opens the link of a session, or (without an id) the one that all clients of revision 2026-07-28
   * share.
   */
  connect(toClient: ToClient, session: string | undefined): Link;
  /** Called when a session has ended. */
  sessionEnded?: ((id: string) => void) | undefined;
}

/** Serves HTTP clients of all protocol revisions over links: one for each session, and one for all clients without. */
export class ClientEndpoint implements Endpoint {
  readonly #options: ClientEndpointOptions;
  readonly #sessions: SessionClients;
  readonly #modern: ModernClients;

  constructor(options: ClientEndpointOptions) {
    this.#options = options;
    this.#modern = new ModernClients((toClient) => options.connect(toClient, undefined));
    this.#sessions = new SessionClients({
      limits: options.limits,
      open: (id, toClient) => options.connect(toClient, id),
      ended: options.sessionEnded,
    });
  }

  async handle(request: FrontRequest, res: ServerResponse): Promise<void> {
    const { req } = request;
    if (req.method !== 'POST' && sessionIdOf(req) === undefined) {
      const message = 'Method not allowed: only a session has an event stream and an end';
      return rejectRequest(res, { status: 405, code: SERVER_ERROR, message, headers: { allow: 'POST' } });
    }
    if (req.method === 'DELETE') return this.#sessions.end(req, res);
    const unacceptable = notAcceptable(req);
    if (unacceptable !== undefined) return rejectRequest(res, unacceptable);
    if (req.method === 'GET') return this.#sessions.listen(req, res);
    const read = await readPosted(req, this.#options.maxBytes);
    if ('status' in read) return rejectRequest(res, read);
    const posted = this.#inSession({ ...read, arrivedAt: request.arrivedAt }, request.name);
    if (isModern(posted.message) || isModernVersion(req.headers['mcp-protocol-version']))
      this.#postModern(posted, request, res);
    else await this.#sessions.post(posted, req, res);
  }

  async close(): Promise<void> {
    await Promise.all([this.#modern.close(), this.#sessions.close()]);
  }

  #postModern(posted: Posted, { req }: FrontRequest, res: ServerResponse): void {
    const { id, method } = posted.message;
    const asks = id !== undefined && typeof method === 'string';
    const problem = asks ? this.#modern.check.problemWith(posted.message, req.headers) : undefined;
    if (problem === undefined) this.#modern.post(posted, res);
    else rejectRequest(res, { status: 400, id, ...problem });
  }

  /** Adds the name in the path to a request or notification that names no session itself. */
  #inSession(posted: Posted, name: string | undefined): Posted {
    const { sessionKey } = this.#options;
    const { message } = posted;
    const meta = rpcMeta(message);
    if (name === undefined || typeof message['method'] !== 'string' || meta[sessionKey] !== undefined)
      return posted;
    const params: JsonRecord = { ...paramsOf(message), _meta: { ...meta, [sessionKey]: name } };
    const named = { ...message, params };
    return { ...posted, message: named, line: lineOf(named) };
  }
}

function isModernVersion(version: unknown): boolean {
  return typeof version === 'string' && version >= '2026-';
}
