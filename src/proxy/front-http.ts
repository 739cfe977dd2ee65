import type { Writable } from 'node:stream';
import { SESSION_KEY } from '../tools/session-choice.ts';
import { ClientEndpoint } from '../wire/front/client-endpoint.ts';
import type { Link, ToClient } from '../wire/front/link.ts';
import { type Endpoint, type Front, serveFront } from '../wire/front/serve-front.ts';
import { RelayEndpoint } from './front-relay.ts';
import { type GateOptions, type GateSettings, gateFor, HTTP_SESSION } from './gate-settings.ts';
import { MAX_MESSAGE_BYTES } from './lines.ts';
import { Pump } from './pump.ts';
import type { Upstream, UpstreamChoice } from './upstream.ts';
import { StdioUpstream, stdioOptions } from './upstream-stdio.ts';

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
 * Serves the gate on 127.0.0.1. If the server behind the gate is a command, each client with a
 * session gets its own process of that command, and all other clients share one. If it is a URL,
 * the gate relays the requests and reads only those that it must check.
 */
export function serveProxy(options: ProxyFrontOptions): Promise<Front> {
  const log = (text: string): void => void options.stderr.write(`lookfirst: ${text}\n`);
  const { token, port } = options;
  return serveFront({
    endpoint: endpointFor(options, log),
    token,
    port,
    // No time limit: a tool may take any time, and a stream has no end.
    requestMs: 0,
    log,
  });
}

function endpointFor(options: ProxyFrontOptions, log: (text: string) => void): Endpoint {
  const gate = gateFor(options, log);
  const maxBytes = options.maxBytes ?? MAX_MESSAGE_BYTES;
  const { url, headers = {}, token, stderr } = options;
  if (url !== undefined)
    return new RelayEndpoint({ url, headers, maxBytes, gate, ownsAuthorization: token !== undefined });
  const process = stdioOptions(options, { stderr, maxLineBytes: maxBytes });
  return new ClientEndpoint({
    maxBytes,
    sessionKey: SESSION_KEY,
    connect: (toClient, session) => {
      const own = session === undefined ? gate : inHttpSession(gate, session);
      return gatedLink(new StdioUpstream(process), own, toClient);
    },
  });
}

/** The settings for the requests of one HTTP session. */
function inHttpSession(gate: GateSettings, id: string): GateSettings {
  return { ...gate, session: (meta) => gate.session({ ...meta, [HTTP_SESSION]: id }) };
}

/** A link to a server process, with the gate in between. */
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
