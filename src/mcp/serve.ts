import type { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { DialectName } from '../dialect/dialect-name.ts';
import { loadDialect } from '../dialect/dialects.ts';
import { Sessions, type WorkspaceOptions } from '../session/sessions.ts';
import { type EndSignal, EndSignals } from './end-signals.ts';
import { type StdioEnd, serveStdio as serveStreams } from './stdio-loop.ts';
import type { ToolHost } from './tool-host.ts';
import { createToolHost } from './tools-host.ts';

/** A workspace and how it is served. */
export interface ServeOptions {
  readonly workspace: WorkspaceOptions;
  readonly dialect: DialectName;
  /** Names the session of every call that does not name its own. */
  readonly session?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Of this package. */
  readonly version: string;
  /** For people; never the protocol's stream. */
  readonly log: (line: string) => void;
  /** Emits SIGINT, SIGTERM and SIGHUP: `process`. */
  readonly signals: EventEmitter;
  /** Called with the open workspace, before the first call; what it throws ends the server. */
  readonly opened?: (sessions: Sessions) => void;
}

export interface ServeStdioOptions extends ServeOptions {
  readonly input: Readable;
  readonly output: Writable;
}

/** Serves a workspace over a pair of streams until the client goes away or a signal comes; then closes it. */
export async function serveStdio(options: ServeStdioOptions): Promise<StdioEnd> {
  const { input, output, signals, log, env } = options;
  return withHost(options, env, (host) => serveStreams({ host, input, output, signals, log }));
}

export interface ServeHttpOptions extends ServeOptions {
  /** What clients must send; default: a new one. */
  readonly token?: string | undefined;
  /** Default: any free port. */
  readonly port?: number | undefined;
  /** Told once the server listens. */
  readonly listening: (server: { readonly url: string; readonly token: string }) => void;
}

/** Serves a workspace over HTTP on 127.0.0.1 until a signal comes; then closes it. */
export async function serveHttp(options: ServeHttpOptions): Promise<EndSignal> {
  // Whoever connects is not whoever started us: of the environment only our own variable counts.
  const env = { LOOKFIRST_SESSION: options.env['LOOKFIRST_SESSION'] };
  return withHost(options, env, async (host) => {
    // The protocol's SDK, which stdio does without.
    const { newToken, serveHttp: listen } = await import('./http.ts');
    const token = options.token ?? newToken();
    const { port } = options;
    const server = await listen({ host, token, log: options.log, ...(port === undefined ? {} : { port }) });
    const signals = new EndSignals(options.signals);
    options.listening({ url: server.url, token });
    const end = await signals.first;
    await server.close();
    signals.close();
    return end;
  });
}

async function withHost<T>(
  options: ServeOptions,
  env: ServeOptions['env'],
  serve: (host: ToolHost) => Promise<T>,
): Promise<T> {
  const { session, version, log } = options;
  const [dialect, sessions] = await Promise.all([
    loadDialect(options.dialect),
    Sessions.open(options.workspace),
  ]);
  try {
    options.opened?.(sessions);
    return await serve(createToolHost({ sessions, dialect, session, env, version, log }));
  } finally {
    await sessions.close();
  }
}
