import { type EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { Fault } from '../model/fault.ts';
import type { Policy } from '../model/policy.ts';
import { isRecord, type JsonRecord, parseJson } from '../model/record.ts';
import { Records, type RecordsPlace } from '../records/records.ts';
import { Scope } from '../records/scope.ts';
import { Sessions } from '../session/sessions.ts';
import { EndSignals } from '../wire/end-signals.ts';
import { carriesToken, listenLocally, mediaType, newToken, readBody } from '../wire/http.ts';
import { Api, type ApiAnswer, type ApiOptions } from './api.ts';
import { pageFiles } from './page-files.ts';

/** The maximum size of a request body: more than any request of the page needs. */
const MAX_BODY_BYTES = 64 << 10;
const MAX_TARGET_CHARS = 8 << 10;
/** Validity of a one-time code: enough time for a browser to open the page. */
const CODE_MS = 60_000;

/** Allows only our own script and style, no request to another host, and no frame around the page. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;

/**
 * One-time codes for the viewer's address. Other users of the machine can see the address in the
 * command line that starts a browser. So it contains a code that works once and for a short time,
 * not the token.
 */
class Entrance {
  #code: string | undefined;
  #untilMs = 0;

  /** Returns a new code, which `enter` accepts once. An earlier code is no longer valid. */
  open(): string {
    this.#code = newToken();
    this.#untilMs = Date.now() + CODE_MS;
    return this.#code;
  }

  /** True if this is the current code and it has not expired. Any attempt invalidates the current code. */
  enter(code: unknown): boolean {
    const open = this.#code;
    this.#code = undefined;
    if (open === undefined || typeof code !== 'string' || Date.now() > this.#untilMs) return false;
    return carriesToken(`Bearer ${code}`, open);
  }
}

export interface ViewerOptions extends ApiOptions {
  /** Accepts one-time addresses. Absent if the viewer gives out none. */
  readonly entrance?: Entrance;
  /** The token that the page must send as `Authorization: Bearer`. */
  readonly token: string;
  /** Receives messages for users. */
  readonly log: (line: string) => void;
}

/**
 * Answers the requests of the viewer's page. The page's own files need no token; a one-time code
 * can be exchanged for the token; every other request needs the token. Requests that name another
 * host or come from another site get 403, so that a page of another site cannot reach the viewer.
 */
function viewerListener(options: ViewerOptions): RequestListener {
  const api = new Api(options);
  const files = pageFiles();
  return (req, res) => {
    const file = files.get(pathOf(req));
    if (!isFromHere(req)) send(res, { status: 403, body: { error: 'this page is for this machine only' } });
    else if (file !== undefined && (req.method === 'GET' || req.method === 'HEAD')) {
      res.writeHead(200, { ...HEADERS, 'content-type': file.type }).end(file.bytes);
    } else
      answer(api, req, options).then(
        (given) => send(res, given),
        (error: unknown) => {
          options.log(`the viewer could not answer: ${String(error)}`);
          send(res, { status: 500, body: { error: faultText(error) } });
        },
      );
  };
}

async function answer(api: Api, req: IncomingMessage, options: ViewerOptions): Promise<ApiAnswer> {
  const target = req.url ?? '/';
  const [, name] = /^\/api\/([a-z]+)(?:\?|$)/.exec(target) ?? [];
  if (name === undefined || target.length > MAX_TARGET_CHARS)
    return { status: 404, body: { error: 'there is nothing at that address' } };
  if (name === 'enter' && req.method === 'POST') return entered(req, options);
  if (!carriesToken(req.headers.authorization, options.token))
    return { status: 401, body: { error: 'open the address that lookfirst printed: it carries the token' } };
  return (
    (await asked(api, req, name)) ?? { status: 404, body: { error: 'there is nothing at that address' } }
  );
}

async function entered(req: IncomingMessage, { entrance, token, log }: ViewerOptions): Promise<ApiAnswer> {
  const body = await bodyOf(req);
  if (entrance?.enter(body?.['code']) === true) return { status: 200, body: { token } };
  log('a one-time address was refused: it was already used, or is older than a minute');
  return {
    status: 401,
    body: {
      error: 'this address was already used, or is older than a minute: open the one that lookfirst printed',
    },
  };
}

async function asked(api: Api, req: IncomingMessage, name: string): Promise<ApiAnswer | undefined> {
  const [, query] = /\?(.*)/.exec(req.url ?? '') ?? [];
  if (req.method === 'GET') return api.get(name, new URLSearchParams(query));
  if (req.method !== 'POST') return { status: 405, body: { error: 'use GET or POST' } };
  const body = await bodyOf(req);
  return body === undefined
    ? { status: 400, body: { error: 'send a small JSON object' } }
    : api.post(name, body);
}

/** The JSON object in a body; undefined if there is none. */
async function bodyOf(req: IncomingMessage): Promise<JsonRecord | undefined> {
  if (mediaType(req) !== 'application/json') return undefined;
  const body = await readBody(req, MAX_BODY_BYTES);
  const value = body === undefined ? undefined : parseJson(body.toString('utf8'));
  return isRecord(value) ? value : undefined;
}

/** True if a request names this machine and port, and was not sent by the page of another site. */
function isFromHere({ headers, socket }: IncomingMessage): boolean {
  const hosts = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${socket.localPort ?? 0}`);
  const host = headers.host?.toLowerCase() ?? '';
  if (!hosts.includes(host)) return false;
  if (headers.origin !== undefined && headers.origin.toLowerCase() !== `http://${host}`) return false;
  const site = headers['sec-fetch-site'];
  // `none`: the user typed the address. `navigate`: the user followed a link, perhaps on another
  // site. Both may open the page, because it shows nothing without the token.
  return (
    site === undefined ||
    site === 'same-origin' ||
    site === 'none' ||
    headers['sec-fetch-mode'] === 'navigate'
  );
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?')[0] ?? '/';
}

function send(res: ServerResponse, { status, body }: ApiAnswer): void {
  const challenge = status === 401 ? { 'www-authenticate': 'Bearer' } : {};
  res.writeHead(status, { ...HEADERS, ...challenge, 'content-type': 'application/json; charset=utf-8' });
  res.end(JSON.stringify(body));
}

/** A fault's code without its message, which may contain paths. */
function faultText(error: unknown): string {
  return error instanceof Fault ? `lookfirst failed (${error.code}); its log says more` : 'lookfirst failed';
}

interface ViewerServer {
  /** The URL with the token in its fragment, which browsers do not send to servers. */
  readonly url: string;
  /** Returns an address that works once, within a minute. */
  once(): string;
  close(): Promise<void>;
}

/** Starts an HTTP server on 127.0.0.1 that serves only the viewer. */
export async function serveViewer(options: ViewerOptions & { readonly port: number }): Promise<ViewerServer> {
  const entrance = new Entrance();
  const server = createServer(viewerListener({ ...options, entrance }));
  const port = await listenLocally(server, options.port);
  return {
    url: viewerUrl(port, options.token),
    once: () => viewerUrl(port, `open-${entrance.open()}`),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function viewerUrl(port: number, token: string): string {
  return `http://127.0.0.1:${port}/#${token}`;
}

/** The options of `lookfirst view`, which runs the viewer as its own process. */
interface OpenViewerOptions extends Pick<ApiOptions, 'openWorkspace' | 'readOnly'> {
  readonly place: RecordsPlace;
  /**
   * The page shows each workspace whose root is one of these folders, contains one, or is inside
   * one.
   */
  readonly folders: readonly string[];
  readonly secrets: Policy['secrets'];
  /** The port; 0 means any free port. */
  readonly port: number;
  readonly log: (line: string) => void;
}

/** Folders in which the demo's scenes were played. `close` removes them. */
interface Demo {
  readonly workspace: string;
  readonly state: string;
  close(): void;
}

/** Serves the viewer until a signal arrives. `listening` is called when the page can be opened. */
export async function openViewer({
  demo,
  signals: emitter,
  listening,
  ...options
}: OpenViewerOptions & {
  readonly demo: () => Promise<Demo>;
  /** The emitter of SIGINT, SIGTERM and SIGHUP, normally `process`. */
  readonly signals: EventEmitter;
  readonly listening: (server: ViewerServer) => void;
}): Promise<void> {
  let shown: Promise<ViewerServer> | undefined;
  const playDemo = async (): Promise<string> => {
    shown ??= demo().then((stage) => viewerOfDemo(stage, options));
    // After a failure, the user can try again.
    shown.catch(() => {
      shown = undefined;
    });
    return (await shown).url;
  };
  const server = await serveRecords(options, playDemo);
  const signals = new EndSignals(emitter);
  listening(server);
  await signals.first;
  signals.close();
  await Promise.all([server.close(), shown?.then((other) => other.close())]);
}

/** Serves what the demo has recorded, on a port of its own. */
async function viewerOfDemo(stage: Demo, options: OpenViewerOptions): Promise<ViewerServer> {
  const { workspace, state: home } = stage;
  const server = await serveRecords({
    ...options,
    place: { home, store: `sqlite:${join(home, 'lookfirst.db')}` },
    folders: [workspace],
    openWorkspace: (roots) => Sessions.open({ roots, home }),
    readOnly: undefined,
    port: 0,
  });
  const close = (): Promise<void> => server.close().finally(() => stage.close());
  return { ...server, close };
}

async function serveRecords(
  { place, folders, secrets, ...options }: OpenViewerOptions,
  playDemo?: () => Promise<string>,
): Promise<ViewerServer> {
  const records = await Records.open(place, 'make');
  const scope = new Scope({ cwd: folders[0] ?? '.', root: folders });
  const sources = { records, scope, secrets };
  const common = { ...options, folders, sources, playDemo, who: viewerSession(), token: newToken() };
  try {
    const server = await serveViewer(common);
    return { ...server, close: () => server.close().finally(() => records.close()) };
  } catch (error) {
    await records.close();
    throw error;
  }
}

/**
 * Serves the viewer in the process of a server that already has the workspace open. The viewer has
 * its own token.
 */
export function viewerBeside(
  sessions: Sessions,
  { log, readOnly }: { readonly log: (line: string) => void; readonly readOnly: string | undefined },
): { readonly listener: RequestListener; readonly url: (port: number) => string } {
  const { store, images, workspace, policy } = sessions.world;
  const folders = workspace.roots;
  const token = newToken();
  const scope = new Scope({ cwd: folders[0] ?? '.', root: folders });
  // `close` does nothing: the viewer calls it after each undo, but the server still needs the
  // workspace.
  const open = { world: sessions.world, close: async () => {} };
  const listener = viewerListener({
    sources: { records: Records.over({ store, images }), scope, secrets: policy.secrets },
    folders,
    openWorkspace: async () => open,
    readOnly,
    who: viewerSession(),
    token,
    log,
  });
  return { listener, url: (port) => viewerUrl(port, token) };
}

/** Undos of the viewer are journalled under this name. */
function viewerSession(): string {
  const name = userName().replace(/[^\w.-]/g, '');
  return name === '' ? 'viewer' : `viewer:${name}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // The user id has no entry in the system's list of users.
    return '';
  }
}
