import type { EventEmitter } from 'node:events';
import type { RequestListener } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as after, setImmediate as nextTurn } from 'node:timers/promises';
import type { Dialect, DialectName } from '../dialect/tool.ts';
import { Fault, nothingChanged } from '../model/fault.ts';
import { isWithin } from '../model/path.ts';
import type { Sessions, WorkspaceOptions } from '../session/sessions.ts';
import type { ChoiceOptions } from '../tools/session-choice.ts';
import { createToolHost, type ToolHost } from '../tools/tool-host.ts';
import { type EndSignal, EndSignals } from '../wire/end-signals.ts';
import { newToken } from '../wire/http.ts';
import { ClientRoots } from './client-roots.ts';
import { type StdioEnd, runStdioLoop as serveStreams } from './stdio-loop.ts';

/** A workspace, and the options for serving it. */
export interface ServeOptions {
  readonly workspace: WorkspaceOptions;
  /**
   * The source of the roots. `workspace` (default): the workspace's own roots. `client`: the roots
   * that a client names over stdio, or the workspace's own if it names none.
   */
  readonly rootsFrom?: 'workspace' | 'client' | undefined;
  readonly dialect: DialectName;
  /** The session of every call that does not name its own. */
  readonly session?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The version of this package. */
  readonly version: string;
  /** Receives messages for the user; never writes to the protocol's stream. */
  readonly log: (line: string) => void;
  /** The emitter of SIGINT, SIGTERM and SIGHUP, normally `process`. */
  readonly signals: EventEmitter;
  readonly readOnly: boolean;
  /** Offer the tool that runs commands; default: no. */
  readonly commands?: boolean | undefined;
  /** Called with the open workspace before the first call; an error it throws ends the server. */
  readonly opened?: (sessions: Sessions) => void;
}

/**
 * The workspace is opened at the latest this long after the start, even if the client has not
 * listed the tools. Then the first call need not wait for the opening.
 */
const OPEN_AT_LATEST_MS = 250;

/**
 * After the client has changed its roots, new calls wait at most this long for running calls to
 * end. Waiting for all would be too long: a running call may wait half an hour for its user.
 */
const FORMER_CALLS_MS = 500;

interface ServeStdioOptions extends ServeOptions {
  readonly input: Readable;
  readonly output: Writable;
}

interface LateOptions {
  readonly workspace: WorkspaceOptions;
  /** Returns the roots to open instead of those of `workspace`. Called at every opening. */
  readonly roots?: (() => Promise<readonly string[]>) | undefined;
  readonly log: (line: string) => void;
  /** Called with the open workspace before any call uses it; an error it throws counts as a failure to open. */
  readonly opened?: (sessions: Sessions) => void;
}

/**
 * Serves a workspace over a pair of streams until the client disconnects or a signal arrives. Opens
 * the workspace after the client has its list of tools, because opening takes most of the start-up
 * time. Rejects if the workspace can never be opened with these options.
 */
export async function serveStdio(options: ServeStdioOptions): Promise<StdioEnd> {
  const { input, output, signals, log, env } = options;
  const roots = options.rootsFrom === 'client' ? clientRoots(options, () => renew()) : undefined;
  const workspace = new LateWorkspace({
    ...options,
    roots: roots === undefined ? undefined : () => roots.known(),
  });
  // Copy the environment: every call reads it, and `process.env` is slow.
  const setting = { env: { ...env }, nameless: 'process', roots: options.rootsFrom } as const;
  const host = await hostFor(options, setting, workspace);
  const renew = (): void => {
    workspace.renew();
    host.renew?.();
  };
  const tools = (): ReturnType<ToolHost['tools']> => {
    // Begin to open the workspace after the list of tools was sent.
    setImmediate(() => workspace.begin());
    return host.tools();
  };
  const latest = setTimeout(() => workspace.begin(), OPEN_AT_LATEST_MS);
  try {
    const watched: ToolHost = {
      ...host,
      get instructions() {
        return host.instructions;
      },
      tools,
    };
    const served = serveStreams({ host: watched, input, output, signals, log, roots });
    const end = await Promise.race([served, onceAnswered(workspace.failed)]);
    roots?.none();
    // Open the workspace if no call has opened it, to report an error in its options.
    if (end === 'end-of-input') await workspace.open();
    return end;
  } finally {
    clearTimeout(latest);
    roots?.none();
    await workspace.close();
  }
}

function clientRoots({ workspace, log }: ServeOptions, changed: () => void): ClientRoots {
  return new ClientRoots({ fallback: workspace.roots, changed, log });
}

/**
 * Waits for one turn of the event loop before it rejects, so that a call that waits for the
 * workspace gets its error before the server ends.
 */
async function onceAnswered(failed: Promise<never>): Promise<never> {
  try {
    return await failed;
  } catch (error) {
    await nextTurn();
    throw error;
  }
}

interface ServeHttpOptions extends ServeOptions {
  /** The token that clients must send; default: a new one. */
  readonly token?: string | undefined;
  /** The port; default: any free port. */
  readonly port?: number | undefined;
  /** Creates the viewer, which is served beside `/mcp` with its own token. */
  readonly viewer?: ((sessions: Sessions) => Promise<Viewer>) | undefined;
  /** Called when the server listens. */
  readonly listening: (server: {
    readonly url: string;
    readonly token: string;
    readonly viewer?: string | undefined;
  }) => void;
}

/** The viewer: the page on which users see the journal. */
interface Viewer {
  readonly listener: RequestListener;
  /** The viewer's URL, including its token. */
  url(port: number): string;
}

/** Serves a workspace over HTTP on 127.0.0.1 until a signal arrives; then closes it. */
export async function serveHttp(options: ServeHttpOptions): Promise<EndSignal> {
  const { log, port } = options;
  // Use only LOOKFIRST_SESSION from the environment: clients did not start this process, so the
  // other variables say nothing about them.
  const env = { LOOKFIRST_SESSION: options.env['LOOKFIRST_SESSION'] };
  const workspace = new LateWorkspace(options);
  try {
    const sessions = await workspace.open();
    const viewer = await options.viewer?.(sessions);
    const host = await hostFor(options, { env, nameless: 'call', roots: 'workspace' }, workspace);
    // Imported on demand, because stdio does not need it.
    const { listenHttp: listen } = await import('./http.ts');
    const token = options.token ?? newToken();
    const server = await listen({
      host,
      token,
      log,
      ...(port === undefined ? {} : { port }),
      ...(viewer === undefined ? {} : { other: viewer.listener }),
    });
    const signals = new EndSignals(options.signals);
    options.listening({ url: server.url, token, viewer: viewer?.url(server.port) });
    const end = await signals.first;
    await server.close();
    signals.close();
    return end;
  } finally {
    await workspace.close();
  }
}

async function hostFor(
  options: ServeOptions,
  setting: Required<Pick<ChoiceOptions, 'env' | 'nameless'>> & { readonly roots: ServeOptions['rootsFrom'] },
  workspace: LateWorkspace,
): Promise<ToolHost> {
  const { roots: rootsFrom, ...choice } = setting;
  const { session, version, log, readOnly, commands } = options;
  const dialect = await loadDialect(options.dialect);
  return createToolHost({
    open: () => workspace.open(),
    dialect,
    roots: rootsFrom === 'client' ? 'client' : configuredRoots(options.workspace),
    cwd: options.workspace.cwd,
    readOnly,
    commands,
    session,
    ...choice,
    version,
    log,
  });
}

/**
 * The roots that the workspace will have, before it is opened. A read-only folder outside the other
 * roots is a root as well.
 */
function configuredRoots({ roots, readOnlyRoots = [] }: WorkspaceOptions): readonly string[] {
  // Accept an invalid value here: opening the workspace reports it.
  if (!Array.isArray(roots) || !Array.isArray(readOnlyRoots)) return [];
  const outside = readOnlyRoots.filter((folder) => !roots.some((root) => isWithin(folder, root)));
  return [...new Set([...roots, ...outside])];
}

/**
 * A workspace that is opened on first use. If its state folder or store cannot be used, the next
 * call tries again, because a full disk or a locked database may be temporary.
 */
class LateWorkspace {
  /** Rejects if the workspace can never be opened with these options; never resolves. */
  readonly failed: Promise<never>;
  readonly #options: LateOptions;
  #fail: (error: unknown) => void = () => {};
  #opening: Promise<Sessions> | undefined;
  /** The client's roots with which the workspace was opened last. */
  #served: readonly string[] | undefined;
  /**
   * One promise for each workspace with former roots, until that workspace is closed. Calls may
   * still run in it.
   */
  readonly #closing = new Set<Promise<void>>();

  constructor(options: LateOptions) {
    this.#options = options;
    this.failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    // Avoids an unhandled rejection if no caller waits for `failed`.
    this.failed.catch(() => {});
  }

  open(): Promise<Sessions> {
    this.#opening ??= this.#watched(this.#open());
    return this.#opening;
  }

  #watched(opening: Promise<Sessions>): Promise<Sessions> {
    return opening.catch((error: unknown) => {
      if (!isOfTheState(error)) this.#fail(error);
      else this.#opening = undefined;
      throw nothingChanged(error);
    });
  }

  /** Starts opening in the background. Ignores errors: `failed` or the next `open` reports them. */
  begin(): void {
    this.open().catch(() => {});
  }

  /**
   * Reopens the workspace with new roots, if it was ever opened. Running calls finish in the
   * workspace with the former roots.
   */
  renew(): void {
    const before = this.#opening;
    if (before === undefined) return;
    const reopened = async (): Promise<Sessions> => {
      const sessions = await before.catch(() => undefined);
      if (sessions !== undefined)
        await Promise.race([this.#closed(sessions), after(FORMER_CALLS_MS, undefined, { ref: false })]);
      return this.#open();
    };
    this.#opening = this.#watched(reopened());
    // Ignore the error here: the next call reports it.
    this.#opening.catch(() => {});
  }

  /** Closes the workspace, if it was ever opened. */
  async close(): Promise<void> {
    const sessions = await this.#opening?.catch(() => undefined);
    await Promise.all([sessions?.close(), ...this.#closing]);
  }

  /** Closes a workspace with former roots. An error is only logged: the new workspace does not depend on it. */
  #closed(sessions: Sessions): Promise<void> {
    const closing = sessions
      .close()
      .catch((error: unknown) =>
        this.#options.log(`the workspace with the earlier roots could not be closed: ${String(error)}`),
      )
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    return closing;
  }

  async #open(): Promise<Sessions> {
    const { Sessions } = await import('../session/sessions.ts');
    const { workspace, log } = this.#options;
    const roots = await this.#options.roots?.();
    const open = (list: readonly string[]) => Sessions.open({ ...workspace, roots: list });
    let sessions: Sessions | undefined;
    if (roots !== undefined) {
      const { openUsable } = await import('../session/configured.ts');
      const usable = await openUsable(roots, open);
      for (const { message, code } of usable.leftOut)
        log(`ignoring a root of the client: ${message} [${code}]`);
      sessions = usable.sessions ?? (await this.#openEarlier(open));
      if (usable.sessions !== undefined) this.#served = roots;
    }
    sessions ??= await Sessions.open(workspace);
    try {
      this.#options.opened?.(sessions);
      return sessions;
    } catch (error) {
      await sessions.close();
      throw error;
    }
  }

  /** Opens the folders that were served before, if the client named others and none can be used. */
  async #openEarlier(open: (roots: readonly string[]) => Promise<Sessions>): Promise<Sessions | undefined> {
    if (this.#served === undefined) return undefined;
    this.#options.log('no root of the client can be used; serving the same folders as before');
    return open(this.#served);
  }
}

function isOfTheState(error: unknown): boolean {
  return error instanceof Fault && error.code === 'STORE_FAILED';
}

const DIALECTS: Readonly<Record<DialectName, () => Promise<Dialect>>> = {
  lookfirst: async () => (await import('../dialect/lookfirst/dialect.ts')).LOOKFIRST,
  sandbox: async () => (await import('../dialect/sandbox.ts')).SANDBOX,
  lace: async () => (await import('../dialect/lace.ts')).LACE,
  filesystem: async () => (await import('../dialect/filesystem/dialect.ts')).FILESYSTEM,
  'apply-patch': async () => (await import('../dialect/apply-patch.ts')).APPLY_PATCH,
  'text-editor': async () => (await import('../dialect/text-editor.ts')).TEXT_EDITOR,
  anthropic: async () => (await import('../dialect/anthropic.ts')).ANTHROPIC,
};

/** Loads one dialect (a set of tool names and forms) and none of the others. */
export function loadDialect(name: DialectName): Promise<Dialect> {
  return DIALECTS[name]();
}
