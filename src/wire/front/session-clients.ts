import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fieldOf, isRecord } from '../../model/record.ts';
import { type Rejection, rejectRequest } from '../http.ts';
import {
  errorLine,
  INTERNAL_ERROR,
  idKey,
  parseLine,
  rpcMeta,
  SERVER_ERROR,
  SESSION_NOT_FOUND,
} from '../rpc.ts';
import { openStream, writeMessage } from '../sse.ts';
import type { Link, ToClient } from './link.ts';
import type { Posted } from './posted.ts';
import { Reply } from './reply.ts';

/** Limits of sessions, which only protocol revisions before 2026-07-28 have. */
export interface SessionLimits {
  /** A session without open requests is dropped after this time. Default: half an hour. */
  readonly idleMs: number;
  /** At this limit, a new session replaces the one idle the longest, or is rejected if none is idle. Default: 256. */
  readonly maxSessions: number;
  /** The current time in milliseconds. Only differences between two values are used. */
  readonly now: () => number;
}

interface SessionClientsOptions {
  readonly limits?: Partial<SessionLimits> | undefined;
  /** Opens the link of a new session. */
  open(id: string, toClient: ToClient): Link;
  /** Called when a session has ended. */
  ended?: ((id: string) => void) | undefined;
}

const UNKNOWN: Rejection = { status: 404, code: SESSION_NOT_FOUND, message: 'Session not found' };
const NO_ROOM: Rejection = { status: 503, code: SERVER_ERROR, message: 'Too many sessions in use' };
const UNNAMED: Rejection = {
  status: 400,
  code: SERVER_ERROR,
  message: 'Bad Request: Mcp-Session-Id header is required',
};

/** The clients of protocol revisions with sessions. They rarely end their session, so idle ones expire. */
export class SessionClients {
  readonly #options: SessionClientsOptions;
  readonly #limits: SessionLimits;
  readonly #clients = new Map<string, SessionClient>();
  readonly #expiry: NodeJS.Timeout;

  constructor(options: SessionClientsOptions) {
    this.#options = options;
    this.#limits = {
      idleMs: 30 * 60_000,
      maxSessions: 256,
      now: () => performance.now(),
      ...options.limits,
    };
    const everyMs = Math.max(1, Math.min(this.#limits.idleMs / 2, 60_000));
    this.#expiry = setInterval(() => this.#expire(), everyMs).unref();
  }

  async post(posted: Posted, req: IncomingMessage, res: ServerResponse): Promise<void> {
    const isNew = posted.message['method'] === 'initialize' && sessionIdOf(req) === undefined;
    const client = isNew ? await this.#begin(res) : this.#clientOf(req, res);
    client?.post(posted, res);
  }

  /** Opens the event stream of a session. */
  listen(req: IncomingMessage, res: ServerResponse): void {
    this.#clientOf(req, res)?.listen(res);
  }

  /** Ends a session because its client asks for it. */
  async end(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const client = this.#clientOf(req, res);
    if (client === undefined) return;
    this.#forget(client);
    await client.close();
    res.writeHead(200).end();
  }

  async close(): Promise<void> {
    clearInterval(this.#expiry);
    await Promise.all([...this.#clients.values()].map((client) => this.#drop(client)));
  }

  /** Begins a session. Undefined if there are too many; the request is rejected then. */
  async #begin(res: ServerResponse): Promise<SessionClient | undefined> {
    const { maxSessions, now } = this.#limits;
    if (this.#clients.size >= maxSessions && !(await this.#evict())) {
      rejectRequest(res, NO_ROOM);
      return undefined;
    }
    const id = randomUUID();
    const client = new SessionClient(id, {
      open: (toClient) => this.#options.open(id, toClient),
      now,
    });
    this.#clients.set(id, client);
    void client.ended().then(() => this.#forget(client));
    return client;
  }

  #clientOf(req: IncomingMessage, res: ServerResponse): SessionClient | undefined {
    const id = sessionIdOf(req);
    const client = id === undefined ? undefined : this.#clients.get(id);
    if (client === undefined) rejectRequest(res, id === undefined ? UNNAMED : UNKNOWN);
    return client;
  }

  #expire(): void {
    const before = this.#limits.now() - this.#limits.idleMs;
    for (const client of this.#clients.values())
      if (!client.busy && client.usedMs <= before) void this.#drop(client);
  }

  async #evict(): Promise<boolean> {
    const idle = [...this.#clients.values()].filter(({ busy }) => !busy);
    const [oldest] = idle.sort((a, b) => a.usedMs - b.usedMs);
    if (oldest !== undefined) await this.#drop(oldest);
    return oldest !== undefined;
  }

  async #drop(client: SessionClient): Promise<void> {
    this.#forget(client);
    await client.close();
  }

  #forget({ id }: SessionClient): void {
    if (this.#clients.delete(id)) this.#options.ended?.(id);
  }
}

/** The session that a request names. */
export function sessionIdOf({ headers }: IncomingMessage): string | undefined {
  const id = headers['mcp-session-id'];
  return typeof id === 'string' ? id : undefined;
}

/** Maximum messages kept for a client without an open stream; beyond it the oldest are dropped. */
const HELD = 1000;

interface OpenPost {
  readonly reply: Reply;
  readonly token: string | undefined;
}

/**
 * One client with a session. It has its own link, so that ids and tokens need no translation. An
 * answer or progress message goes to the request that it belongs to. A request from the server goes
 * to the newest open request, or else to the client's event stream (see `listen`). Any other message
 * goes to the event stream, or else to the newest open request. With neither, a message waits for
 * the event stream.
 */
class SessionClient {
  readonly id: string;
  /** When the last request ended. */
  usedMs: number;
  readonly #link: Link;
  readonly #now: () => number;
  readonly #posts = new Map<string, OpenPost>();
  #stream: ServerResponse | undefined;
  #held: Buffer[] = [];

  constructor(
    id: string,
    { open, now }: { readonly open: (toClient: ToClient) => Link; readonly now: () => number },
  ) {
    this.id = id;
    this.#now = now;
    this.usedMs = now();
    this.#link = open((line) => this.#route(line));
  }

  /** True while a request is being answered, or the event stream is open. */
  get busy(): boolean {
    return this.#posts.size > 0 || this.#stream !== undefined;
  }

  post({ line, message, arrivedAt }: Posted, res: ServerResponse): void {
    res.once('close', () => {
      this.usedMs = this.#now();
    });
    const id = typeof message['method'] === 'string' ? idKey(message['id']) : undefined;
    if (id === undefined) {
      this.#link.send(line, arrivedAt);
      res.writeHead(202, this.#headers).end();
      return;
    }
    const reply = new Reply(res, { headers: this.#headers, modern: false, streams: true });
    this.#posts.set(id, { reply, token: idKey(rpcMeta(message)['progressToken']) });
    // In protocol revisions with sessions, a disconnect does not cancel the request; its answer is dropped.
    reply.onGone(() => {
      if (this.#posts.get(id)?.reply === reply) this.#posts.delete(id);
    });
    this.#link.send(line, arrivedAt);
  }

  /** Opens the client's event stream, for messages that belong to no request. Only one is allowed. */
  listen(res: ServerResponse): void {
    if (this.#stream !== undefined) {
      const message = 'Conflict: one stream per session';
      rejectRequest(res, { status: 409, code: SERVER_ERROR, message });
      return;
    }
    this.#stream = res;
    openStream(res, this.#headers);
    res.once('close', () => {
      this.#stream = undefined;
      this.usedMs = this.#now();
    });
    for (const line of this.#held.splice(0)) writeMessage(res, line);
  }

  /** Resolves when the link has ended. Open requests are answered with an error. */
  async ended(): Promise<void> {
    await this.#link.ended();
    for (const [id, { reply }] of this.#posts)
      reply.finish(errorLine(id, INTERNAL_ERROR, 'the server has ended'));
    this.#posts.clear();
    this.#stream?.end();
  }

  async close(): Promise<void> {
    this.#stream?.end();
    await this.#link.close();
  }

  get #headers(): Readonly<Record<string, string>> {
    return { 'mcp-session-id': this.id };
  }

  #route(line: Buffer): boolean {
    const message = parseLine(line);
    const id = idKey(fieldOf(message, 'id'));
    const method = fieldOf(message, 'method');
    if (method === undefined && id !== undefined) {
      const post = this.#posts.get(id);
      this.#posts.delete(id);
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
    this.#tell(line, id === undefined ? 'notification' : 'request');
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
