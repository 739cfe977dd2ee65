import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/node';
import { carriesToken, listenLocally, rejectRequest } from '../wire/http.ts';
import { INTERNAL_ERROR, SESSION_NOT_FOUND } from '../wire/rpc.ts';
import { ENDPOINT_PATH, type Endpoint, namedIn } from './front-endpoint.ts';
import { ProcessEndpoint } from './front-process.ts';
import { RelayEndpoint } from './front-relay.ts';
import { type GateOptions, gateFor } from './intercept-options.ts';
import { MAX_MESSAGE_BYTES } from './lines.ts';
import type { UpstreamChoice } from './upstream.ts';
import { stdioOptions } from './upstream-stdio.ts';

/** Options for the gate in front of one server, offered as Streamable HTTP on this machine. */
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
  /** Stops listening and ends every server it started. */
  close(): Promise<void>;
}

/**
 * Serves the gate on 127.0.0.1. With a command, every client with a session gets its own process,
 * and all others share one. With a URL, requests are relayed unchanged, and the gate checks only
 * tool calls.
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

/** Accepts requests from this machine, for this machine, with the token. Answers all others itself. */
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
