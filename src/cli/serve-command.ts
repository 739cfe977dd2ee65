import type { EventEmitter } from 'node:events';
import type { RequestListener } from 'node:http';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { DIALECT_NAMES, type DialectName } from '../dialect/tool.ts';
import { Fault } from '../model/fault.ts';
import { PRESET_NAMES, type PresetName } from '../model/policy.ts';
import { defined } from '../model/record.ts';
import { isSessionId } from '../model/session-record.ts';
import { harmless } from '../report/bounded.ts';
import { accessibleFolders, placesOf, policyOf, policyTextOf } from '../session/configured.ts';
import { keepPolicyOutOfReach } from '../session/out-of-reach.ts';
import type { Sessions, WorkspaceOptions } from '../session/sessions.ts';
import { givenToken, shownToken, tokenLine } from '../wire/http.ts';
import { EXIT, version } from './cli.ts';
import { LateCompiler } from './late-compiler.ts';
import { unknownChoice, unknownWord } from './words.ts';

/** The parts of a process that a server uses. */
interface ServeProcess {
  readonly args: readonly string[];
  readonly process: NodeJS.Process;
  /** The user's home folder, which `~` means. */
  readonly homeFolder: string;
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

/** A workspace and the options to serve it; `main.ts` passes them to the server. */
interface ServePlan {
  readonly workspace: WorkspaceOptions;
  readonly rootsFrom: 'workspace' | 'client';
  readonly dialect: DialectName;
  readonly readOnly: boolean;
  readonly commands: boolean;
  readonly claims: boolean;
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

/** The servers, which are loaded only if one of them runs. */
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
  const request = parseServe(args);
  if ('help' in request) return help();
  if ('version' in request) {
    process.stdout.write(`${version()}\n`);
    return EXIT.done;
  }
  if ('problem' in request) {
    process.stderr.write(`error: ${harmless(request.problem)}\n(lookfirst serve --help lists the options)\n`);
    return EXIT.usage;
  }
  const log = (line: string): void => void process.stderr.write(`lookfirst: ${harmless(line)}\n`);
  try {
    await serve({ ...(await servers()), viewer }, request, await planOf(request, server, log));
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { Terminal } = await import('./terminal.ts');
    const terminal = new Terminal(process, process.env, request.color);
    terminal.tellFault(`lookfirst: ${harmless(error.message)} [${error.code}]`);
    return EXIT.fault;
  }
}

async function serve(
  { serveStdio, serveHttp, viewer }: Servers & Pick<ServeProcess, 'viewer'>,
  { http, showConfig, allowUndo }: ServeRequest,
  plan: ServePlan,
): Promise<void> {
  const { log, env } = plan;
  const { readyConfigurations } = showConfig ? await import('./clients/clients.ts') : {};
  if (http === undefined) {
    const compiler = new LateCompiler();
    await serveStdio({ ...plan, called: () => compiler.count() }).finally(() => compiler.reset());
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
      // The last lines are those the user needs next, so the long text comes first.
      const http = { url, token: shownToken(token, given) };
      if (readyConfigurations !== undefined) log(readyConfigurations({ dir, http }));
      log(`serving at ${url}`);
      log(tokenLine(token, given));
      if (page !== undefined) log(`viewer: ${page}`);
      if (readyConfigurations !== undefined) log(NEXT);
    },
  });
}

/** The reason why the viewer may not undo; undefined if it may. */
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
  if (env['LOOKFIRST_SESSION'] && !isSessionId(env['LOOKFIRST_SESSION']))
    throw new Fault('CONFIG_INVALID', 'LOOKFIRST_SESSION must be up to 200 printable characters');
  const places = placesOf(surroundings, request);
  const policyFile = policyTextOf(surroundings, request);
  const policy = policyOf(surroundings, request);
  const folders = request.folders.length === 0 ? ['.'] : request.folders;
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
      ...(request.readOnly ? { policy: { readOnly: true } } : {}),
      ...(request.readOnlyRoots === undefined
        ? {}
        : {
            readOnlyRoots: request.readOnlyRoots.map((dir) =>
              resolve(surroundings.cwd, expandHome(dir, homeFolder)),
            ),
          }),
    },
    rootsFrom: request.folders.length === 0 ? 'client' : 'workspace',
    dialect,
    readOnly: policy.readOnly,
    commands: request.allowCommands,
    claims: policy.claimTools === 'on',
    session,
    env,
    version: version(),
    log,
    input: process.stdin,
    output: process.stdout,
    signals: process,
    opened: (sessions) => {
      if (request.policy !== undefined)
        keepPolicyOutOfReach(sessions.world, resolve(surroundings.cwd, request.policy));
      for (const warning of sessions.world.store.warnings) log(warning);
      if (request.http !== undefined) return;
      log(readyText(dialect, sessions.world.workspace.roots));
      if (process.stdin.isTTY) log(FOR_A_PERSON);
    },
  };
}

/** Only the official server continues when folders are missing. */
async function rootsOf(
  dialect: ServeRequest['dialect'],
  folders: readonly string[],
  log: ServePlan['log'],
): Promise<readonly string[]> {
  if (dialect !== 'filesystem') return folders;
  return accessibleFolders(folders, log);
}

/** A client starts us without a shell, so we expand `~` ourselves. */
function expandHome(folder: string, homeFolder: string): string {
  return folder === '~' || folder.startsWith('~/') ? homeFolder + folder.slice(1) : folder;
}

/** The message of a ready server: for `filesystem`, the official server's, for which programs may wait. */
function readyText(dialect: ServeRequest['dialect'], roots: readonly string[]): string {
  const ready = `serving ${roots.join(', ')} over stdio`;
  return dialect === 'filesystem' ? `Secure MCP Filesystem Server running on stdio (${ready})` : ready;
}

const COLOURS = ['auto', 'always', 'never'] as const;

/** The parsed request of `lookfirst serve`. */
interface ServeRequest {
  /** The folders as typed. Empty: the roots of the client, else the current folder. */
  readonly folders: readonly string[];
  readonly dialect: DialectName;
  readonly preset?: PresetName;
  readonly session?: string;
  readonly store?: string;
  readonly workspace?: string;
  readonly sharedWorkspace?: boolean;
  readonly policy?: string;
  readonly readOnly: boolean;
  /** The read-only folders as typed. */
  readonly readOnlyRoots?: readonly string[];
  readonly allowCommands: boolean;
  /** With HTTP: allow undo in the viewer even if several machines share the store. */
  readonly allowUndo: boolean;
  /** Serve HTTP instead of stdio, on this port or any free one. */
  readonly http?: { readonly port?: number };
  /** With HTTP: print what to paste into each client's configuration. */
  readonly showConfig: boolean;
  /** Tells when faults are printed in colour; default: on a terminal. */
  readonly color?: (typeof COLOURS)[number];
}

/** A usage error, or a request for help or the version. */
type ServeProblem = { readonly help: true } | { readonly version: true } | { readonly problem: string };

type Values = { -readonly [K in keyof Omit<ServeRequest, 'folders'>]?: ServeRequest[K] | undefined };
type Take = (values: Values, value: string) => string | undefined;

/** Parsers of the flags that have a value. Each returns a problem for an invalid value. */
const VALUED: Readonly<Record<string, Take>> = {
  '--dialect': (values, value) => {
    values.dialect = DIALECT_NAMES.find((name) => name === value);
    return values.dialect === undefined ? unknownChoice('--dialect', value, DIALECT_NAMES) : undefined;
  },
  '--preset': (values, value) => {
    values.preset = PRESET_NAMES.find((name) => name === value);
    return values.preset === undefined ? unknownChoice('--preset', value, PRESET_NAMES) : undefined;
  },
  '--session': (values, value) => {
    values.session = value;
    return isSessionId(value) ? undefined : '--session takes up to 200 printable characters';
  },
  '--read-only-root': (values, value) => {
    values.readOnlyRoots = [...(values.readOnlyRoots ?? []), value];
    return undefined;
  },
  '--store': (values, value) => {
    values.store = value;
    return undefined;
  },
  '--workspace': (values, value) => {
    values.workspace = value;
    return undefined;
  },
  '--color': (values, value) => {
    values.color = COLOURS.find((when) => when === value);
    return values.color === undefined ? unknownChoice('--color', value, COLOURS) : undefined;
  },
  '--policy': (values, value) => {
    values.policy = value;
    return undefined;
  },
};

const SWITCHES: Readonly<
  Record<string, 'readOnly' | 'allowCommands' | 'allowUndo' | 'showConfig' | 'sharedWorkspace'>
> = {
  '--read-only': 'readOnly',
  '--allow-commands': 'allowCommands',
  '--allow-undo': 'allowUndo',
  '--show-config': 'showConfig',
  '--shared-workspace': 'sharedWorkspace',
};

/** The values of flags that were not given. */
const DEFAULTS = {
  dialect: 'lookfirst',
  readOnly: false,
  allowCommands: false,
  allowUndo: false,
  showConfig: false,
} as const;

// The most frequent flags come first, because the first of two equally near names is suggested.
export const SERVE_FLAGS: readonly string[] = [
  '--help',
  '--version',
  '--http',
  ...Object.keys(VALUED),
  ...Object.keys(SWITCHES),
];

/** Reads the arguments after `serve` without a library: loading one would take most of the start-up time. */
export function parseServe(args: readonly string[]): ServeRequest | ServeProblem {
  const values: Values = {};
  const folders: string[] = [];
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--') {
      folders.push(...rest);
      break;
    }
    if (word === '--help' || word === '-h') return { help: true };
    if (word === '--version' || word === '-v') return { version: true };
    if (!word.startsWith('-') || word === '-') {
      folders.push(word);
      continue;
    }
    const problem = takeFlag(word, rest, values);
    if (problem !== undefined) return { problem };
  }
  if (folders.includes('')) return { problem: 'the name of a folder is empty' };
  return requestOf(values, folders);
}

function requestOf(values: Values, folders: readonly string[]): ServeRequest | ServeProblem {
  const { http, showConfig, allowUndo } = values;
  if (http === undefined && showConfig === true) return { problem: '--show-config needs --http' };
  if (http === undefined && allowUndo === true) return { problem: '--allow-undo needs --http' };
  // The cast is safe: no member of `values` is undefined, because a wrong value was returned as a problem.
  return { ...DEFAULTS, ...values, folders } as ServeRequest;
}

function takeFlag(word: string, rest: string[], values: Values): string | undefined {
  const equals = word.indexOf('=');
  const name = equals < 0 ? word : word.slice(0, equals);
  const attached = equals < 0 ? undefined : word.slice(equals + 1);
  if (name === '--http') return takeHttp(attached ?? portAhead(rest), values);
  const turned = Object.hasOwn(SWITCHES, name) ? SWITCHES[name] : undefined;
  if (turned !== undefined) {
    values[turned] = true;
    return attached === undefined ? undefined : `${name} takes no value`;
  }
  return takeValued({ name, attached }, rest, values);
}

function takeValued(
  { name, attached }: { name: string; attached: string | undefined },
  rest: string[],
  values: Values,
): string | undefined {
  const take = Object.hasOwn(VALUED, name) ? VALUED[name] : undefined;
  if (take === undefined) {
    return unknownWord('option', name, SERVE_FLAGS);
  }
  const value = attached ?? rest.shift();
  return value === undefined || value === '' ? `${name} needs a value` : take(values, value);
}

/** A number after `--http` is its port; anything else is the next argument. */
function portAhead(rest: string[]): string | undefined {
  return /^\d+$/.test(rest[0] ?? '') ? rest.shift() : undefined;
}

function takeHttp(text: string | undefined, values: Values): string | undefined {
  if (text === undefined) {
    values.http = {};
    return undefined;
  }
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) return `--http takes a port from 0 to 65535, not '${text}'`;
  values.http = { port };
  return undefined;
}
