import type { IncomingMessage, ServerResponse } from 'node:http';
import { isSessionId } from '../model/session-record.ts';
import { SESSION_KEY } from '../tools/session-choice.ts';
import { decodedName, readBody, rejectRequest } from '../wire/http.ts';
import { INVALID_REQUEST } from '../wire/rpc.ts';
import type { GateSettings } from './gate-settings.ts';
import { type Ends, Pump } from './pump.ts';
import type { Upstream } from './upstream.ts';

/** Answers requests that passed the access checks. */
export interface Endpoint {
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

/**
 * The gate's options for a request to `/mcp/NAME`: the request belongs to the session NAME, unless
 * it names another session itself.
 */
export function namedGate(gate: GateSettings, req: IncomingMessage): GateSettings {
  const named = namedIn(req);
  if (named.kind !== 'name') return gate;
  return { ...gate, session: (meta) => gate.session({ [SESSION_KEY]: named.name, ...meta }) };
}

/**
 * The key in a request's `_meta` under which the proxy stores the client's HTTP session header. The
 * gate derives the session of the request from it.
 */
export const HTTP_SESSION = 'dev.lookfirst/http-session';

/** The path at which the gate is served. A client may append `/NAME`, the name of its session. */
export const ENDPOINT_PATH = '/mcp';

/** The session name in a request's path. `none`: no name; `other`: an unknown path. */
export function namedIn(
  req: IncomingMessage,
): { readonly kind: 'none' | 'other' } | { kind: 'name'; name: string } {
  const { path } = addressOf(req);
  if (path === ENDPOINT_PATH) return { kind: 'none' };
  const name = path.startsWith(`${ENDPOINT_PATH}/`)
    ? decodedName(path.slice(ENDPOINT_PATH.length + 1))
    : undefined;
  return isSessionId(name) ? { kind: 'name', name } : { kind: 'other' };
}

/**
 * Splits a request's URL into its path and the rest from `?` on. Does not parse the URL, because
 * clients may send invalid ones.
 */
export function addressOf({ url = '/' }: IncomingMessage): {
  readonly path: string;
  readonly search: string;
} {
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark) };
}

/**
 * A connection from HTTP clients to one server process, with the gate in between. HTTP has no line
 * stream, so `send` and `toClient` pass single messages.
 */
export class FrontConnection {
  readonly #upstream: Upstream;
  readonly #pump: Pump;
  #closing = false;

  constructor(upstream: Upstream, gate: GateSettings, toClient: Ends['toClient']) {
    this.#upstream = upstream;
    this.#pump = new Pump({ toUpstream: (line) => upstream.send(line), toClient }, gate);
    upstream.open({ onLine: (line) => this.#pump.fromUpstream(line), log: gate.log });
  }

  send(line: Buffer): void {
    this.#pump.fromClient(line);
  }

  /** Resolves when the server has ended, by itself or through `close`. */
  async ended(): Promise<void> {
    await this.#upstream.ended.catch(() => undefined);
    await this.#pump.close();
  }

  async close(): Promise<void> {
    if (!this.#closing) {
      this.#closing = true;
      await this.#pump.idle();
      this.#upstream.close(() => this.#pump.unanswered > 0);
    }
    await this.ended();
  }
}

/**
 * The body of a request. If the body is too large or incomplete, rejects the request and returns
 * undefined.
 */
export async function receivedBody(
  req: IncomingMessage,
  res: ServerResponse,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const body = await readBody(req, maxBytes).catch(() => undefined);
  if (body === undefined)
    rejectRequest(res, { status: 413, code: INVALID_REQUEST, message: 'the message is too large' });
  return body;
}
