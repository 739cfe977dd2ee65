import type { EventEmitter } from 'node:events';
import type { RequestListener } from 'node:http';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { UsageError, usageText } from '../config/flags.ts';
import { expandHome } from '../config/home.ts';
import type { DialectName } from '../dialect/tool.ts';
import { Fault } from '../model/fault.ts';
import { defined } from '../model/record.ts';
import { harmless } from '../report/bounded.ts';
import {
  accessibleFolders,
  placesOf,
  policyOf,
  policyTextOf,
  sessionVariable,
} from '../session/configured.ts';
import { keepPolicyOutOfReach } from '../session/out-of-reach.ts';
import type { Sessions, WorkspaceOptions } from '../session/sessions.ts';
import { givenToken, shownToken, tokenLine } from '../wire/http.ts';
import { EXIT, version } from './cli.ts';
import { parseServe, type ServeRequest } from './serve-request.ts';

/** The parts of a process that a server uses. */
interface ServeProcess {
  readonly args: readonly string[];
  readonly process: NodeJS.Process;
  /** The user's home folder, which `~` means. */
  readonly homeFolder: string | undefined;
  readonly servers: () => Promise<Servers>;
  readonly viewer: ViewerBeside;
  /** Prints the help and returns the exit code. */
  readonly help: () => Promise<number>;
}

/** Shown to a user who types `lookfirst` alone in a terminal and would otherwise see nothing. */
const FOR_A_PERSON =
  'waiting for an MCP client on standard input; lookfirst --help lists all commands, Ctrl-C stops this server';

const NEXT =
  'next: paste one of the configurations above into your client, or run `lookfirst init CLIENT` there; Ctrl-C stops this server';

/** A workspace and the options to serve it. */
interface ServePlan {
  readonly workspace: WorkspaceOptions;
  readonly rootsFrom: 'workspace' | 'client';
  readonly dialect: DialectName;
  readonly readOnly: boolean;
  readonly commands: boolean;
  readonly session: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly log: (line: string) => void;
  readonly input: Readable;
  readonly output: Writable;
  readonly signals: EventEmitter;
  readonly opened: (sessions: Sessions) => void;
  readonly called?: () => void;
}

/** The viewer beside a server: its request handler, and its address with the token. */
interface ServedViewer {
  readonly listener: RequestListener;
  url(port: number): string;
}

/** Makes the viewer for an open workspace. `readOnly`: the reason why the viewer may not undo changes. */
type ViewerBeside = (
  sessions: Sessions,
  options: { readonly log: (line: string) => void; readonly readOnly: string | undefined },
) => Promise<ServedViewer>;

/** The functions that run a server. Their modules are loaded only if a server runs. */
export interface Servers {
  serveStdio(plan: ServePlan): Promise<unknown>;
  serveHttp(
    plan: ServePlan & {
      readonly port: number | undefined;
      readonly token: string | undefined;
      readonly viewer: (sessions: Sessions) => Promise<ServedViewer>;
      readonly listening: (server: {
        readonly url: string;
        readonly token: string;
        readonly viewer?: string | undefined;
      }) => void;
    },
  ): Promise<unknown>;
}

/** Serves until the client disconnects or a signal arrives; returns the exit code. stdout belongs to the protocol. */
export async function runServe(server: ServeProcess): Promise<number> {
  const { args, process, servers, viewer, help } = server;
  const request = requestOf(args);
  if (request === 'help') return help();
  if (request === 'version') {
    process.stdout.write(`${version()}\n`);
    return EXIT.done;
  }
  if (request instanceof UsageError) {
    process.stderr.write(`${harmless(usageText(request))}\n(lookfirst serve --help lists the options)\n`);
    return EXIT.usage;
  }
  const log = (line: string): void => void process.stderr.write(`lookfirst: ${harmless(line)}\n`);
  try {
    const self = [process.execPath, process.argv[1] ?? ''];
    await serve({ ...(await servers()), viewer, self }, request, await planOf(request, server, log));
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { Terminal } = await import('./terminal.ts');
    const terminal = new Terminal(process, process.env, request.color);
    terminal.tellFault(`lookfirst: ${harmless(error.message)} [${error.code}]`);
    return EXIT.fault;
  }
}

function requestOf(args: readonly string[]): ReturnType<typeof parseServe> | UsageError {
  try {
    return parseServe(args);
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
}

async function serve(
  {
    serveStdio,
    serveHttp,
    viewer,
    self,
  }: Servers & Pick<ServeProcess, 'viewer'> & { readonly self: readonly string[] },
  { http, showConfig, allowUndo }: ServeRequest,
  plan: ServePlan,
): Promise<void> {
  const { log, env } = plan;
  const { readyConfigurations } = showConfig === true ? await import('./clients/clients.ts') : {};
  if (http === undefined) {
    await serveStdio(plan);
    return;
  }
  const given = givenToken(env);
  await serveHttp({
    ...plan,
    port: http.port,
    token: given,
    viewer: (sessions) => viewer(sessions, { log, readOnly: whyReadOnly(sessions, allowUndo) }),
    listening: ({ url, token, viewer: page }) => {
      const dir = plan.workspace.roots[0] ?? '.';
      // Print the long configuration text first, so that the address and the token come at the end.
      const http = { url, token: shownToken(token, given) };
      if (readyConfigurations !== undefined) log(readyConfigurations({ dir, http, self }));
      log(`serving at ${url}`);
      log(tokenLine(token, given));
      if (page !== undefined) log(`viewer: ${page}`);
      if (readyConfigurations !== undefined) log(NEXT);
    },
  });
}

/** The reason why the viewer may not undo changes; undefined if it may. */
function whyReadOnly(
  { world: { policy, store } }: Sessions,
  allowUndo: ServeRequest['allowUndo'],
): string | undefined {
  if (policy.readOnly) return 'the server is read-only';
  if (allowUndo || /^(sqlite|memory):/.test(store.url)) return undefined;
  return 'several machines share this store: --allow-undo allows undo';
}

async function planOf(
  request: ServeRequest,
  { process, homeFolder }: ServeProcess,
  log: ServePlan['log'],
): Promise<ServePlan> {
  const { dialect, session, preset } = request;
  const { env, platform } = process;
  const surroundings = { env, platform, cwd: process.cwd(), homeFolder };
  if (session === undefined) sessionVariable(surroundings);
  const places = placesOf(surroundings, request);
  const policyFile = policyTextOf(surroundings, request);
  const policy = policyOf(surroundings, request);
  const folders = request.dir ?? ['.'];
  const roots = await rootsOf(
    dialect,
    folders.map((folder) => resolve(surroundings.cwd, expandHome(folder, homeFolder))),
    log,
  );
  return {
    workspace: {
      roots,
      ...places,
      ...defined({ preset, policyFile }),
      ...(request.readOnly === true ? { policy: { readOnly: true } } : {}),
      ...(request.readOnlyRoot === undefined
        ? {}
        : {
            readOnlyRoots: request.readOnlyRoot.map((dir) =>
              resolve(surroundings.cwd, expandHome(dir, homeFolder)),
            ),
          }),
    },
    rootsFrom: request.dir === undefined ? 'client' : 'workspace',
    dialect,
    readOnly: policy.readOnly,
    commands: request.allowCommands === true,
    session,
    // A copy, because every access to `process.env` calls native code, and every tool call reads the environment.
    env: { ...env },
    version: version(),
    log,
    input: process.stdin,
    output: process.stdout,
    signals: process,
    opened: (sessions) => {
      if (request.policy !== undefined)
        keepPolicyOutOfReach(sessions.world, resolve(surroundings.cwd, request.policy));
      for (const warning of sessions.warnings) log(warning);
      if (request.http !== undefined) return;
      log(readyText(dialect, sessions.world.workspace.roots));
      if (process.stdin.isTTY) log(FOR_A_PERSON);
    },
  };
}

/**
 * The folders to serve. With the dialect `filesystem`, ignores folders that cannot be opened, as
 * the official filesystem server does.
 */
async function rootsOf(
  dialect: ServeRequest['dialect'],
  folders: readonly string[],
  log: ServePlan['log'],
): Promise<readonly string[]> {
  if (dialect !== 'filesystem') return folders;
  return accessibleFolders(folders, log);
}

/**
 * The message of a ready server. For the dialect `filesystem` it begins like the message of the
 * official filesystem server, because programs may wait for that text.
 */
function readyText(dialect: ServeRequest['dialect'], roots: readonly string[]): string {
  const ready = `serving ${roots.join(', ')} over stdio`;
  return dialect === 'filesystem' ? `Secure MCP Filesystem Server running on stdio (${ready})` : ready;
}
