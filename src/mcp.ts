import type { Readable, Writable } from 'node:stream';
import { version } from './cli/cli.ts';
import type { DialectName } from './dialect/tool.ts';
import { type ServeOptions, serveHttp as serveOverHttp, serveStdio as serveOverStdio } from './mcp/serve.ts';
import type { WorkspaceOptions } from './session/sessions.ts';

export { DIALECT_NAMES, type DialectName } from './dialect/tool.ts';

/** A workspace and the options to serve it. Only `roots` is required. */
export interface ServerOptions extends WorkspaceOptions {
  /** The names and forms of the tools; default `lookfirst`. */
  readonly dialect?: DialectName | undefined;
  /** Names the session of every call that does not name its own. */
  readonly session?: string | undefined;
  /** Offer only tools that change nothing, and refuse changes; default false. */
  readonly readOnly?: boolean | undefined;
  /** Offer the tool that runs commands in a sandbox; default false. */
  readonly commands?: boolean | undefined;
  /** Receives messages for users; default: standard error. */
  readonly log?: ((line: string) => void) | undefined;
}

export interface StdioServerOptions extends ServerOptions {
  /**
   * The streams to the client; default: standard input and output. Nothing else may write to
   * `output`.
   */
  readonly input?: Readable | undefined;
  readonly output?: Writable | undefined;
}

export interface HttpServerOptions extends ServerOptions {
  /** The port; default: any free port. */
  readonly port?: number | undefined;
  /** The token that clients must send; default: a new one. */
  readonly token?: string | undefined;
  /** Called once the server listens. */
  readonly listening: (server: { readonly url: string; readonly token: string }) => void;
}

/**
 * Serves a workspace over stdio until the client disconnects or a signal ends this process. An
 * invalid option is a Fault.
 */
export async function serveStdio(options: StdioServerOptions): Promise<void> {
  const { input = process.stdin, output = process.stdout, ...rest } = options;
  await serveOverStdio({ ...served(rest), input, output });
}

/**
 * Serves a workspace over HTTP on 127.0.0.1 until a signal ends this process. An invalid option is
 * a Fault.
 */
export async function serveHttp(options: HttpServerOptions): Promise<void> {
  const { port, token, listening, ...rest } = options;
  await serveOverHttp({ ...served(rest), port, token, listening });
}

function served(options: ServerOptions): ServeOptions {
  const {
    dialect = 'lookfirst',
    session,
    readOnly = false,
    commands,
    log = toStderr,
    ...workspace
  } = options;
  return {
    workspace: readOnly ? { ...workspace, policy: { ...workspace.policy, readOnly } } : workspace,
    dialect,
    session,
    readOnly,
    commands,
    log,
    env: process.env,
    version: version(),
    signals: process,
  };
}

function toStderr(line: string): void {
  process.stderr.write(`lookfirst: ${line}\n`);
}
