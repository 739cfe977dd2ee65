import { choice, toggle, UsageError, type Values, withDefault, words } from '../../config/flags.ts';
import { DIALECT_NAMES, type DialectName } from '../../dialect/tool.ts';
import { accessibleFolders, policyOf, sessionVariable } from '../../session/configured.ts';
import type { Sessions } from '../../session/sessions.ts';
import { givenToken, shownToken, tokenLine } from '../../wire/http.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ServerPlan, version } from '../cli.ts';
import { COLOR_ONLY } from '../flags.ts';
import { logTo, namedFolder, SERVED_FLAGS, servedWorkspace } from '../served-workspace.ts';

const ARGS = {
  dir: words('DIR', "folders to serve (default: the client's roots, else the current folder)"),
} as const;

const { http, ...OTHERS } = SERVED_FLAGS;

// The most frequent flags come first: if a mistyped flag is equally similar to two names, the first
// one is suggested.
const FLAGS = {
  http: {
    ...http,
    about: 'serve HTTP and the viewer on 127.0.0.1 instead of stdio, each with its own token',
  },
  showConfig: toggle("with --http: print what to paste into each client's configuration"),
  allowUndo: toggle('with --http: allow undo in the viewer even if several machines share the store'),
  ...OTHERS,
  dialect: withDefault(choice('NAME', 'tool names and arguments', DIALECT_NAMES), 'lookfirst'),
  allowCommands: toggle('offer the tool that runs commands in a sandbox'),
} as const;

type ServeFlags = Values<typeof FLAGS>;

/** `lookfirst serve`: serves folders to an MCP client. */
export const SERVE: CliCommand = defineCommand({
  about: 'Serves the given folders to an MCP client, over stdio or HTTP.',
  args: ARGS,
  flags: FLAGS,
  outputFlags: COLOR_ONLY,
  notes: `
stdout carries only the protocol. The token of --http comes from LOOKFIRST_TOKEN, or is printed. You
can leave out "serve" before a folder or an option.

Examples:
  lookfirst serve ~/project
  lookfirst serve . ../library --read-only-root ../library
  lookfirst serve --http 4000 --show-config
  npx -y lookfirst ~/project             in a client's configuration`,
  run: async (cli, { dir, ...flags }) => {
    if (flags.http === undefined && flags.showConfig === true)
      throw new UsageError('--show-config needs --http');
    if (flags.http === undefined && flags.allowUndo === true)
      throw new UsageError('--allow-undo needs --http');
    await cli.runServer(await planOf(cli, dir, flags));
    return EXIT.done;
  },
});

async function planOf(cli: Cli, dirs: readonly string[] | undefined, flags: ServeFlags): Promise<ServerPlan> {
  const { dialect, session, http } = flags;
  if (session === undefined) sessionVariable(cli);
  const { readOnly } = policyOf(cli, flags);
  const log = logTo(cli);
  const folders = (dirs ?? ['.']).map((folder) => namedFolder(cli, folder));
  // The official filesystem server ignores folders that it cannot open.
  const roots = dialect === 'filesystem' ? await accessibleFolders(folders, log) : folders;
  const { workspace: served, opened } = servedWorkspace(cli, roots, flags);
  return {
    workspace: served,
    rootsFrom: dirs === undefined ? 'client' : 'workspace',
    dialect,
    readOnly,
    commands: flags.allowCommands === true,
    session,
    // A copy, because every access to `process.env` calls native code, and every tool call reads the environment.
    env: { ...cli.env },
    version: version(),
    log,
    opened: (sessions) => {
      opened(sessions);
      if (http !== undefined) return;
      log(readyText(dialect, sessions.world.workspace.roots));
      if (cli.terminal.isInteractive) log(FOR_A_PERSON);
    },
    http: http && (await frontOf(cli, roots, flags)),
  };
}

/** Shown to a user who starts a server in a terminal and would otherwise see nothing. */
const FOR_A_PERSON =
  'waiting for an MCP client on standard input; lookfirst --help lists all commands, Ctrl-C stops this server';

const NEXT =
  'next: paste one of the configurations above into your client, or run `lookfirst init CLIENT` there; Ctrl-C stops this server';

/** How the server offers HTTP, and what it prints when it listens. */
async function frontOf(
  cli: Cli,
  [dir = '.']: readonly string[],
  { http, showConfig, allowUndo }: ServeFlags,
): Promise<ServerPlan['http']> {
  const given = givenToken(cli.env);
  const log = logTo(cli);
  const { readyConfigurations } = showConfig === true ? await import('../clients/clients.ts') : {};
  return {
    port: http?.port,
    token: given,
    whyReadOnly: (sessions) => whyReadOnly(sessions, allowUndo),
    listening: ({ url, token, viewer }) => {
      // Print the long configuration text first, so that the address and the token come at the end.
      const remote = { url, token: shownToken(token, given) };
      if (readyConfigurations !== undefined) log(readyConfigurations({ dir, http: remote, self: cli.self }));
      log(`serving at ${url}`);
      log(tokenLine(token, given));
      if (viewer !== undefined) log(`viewer: ${viewer}`);
      if (readyConfigurations !== undefined) log(NEXT);
    },
  };
}

/** The reason why the viewer may not undo changes; undefined if it may. */
function whyReadOnly(
  { world: { policy, store } }: Sessions,
  allowUndo: ServeFlags['allowUndo'],
): string | undefined {
  if (policy.readOnly) return 'the server is read-only';
  if (allowUndo || /^(sqlite|memory):/.test(store.url)) return undefined;
  return 'several machines share this store: --allow-undo allows undo';
}

/**
 * The message of a ready server. For the dialect `filesystem` it begins like the message of the
 * official filesystem server, because programs may wait for that text.
 */
function readyText(dialect: DialectName, roots: readonly string[]): string {
  const ready = `serving ${roots.join(', ')} over stdio`;
  return dialect === 'filesystem' ? `Secure MCP Filesystem Server running on stdio (${ready})` : ready;
}
