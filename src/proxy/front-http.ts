import type { Writable } from 'node:stream';
import { SESSION_KEY } from '../tools/session-choice.ts';
import { ClientEndpoint } from '../wire/front/client-endpoint.ts';
import type { Link, ToClient } from '../wire/front/link.ts';
import { type Front, serveFront } from '../wire/front/serve-front.ts';
import { MAX_MESSAGE_BYTES } from '../wire/line-streams.ts';
import { type GateOptions, type GateSettings, gateFor } from './gate-settings.ts';
import { Pump } from './pump.ts';
import type { Upstream, UpstreamChoice } from './upstream.ts';
import { upstreamFor } from './upstream-for.ts';

/** Options for a gate that clients reach by Streamable HTTP on this machine. */
export interface ProxyFrontOptions extends GateOptions, UpstreamChoice {
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

/**
 * Serves the gate on 127.0.0.1. Each client with a session gets its own connection to the server
 * behind the gate: a process of its command, or a session at its URL. All other clients share one.
 */
export function serveProxy(options: ProxyFrontOptions): Promise<Front> {
  const log = (text: string): void => void options.stderr.write(`lookfirst: ${text}\n`);
  const { token, port, maxBytes = MAX_MESSAGE_BYTES } = options;
  const gate = gateFor(options, log);
  const endpoint = new ClientEndpoint({
    maxBytes,
    sessionKey: SESSION_KEY,
    connect: (toClient, httpSession) => {
      const own: GateSettings = { ...gate, session: (meta) => gate.session(meta, httpSession) };
      return gatedLink(upstreamFor(options, maxBytes), own, toClient);
    },
  });
  // No time limit: a tool may take any time, and a stream has no end.
  return serveFront({ endpoint, token, port, requestMs: 0, log });
}

/** A link to the server behind the gate, with the gate in between. */
function gatedLink(upstream: Upstream, gate: GateSettings, toClient: ToClient): Link {
  const pump = new Pump({ toUpstream: (line) => upstream.send(line), toClient }, gate);
  upstream.open({ onLine: (line) => pump.fromUpstream(line), log: gate.log });
  const ended = upstream.ended.catch(() => undefined).then(() => pump.close());
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await pump.idle();
    upstream.close(() => pump.unanswered > 0);
    await ended;
  };
  return {
    send: (line) => pump.fromClient(line),
    ended: () => ended,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
