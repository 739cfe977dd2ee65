import type { EventEmitter } from 'node:events';
import type { RequestListener } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DialectName } from '../dialect/dialect-name.ts';
import { loadDialect } from '../dialect/dialects.ts';
import { Fault, nothingChanged } from '../model/fault.ts';
import type { WorkspaceOptions } from '../session/opening.ts';
import type { Sessions } from '../session/sessions.ts';
import type { ChoiceOptions } from '../tools/session-choice.ts';
import { createToolHost, type ToolHost } from '../tools/tool-host.ts';
import { newToken } from '../wire/bearer.ts';
import { type EndSignal, EndSignals } from '../wire/end-signals.ts';
import { ClientRoots } from './client-roots.ts';
import { type StdioEnd, serveStdio as serveStreams } from './stdio-loop.ts';

/** A workspace and how it is served. */
export interface ServeOptions {
  readonly workspace: WorkspaceOptions;
  /** `client`: over stdio, the roots that the client names come first, and those of `workspace` if it names none. */
  readonly rootsFrom?: 'workspace' | 'client' | undefined;
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
  readonly readOnly: boolean;
  /** Offer the tool that runs commands; default: no. */
  readonly commands?: boolean | undefined;
  /** Offer the tools that claim and release paths; default: no. */
  readonly claims?: boolean | undefined;
  /** Called with the open workspace, before the first call; what it throws ends the server. */
  readonly opened?: (sessions: Sessions) => void;
}

/** A client that does not ask for the tools at once may wait for a call instead. */
const OPEN_AT_LATEST_MS = 250;

export interface ServeStdioOptions extends ServeOptions {
  readonly input: Readable;
  readonly output: Writable;
}

interface LateOptions {
  readonly workspace: WorkspaceOptions;
  /** The roots, if they are not those of `workspace`: asked for at every opening. */
  readonly roots?: (() => Promise<readonly string[]>) | undefined;
  readonly log: (line: string) => void;
  /** Called with the open workspace before anyone else gets it; what it throws counts as a failure to open. */
  readonly opened?: (sessions: Sessions) => void;
}

/**
 * Serves a workspace over a pair of streams until the client goes away or a signal comes; then closes it. Opening it takes
 * longer than all the rest of the start, so the client has its list of tools by then; a workspace that cannot be opened
 * ends the server all the same.
 */
export async function serveStdio(options: ServeStdioOptions): Promise<StdioEnd> {
  const { input, output, signals, log, env } = options;
  const roots = options.rootsFrom === 'client' ? clientRoots(options, () => renew()) : undefined;
  const workspace = new LateWorkspace({
    ...options,
    roots: roots === undefined ? undefined : () => roots.known(),
  });
  // A copy: every call asks for some, and the process answers slowly.
  const host = await hostFor(options, { env: { ...env }, nameless: 'process' }, workspace);
  const renew = (): void => {
    workspace.renew();
    host.renew?.();
  };
  const tools = (): ReturnType<ToolHost['tools']> => {
    // After the answer has left.
    setImmediate(() => workspace.begin());
    return host.tools();
  };
  const latest = setTimeout(() => workspace.begin(), OPEN_AT_LATEST_MS);
  try {
    const served = serveStreams({ host: { ...host, tools }, input, output, signals, log, roots });
    const end = await Promise.race([served, onceAnswered(workspace.failed)]);
    roots?.none();
    // Nobody needed it, but a mistake in its options is worth telling.
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

/** A call that waited for the workspace is told before the server ends. */
async function onceAnswered(failed: Promise<never>): Promise<never> {
  try {
    return await failed;
  } catch (error) {
    await nextTurn();
    throw error;
  }
}

export interface ServeHttpOptions extends ServeOptions {
  /** What clients must send; default: a new one. */
  readonly token?: string | undefined;
  /** Default: any free port. */
  readonly port?: number | undefined;
  /** What is served beside `/mcp`, with a token of its own. */
  readonly viewer?: ((sessions: Sessions) => Promise<Viewer>) | undefined;
  /** Told once the server listens. */
  readonly listening: (server: {
    readonly url: string;
    readonly token: string;
    readonly viewer?: string | undefined;
  }) => void;
}

/** The viewer for people. */
interface Viewer {
  readonly listener: RequestListener;
  /** Its address, with its token. */
  url(port: number): string;
}

/** Serves a workspace over HTTP on 127.0.0.1 until a signal comes; then closes it. */
export async function serveHttp(options: ServeHttpOptions): Promise<EndSignal> {
  const { log, port } = options;
  // Whoever connects is not whoever started us: of the environment only our own variable counts.
  const env = { LOOKFIRST_SESSION: options.env['LOOKFIRST_SESSION'] };
  const workspace = new LateWorkspace(options);
  try {
    const sessions = await workspace.open();
    const viewer = await options.viewer?.(sessions);
    const host = await hostFor(options, { env, nameless: 'call' }, workspace);
    // The protocol's SDK, which stdio does without.
    const { serveHttp: listen } = await import('./http.ts');
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
  choice: Required<Pick<ChoiceOptions, 'env' | 'nameless'>>,
  workspace: LateWorkspace,
): Promise<ToolHost> {
  const { session, version, log, readOnly, commands, claims } = options;
  const dialect = await loadDialect(options.dialect);
  return createToolHost({
    open: () => workspace.open(),
    dialect,
    readOnly,
    commands,
    claims,
    session,
    ...choice,
    version,
    log,
  });
}

/**
 * A workspace that is opened, and its code loaded, when a call needs it; once. If the state cannot be used, the next call
 * tries again: a full disk or a locked database passes, and a server must not end because of it.
 */
class LateWorkspace {
  /** Rejects if the workspace can never be opened as it was asked for; never resolves. */
  readonly failed: Promise<never>;
  readonly #options: LateOptions;
  #fail: (error: unknown) => void = () => {};
  #opening: Promise<Sessions> | undefined;

  constructor(options: LateOptions) {
    this.#options = options;
    this.failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    // Told to whoever waits for it; nobody has to.
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

  /** Opens it for those who will need it later; `failed` tells if that went wrong. */
  begin(): void {
    this.open().catch(() => {});
  }

  /** Closes the workspace, if it was ever opened, and opens it anew: its roots have changed. */
  renew(): void {
    const before = this.#opening;
    if (before === undefined) return;
    const reopened = async (): Promise<Sessions> => {
      const sessions = await before.catch(() => undefined);
      await sessions?.close();
      return this.#open();
    };
    this.#opening = this.#watched(reopened());
    // Whoever calls next learns of it.
    this.#opening.catch(() => {});
  }

  /** Closes it, if it was ever opened. */
  async close(): Promise<void> {
    const sessions = await this.#opening?.catch(() => undefined);
    await sessions?.close();
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
        log(`left out a root of the client: ${message} [${code}]`);
      sessions = usable.sessions;
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
}

function isOfTheState(error: unknown): boolean {
  return error instanceof Fault && error.code === 'STORE_FAILED';
}
