import type { RequestListener } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import { SESSION_KEY } from '../tools/session-choice.ts';
import type { ToolHost } from '../tools/tool-host.ts';
import { ClientEndpoint } from '../wire/front/client-endpoint.ts';
import type { Link, ToClient } from '../wire/front/link.ts';
import { type Front, serveFront } from '../wire/front/serve-front.ts';
import type { SessionLimits } from '../wire/front/session-clients.ts';
import { ClientConnection } from './connection.ts';
import { messageBytes, type Parts } from './protocol.ts';
import { inputRead } from './stdio-loop.ts';

const MAX_BODY_BYTES = 64 << 20;
/** If a client takes longer to send one request, the server closes the connection. */
const REQUEST_MS = 60_000;

/** Time limit for cancelled calls to end when their session is closed. */
const CANCEL_MS = 2000;

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
  readonly sessions?: Partial<SessionLimits>;
}

/**
 * Serves a host as Streamable HTTP on 127.0.0.1 at `/mcp` and `/mcp/NAME`. NAME is the session of
 * every call that does not name its own.
 */
export function listenHttp(options: HttpOptions): Promise<Front> {
  const { host, token, port, log, other, maxBodyBytes = MAX_BODY_BYTES, requestMs = REQUEST_MS } = options;
  const endpoint = new ClientEndpoint({
    maxBytes: maxBodyBytes,
    limits: options.sessions,
    sessionKey: SESSION_KEY,
    connect: (toClient, session) => hostLink({ host, log, toClient, session }),
    sessionEnded: (id) => host.sessionEnded?.(id),
  });
  return serveFront({ endpoint, token, port, requestMs, other, log });
}

/** A link to the tools of this process. */
function hostLink(options: {
  readonly host: ToolHost;
  readonly log: (line: string) => void;
  readonly toClient: ToClient;
  readonly session: string | undefined;
}): Link {
  const { host, log, toClient, session } = options;
  const send = (parts: Parts): boolean => toClient(messageBytes(parts));
  const connection = new ClientConnection({ host, log, send, inputRead, sessionHint: session });
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    send: (line, arrivedAt) => connection.receive(line, arrivedAt),
    ended: () => ended,
    close: async () => {
      connection.cancelAll('the session was closed');
      await Promise.race([connection.idle(), after(CANCEL_MS, undefined, { ref: false })]);
      connection.endSubscriptions();
      end();
    },
  };
}
