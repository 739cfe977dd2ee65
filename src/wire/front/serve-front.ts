import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { isSessionId, MAX_SESSION_ID_CHARS } from '../../model/session-record.ts';
import { checkToken, decodedName, listenLocally, notLocal, rejectRequest } from '../http.ts';
import { INTERNAL_ERROR, SERVER_ERROR } from '../rpc.ts';

/** The path of an MCP server. A client may append `/NAME`, the name of its session. */
const MCP_PATH = '/mcp';

/** Answers the requests that passed the checks of a front. */
export interface Endpoint {
  handle(request: FrontRequest, res: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

/** A request to `/mcp` or `/mcp/NAME`. */
export interface FrontRequest {
  readonly req: IncomingMessage;
  /** NAME in the path. */
  readonly name: string | undefined;
  /** When the request arrived, as a `performance.now()` time. */
  readonly arrivedAt: number;
}

interface FrontOptions {
  readonly endpoint: Endpoint;
  /** The token that clients must send as `Authorization: Bearer`; undefined admits every client on this machine. */
  readonly token: string | undefined;
  /** The port; default 0: any free port. */
  readonly port?: number | undefined;
  /** Time limit for a client to send one request before its connection is closed; 0: none. */
  readonly requestMs: number;
  /** Serves every other path, and does its own authentication. */
  readonly other?: RequestListener | undefined;
  readonly log: (line: string) => void;
}

export interface Front {
  /** The URL of the server: `http://127.0.0.1:PORT/mcp` */
  readonly url: string;
  readonly port: number;
  /** Stops listening, and closes the endpoint and all connections. */
  close(): Promise<void>;
}

const METHODS: readonly string[] = ['POST', 'GET', 'DELETE'];

/** Serves an endpoint as Streamable HTTP on 127.0.0.1, at `/mcp` and `/mcp/NAME`. */
export async function serveFront(options: FrontOptions): Promise<Front> {
  const { endpoint, requestMs, log } = options;
  const limits = {
    requestTimeout: requestMs,
    headersTimeout: requestMs,
    connectionsCheckingInterval: Math.ceil(requestMs / 4) || 30_000,
  };
  const server = createServer(limits, (req, res) => {
    handle(options, req, res).catch((error: unknown) => {
      // Ignore the error if the client has disconnected in the middle of its request.
      if (req.destroyed && !req.complete) return;
      log(`${req.method} ${MCP_PATH} failed: ${String(error)}`);
      if (res.headersSent) res.destroy();
      else rejectRequest(res, { status: 500, code: INTERNAL_ERROR, message: 'Internal error' });
    });
  });
  const port = await listenLocally(server, options.port ?? 0);
  const close = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    await endpoint.close();
    server.closeAllConnections();
    await closed;
  };
  return { url: `http://127.0.0.1:${port}${MCP_PATH}`, port, close };
}

async function handle(options: FrontOptions, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const arrivedAt = performance.now();
  const remote = notLocal(req);
  if (remote !== undefined) return rejectRequest(res, remote);
  const address = addressOf(req.url);
  if (address.kind === 'other' && options.other !== undefined) return void options.other(req, res);
  if (address.kind !== 'mcp')
    return rejectRequest(res, { status: 404, code: SERVER_ERROR, message: notFound(address) });
  const unauthorized =
    options.token === undefined ? undefined : checkToken(req.headers.authorization, options.token);
  if (unauthorized !== undefined) return rejectRequest(res, unauthorized);
  if (!METHODS.includes(req.method ?? '')) {
    const allow = METHODS.join(', ');
    const message = `Method not allowed: use ${allow}`;
    return rejectRequest(res, { status: 405, code: SERVER_ERROR, message, headers: { allow } });
  }
  await options.endpoint.handle({ req, name: address.name, arrivedAt }, res);
}

type Address =
  | { readonly kind: 'mcp'; readonly name: string | undefined }
  | { readonly kind: 'misnamed' | 'other' };

/** Parses the path of a request: `/mcp`, `/mcp/NAME`, or another one. */
function addressOf(url: string | undefined): Address {
  // Split manually: clients may send paths that a URL parser rejects.
  const [path = '/'] = (url ?? '/').split('?');
  if (path === MCP_PATH) return { kind: 'mcp', name: undefined };
  if (!path.startsWith(`${MCP_PATH}/`)) return { kind: 'other' };
  const name = decodedName(path.slice(MCP_PATH.length + 1));
  return isSessionId(name) ? { kind: 'mcp', name } : { kind: 'misnamed' };
}

function notFound({ kind }: Address): string {
  return kind === 'misnamed'
    ? `Not found: NAME in ${MCP_PATH}/NAME must have 1 to ${MAX_SESSION_ID_CHARS} printable characters`
    : `Not found: the server is at ${MCP_PATH}, or ${MCP_PATH}/NAME`;
}
