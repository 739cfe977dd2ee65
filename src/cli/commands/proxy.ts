import {
  choice,
  type Flag,
  several,
  text,
  toggle,
  UsageError,
  type Values,
  words,
} from '../../config/flags.ts';
import { completeTable } from '../../dialect/calls/user-table.ts';
import { defined } from '../../model/record.ts';
import { accessibleFolders, policySourcesOf, sessionVariable } from '../../session/configured.ts';
import type { ProxyPlan } from '../../tools/proxy-plan.ts';
import { givenToken, tokenLine } from '../../wire/http.ts';
import { type Cli, type CliCommand, defineCommand } from '../cli.ts';
import { COLOR_ONLY } from '../flags.ts';
import { logTo, namedFolder, SERVED_FLAGS, servedWorkspace } from '../served-workspace.ts';

const HEADER: Flag<Readonly<Record<string, string>>> = {
  about: 'an HTTP header for that server, as in "Authorization: Bearer …" (repeatable)',
  value: 'HEADER',
  takes: 'one',
  read: (word, all = {}) => {
    const [, name, value] = /^([\w-]+):\s*(.+)$/.exec(word) ?? [];
    return name === undefined || value === undefined ? undefined : { ...all, [name]: value };
  },
  hint: () => 'Use a name, a colon and a value.',
};

const FLAGS = {
  root: several('DIR', 'the folder the server works in (repeatable; default: the current one)'),
  url: text('URL', 'a Streamable HTTP server that sees the same files, instead of a command'),
  header: HEADER,
  unknownTools: choice(
    'WHAT',
    "what to do with tools that may change files and that Lookfirst doesn't know (default: as in the policy file, else allow)",
    ['allow', 'deny', 'ask'],
  ),
  // Configurations of earlier versions may have it, and without it their servers would not start.
  receipts: { ...toggle('has no effect'), isHidden: true },
  ...SERVED_FLAGS,
} as const;

type ProxyFlags = Values<typeof FLAGS>;

/** `lookfirst proxy`: runs the gate in front of any MCP server. */
export const PROXY: CliCommand = defineCommand({
  about:
    "Checks every call to another MCP server. Refuses paths outside the root, and writes to files that the session hasn't read or that have changed since. Everything else goes through.",
  args: { command: { ...words('COMMAND', 'the server to start and its arguments'), mayBeEmpty: true } },
  startsProgram: true,
  flags: FLAGS,
  outputFlags: COLOR_ONLY,
  notes: `
stdout carries only the protocol. The proxy exits with its server's exit code. In the policy file,
"proxy" may contain "unknownTools" and "servers". "servers" describes the tools of your own servers.

Examples:
  lookfirst proxy --root . -- npx -y @modelcontextprotocol/server-filesystem .
  lookfirst proxy --root /repo --unknown-tools deny -- uvx some-server
  lookfirst proxy --root /repo --url http://127.0.0.1:8080/mcp --http 4000`,
  run: async (cli, { command = [], ...flags }) => {
    const problem = problemOf(command, flags);
    if (problem !== undefined) throw new UsageError(problem);
    if (flags.receipts === true) logTo(cli)('--receipts has no effect: the proxy adds no receipts');
    return cli.runProxy(await planOf(cli, command, flags));
  },
});

function problemOf(words: readonly string[], flags: ProxyFlags): string | undefined {
  if (!words[0] && flags.url === undefined)
    return 'COMMAND is missing: put -- and the command of the server at the end';
  if (words.length > 0 && flags.url !== undefined) return 'either a command or --url, not both';
  if (flags.url !== undefined && !isWebAddress(flags.url))
    return `--url takes an http or https address, not ${flags.url}`;
  if (flags.header !== undefined && flags.url === undefined) return '--header is for --url only';
  return undefined;
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}

async function planOf(cli: Cli, words: readonly string[], flags: ProxyFlags): Promise<ProxyPlan> {
  const settings = policySourcesOf(cli, flags).file?.proxy;
  const { url, session = sessionVariable(cli), http, header: headers = {} } = flags;
  return {
    ...servedWorkspace(cli, await rootsOf(cli, flags), flags),
    command: words,
    headers,
    ...defined({ url, session, http: http && frontOf(cli, http) }),
    unknownTools: flags.unknownTools ?? settings?.unknownTools ?? 'allow',
    tables: (settings?.servers ?? []).map(completeTable),
    env: cli.env,
  };
}

function frontOf(cli: Cli, http: { readonly port?: number }): NonNullable<ProxyPlan['http']> {
  const token = givenToken(cli.env);
  const log = logTo(cli);
  return {
    ...http,
    token,
    listening: (front) => {
      log(`serving at ${front.url}`);
      log(tokenLine(front.token, token));
    },
  };
}

/**
 * The folders of `--root`. Of several folders, ignores those that cannot be opened. Files in an
 * ignored folder count as outside the workspace.
 */
async function rootsOf(cli: Cli, flags: ProxyFlags): Promise<readonly string[]> {
  const roots = (flags.root ?? ['.']).map((root) => namedFolder(cli, root));
  return roots.length === 1 ? roots : accessibleFolders(roots, logTo(cli));
}
