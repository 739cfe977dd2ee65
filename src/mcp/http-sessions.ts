import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import type { ToolHost } from '../tools/tool-host.ts';
import { type Rejection, reject } from './http-answer.ts';
import { sdkServer } from './sdk-server.ts';

export interface SessionLimits {
  /** A session without any open request is forgotten after this. */
  readonly idleMs: number;
  /** When there are this many, a new one takes the place of the one idle the longest. */
  readonly maxSessions: number;
  /** Milliseconds from any fixed moment. */
  readonly now: () => number;
}

interface Session {
  readonly transport: NodeStreamableHTTPServerTransport;
  /** Requests being answered, an open event stream included. */
  open: number;
  usedMs: number;
}

const NOT_FOUND: Rejection = { status: 404, code: -32001, message: 'Session not found' };
const NO_ROOM: Rejection = { status: 503, code: -32000, message: 'Too many sessions in use' };

/**
 * Sessions of the revisions before 2026-07-28. Clients rarely say goodbye, so idle ones expire; the host hears of
 * every end.
 */
export class HttpSessions {
  readonly #host: ToolHost;
  readonly #limits: SessionLimits;
  readonly #log: (line: string) => void;
  readonly #sessions = new Map<string, Session>();

  constructor(options: { host: ToolHost; limits: SessionLimits; log: (line: string) => void }) {
    this.#host = options.host;
    this.#limits = options.limits;
    this.#log = options.log;
  }

  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** Serves a request that names a session. */
  async resume(id: string, exchange: Exchange): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined) reject(exchange.res, NOT_FOUND);
    else await this.#handle(session, exchange);
  }

  /** Serves an `initialize` request: a new session. */
  async begin(exchange: Exchange): Promise<void> {
    if (this.#sessions.size >= this.#limits.maxSessions && !(await this.#evict())) {
      reject(exchange.res, NO_ROOM);
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
    await sdkServer(this.#host, 'legacy', this.#log).connect(transport);
    await this.#handle(session, exchange);
  }

  /** Ends the sessions that were idle too long. */
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

/** One HTTP request, its answer, and its body if it was read. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly body: unknown;
}
