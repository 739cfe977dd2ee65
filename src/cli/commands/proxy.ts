import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { expandHome } from '../../config/home.ts';
import { parsePolicyFile } from '../../config/resolve-policy.ts';
import { completeTable } from '../../dialect/calls/user-table.ts';
import { PRESET_NAMES } from '../../model/policy.ts';
import { defined } from '../../model/record.ts';
import { isSessionId } from '../../model/session-record.ts';
import { harmless } from '../../report/bounded.ts';
import {
  accessibleFolders,
  placesOf,
  policyTextOf,
  type StateFlags,
  sessionVariable,
} from '../../session/configured.ts';
import { keepPolicyOutOfReach } from '../../session/out-of-reach.ts';
import type { ProxyPlan } from '../../tools/proxy-plan.ts';
import { givenToken, tokenLine } from '../../wire/http.ts';
import type { Cli } from '../cli.ts';
import { gather } from '../flags.ts';

interface ProxyFlags extends StateFlags {
  readonly root?: readonly string[];
  readonly readOnlyRoot?: readonly string[];
  readonly url?: string;
  readonly header?: Readonly<Record<string, string>>;
  /** The port; true means any free port. */
  readonly http?: true | number;
  readonly session?: string;
  readonly unknownTools?: ProxyPlan['unknownTools'];
  readonly receipts?: boolean;
}

/** `lookfirst proxy`: runs the gate in front of any MCP server. */
export function defineProxy(cli: Cli): Command {
  const command = new Command('lookfirst proxy')
    .description(
      'Checks every call to another MCP server. Refuses writes to files that were not read or have changed since, and paths outside the root. Everything else passes.',
    )
    .argument('[command...]', 'the server to start and its arguments')
    .passThroughOptions()
    .option('--root <dir>', 'the folder the server works in (repeatable; default: the current one)', gather)
    .option('--url <url>', 'a Streamable HTTP server that sees the same files, instead of a command')
    .option(
      '--header <header>',
      'an HTTP header for that server, as in "Authorization: Bearer …" (repeatable)',
      header,
    )
    .option(
      '--http [port]',
      'offer HTTP on 127.0.0.1 instead of stdio; the token comes from LOOKFIRST_TOKEN, or is printed',
      port,
    )
    .option('--session <id>', 'the session for calls that name none (LOOKFIRST_SESSION)', sessionId)
    .addOption(
      new Option(
        '--unknown-tools <what>',
        'tools that may change files and that Lookfirst does not know (default: as in the policy file, else allow)',
      ).choices(['allow', 'deny', 'ask']),
    )
    .option('--receipts', 'end every read with a receipt line that names its revision')
    .addOption(new Option('--preset <name>', 'start from this preset').choices(PRESET_NAMES))
    .option('--policy <file>', 'policy file (default: lookfirst.json in the state folder)')
    .option('--store <url>', 'memory:, sqlite:/absolute/file.db or postgres://… (LOOKFIRST_STORE)')
    .option('--workspace <name>', 'with postgres: the name of this workspace on every machine')
    .option('--shared-workspace', 'with postgres: other machines write to these folders too')
    .option('--read-only', 'refuse every change')
    .option('--read-only-root <dir>', 'a folder that may be read and not changed (repeatable)', gather)
    .addHelpText('after', EXAMPLES);
  return command.action(async (words: readonly string[], flags: ProxyFlags) => {
    const problem = problemOf(words, flags);
    if (problem !== undefined) command.error(`error: ${problem}`);
    cli.end(await cli.runProxy(await planOf(cli, words, flags)));
  });
}

const EXAMPLES = `
stdout carries only the protocol. The proxy exits with the exit code of its server.
In the policy file, "proxy" may contain "unknownTools" and "servers".
"servers" describes the tools of your own servers.

Examples:
  lookfirst proxy --root . -- npx -y @modelcontextprotocol/server-filesystem .
  lookfirst proxy --root /repo --unknown-tools deny -- uvx some-server
  lookfirst proxy --root /repo --url http://127.0.0.1:8080/mcp --http 4000`;

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
  const policyFile = policyTextOf(cli, flags);
  const settings = policyFile === undefined ? undefined : parsePolicyFile(policyFile, flags.policy).proxy;
  const { url, preset, session = sessionVariable(cli), http } = flags;
  const log = (line: string): void => cli.terminal.tell(harmless(`lookfirst: ${line}`));
  return {
    workspace: {
      roots: await rootsOf(cli, flags, log),
      ...placesOf(cli, flags),
      ...defined({ preset, policyFile }),
      ...(flags.readOnly === true ? { policy: { readOnly: true } } : {}),
      ...(flags.readOnlyRoot === undefined
        ? {}
        : { readOnlyRoots: flags.readOnlyRoot.map((dir) => folderOf(cli, dir)) }),
    },
    opened: (sessions) => {
      if (flags.policy !== undefined) keepPolicyOutOfReach(sessions.world, resolve(cli.cwd, flags.policy));
      for (const warning of sessions.warnings) log(warning);
    },
    command: words,
    headers: flags.header ?? {},
    ...(url === undefined ? {} : { url }),
    ...(http === undefined ? {} : { http: frontOf(cli, http, log) }),
    ...(session === undefined ? {} : { session }),
    unknownTools: flags.unknownTools ?? settings?.unknownTools ?? 'allow',
    receipts: flags.receipts ?? false,
    tables: (settings?.servers ?? []).map(completeTable),
    env: cli.env,
  };
}

function frontOf(
  { env }: Cli,
  http: true | number,
  log: (line: string) => void,
): NonNullable<ProxyPlan['http']> {
  const token = givenToken(env);
  return {
    ...(http === true ? {} : { port: http }),
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
async function rootsOf(cli: Cli, flags: ProxyFlags, log: (line: string) => void): Promise<readonly string[]> {
  const roots = (flags.root ?? ['.']).map((root) => folderOf(cli, root));
  return roots.length === 1 ? roots : accessibleFolders(roots, log);
}

function folderOf({ cwd, homeFolder }: Cli, folder: string): string {
  return resolve(cwd, expandHome(folder, homeFolder));
}

function header(text: string, all: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const [, name, value] = /^([\w-]+):\s*(.+)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('Use a name, a colon and a value.');
  return { ...all, [name]: value };
}

function port(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 65_535)
    throw new InvalidArgumentError('A port is a number up to 65535.');
  return number;
}

function sessionId(text: string): string {
  if (!isSessionId(text)) throw new InvalidArgumentError('Use up to 200 printable characters.');
  return text;
}
