import { text, toggle, UsageError, type Values } from '../../config/flags.ts';
import { requiredHome } from '../../config/home.ts';
import { isWithin } from '../../model/path.ts';
import { invalidArgument } from '../../model/verdict.ts';
import { giveGrant, grantViews, revokeGrants } from '../../records/grants.ts';
import type { Records } from '../../records/records.ts';
import { canonicalPath } from '../../records/scope.ts';
import { pathText, phrase } from '../../report/bounded.ts';
import { exactTime } from '../../report/times.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { answer, PATH_COLUMN, printList, SESSION_COLUMN, shownPath, whenColumn } from '../columns.ts';
import { duration, parseDuration, SCOPE_FLAGS, STATE_FLAGS } from '../flags.ts';
import { refuseAgent } from '../operator.ts';
import { refuseReadOnly, tellMissing, tellRefusal } from '../refusal-text.ts';
import { chosenScope, withRecords } from '../with-records.ts';

type GrantView = Awaited<ReturnType<typeof giveGrant>>;

const FLAGS = {
  ...STATE_FLAGS,
  ...SCOPE_FLAGS,
  session: text('ID', 'only for this session'),
  once: toggle('only for the next change to the file (default for a file)'),
  for: duration('for this long, as in 1h'),
  always: toggle('until revoked'),
  list: toggle('show what is allowed'),
  revoke: toggle('end the permission'),
  yes: toggle("don't ask for confirmation, even for the home folder"),
} as const;

type AllowFlags = Values<typeof FLAGS>;

/** `lookfirst allow`: lets sessions change a path without having read it. */
export const ALLOW: CliCommand = defineCommand({
  about:
    'Lets sessions change a file, or everything in a folder, without having read it. Running servers obey immediately, and the journal records every use. Protected and read-only files stay that way.',
  args: { path: text('PATH', "a file or folder; with --revoke also a permission's id") },
  flags: FLAGS,
  notes: `
Examples:
  lookfirst allow a.txt                  the next change to that file
  lookfirst allow a.txt --for 1h
  lookfirst allow src/generated --always everything in that folder
  lookfirst allow a.txt --session agent-7
  lookfirst allow --list
  lookfirst allow a.txt --revoke`,
  run: async (cli, { path, ...flags }) => {
    const { session, once, revoke } = flags;
    const isList = flags.list === true;
    if (!isList && path === undefined) throw new UsageError('PATH is missing');
    if (isList && [path, session, once, revoke].some((each) => each !== undefined))
      throw new UsageError('--list cannot be combined with a path or another option');
    if ([once, flags.for, flags.always].filter((each) => each !== undefined).length > 1)
      throw new UsageError('choose one of --once, --for and --always');
    const refused = isList ? undefined : ((await refuseReadOnly(cli)) ?? (await refuseAgent(cli, 'allow')));
    return refused ?? allow(cli, path, flags);
  },
});

async function allow(cli: Cli, path: string | undefined, flags: AllowFlags): Promise<ExitCode> {
  const isChange = path !== undefined && flags.revoke !== true;
  const term = isChange ? await termOf(cli, path, flags) : {};
  const stopped = isChange ? await stopUnlessMeant(cli, path, flags) : undefined;
  if (stopped !== undefined) return stopped;
  const scope = chosenScope(cli);
  const work = async (records: Records): Promise<ExitCode> => {
    if (path === undefined) return list(cli, await grantViews(records, scope));
    const { session } = flags;
    const request = { cwd: cli.cwd, path, scope, session, nowMs: cli.nowMs };
    if (flags.revoke === true) return revoked(cli, await revokeGrants(records, request), path);
    const grant = await giveGrant(records, { ...request, ...term });
    await answer(cli, grantData(grant), allowedText(cli, grant));
    if (canonicalPath(cli.cwd, path).kind === 'missing')
      cli.terminal.tell(`there is nothing at ${pathText(path)} yet`);
    return EXIT.done;
  };
  return withRecords(cli, work, isChange ? 'make' : 'empty');
}

/** How long a permission lasts: for one change, until a time, or until it is revoked. */
interface Term {
  readonly once?: true;
  readonly untilMs?: number;
}

/**
 * How long the permission shall last. On a terminal, asks the user who has not said it. Without an
 * answer, a file may be changed once; a folder has no such default.
 */
async function termOf(cli: Cli, path: string, flags: AllowFlags): Promise<Term> {
  const isFolder = canonicalPath(cli.cwd, path).kind === 'folder';
  if (flags.once === true && isFolder) throw new UsageError('--once is for a file, not for a folder');
  if (flags.always === true) return {};
  if (flags.for !== undefined) return { untilMs: cli.nowMs + flags.for };
  const isAsked = flags.once !== true && cli.terminal.isInteractive && cli.flags.json !== true;
  const question = `How long? ${isFolder ? '' : 'Enter: the next change only; '}1h or another time; always:`;
  const answer = isAsked ? await cli.terminal.ask(question) : '';
  if (answer === 'always') return {};
  const ms = parseDuration(answer);
  if (ms) return { untilMs: cli.nowMs + ms };
  if (answer !== '') throw new UsageError(`'${answer}' is not a time such as 1h`);
  if (isFolder) throw new UsageError('a folder needs --for TIME or --always');
  return { once: true };
}

/**
 * Asks for confirmation before it allows a folder that contains the home folder, because a relative
 * path may name such a folder by mistake. Without a terminal, `--yes` is needed. Returns the exit
 * code of a refusal, or undefined if the command may go on.
 */
async function stopUnlessMeant(cli: Cli, path: string, flags: AllowFlags): Promise<ExitCode | undefined> {
  const { absolute } = canonicalPath(cli.cwd, path);
  if (flags.yes === true || !isWithin(canonicalPath('/', requiredHome(cli.homeFolder)).absolute, absolute))
    return undefined;
  const what = absolute === '/' ? 'every file of this machine' : `everything in ${pathText(absolute)}`;
  if (cli.terminal.isInteractive && cli.flags.json !== true) {
    if (await cli.terminal.confirm(`Let sessions change ${what} without having read it?`)) return undefined;
    cli.terminal.tell('nothing was changed');
    return EXIT.refused;
  }
  const reason = `${path} would let sessions change ${what} without having read it`;
  const hint = 'Name a smaller folder, or add --yes.';
  return tellRefusal(cli, invalidArgument('status', '', reason), hint);
}

function list(cli: Cli, rows: readonly GrantView[]): Promise<ExitCode> {
  return printList(cli, {
    rows,
    columns: [
      whenColumn(cli),
      { ...PATH_COLUMN, cell: ({ path }) => shownPath(cli, path) },
      { ...SESSION_COLUMN, cell: ({ session = 'every session' }) => session },
      { title: 'USES', cell: ({ once, untilMs }) => (once === true ? 'one' : usesUntil(untilMs)) },
      { title: 'GRANT', paint: cli.terminal.colours.yellow, cell: ({ id }) => id },
    ],
    json: grantData,
    none: 'no permission was given here (--all shows every workspace)',
  });
}

function grantData({ atMs, ...grant }: GrantView): object {
  return { ...grant, at: new Date(atMs).toISOString() };
}

async function revoked(cli: Cli, grants: readonly GrantView[], path: string): Promise<ExitCode> {
  if (grants.length === 0)
    return tellMissing(
      cli,
      `no permission was given for ${path}`,
      'lookfirst allow --list shows the permissions.',
    );
  for (const grant of grants)
    await answer(cli, grantData(grant), `revoked ${grant.id} for ${shownPath(cli, grant.path)}`);
  return EXIT.done;
}

function usesUntil(untilMs: number | undefined): string {
  return untilMs === undefined ? 'any' : `until ${exactTime(untilMs)}`;
}

function allowedText(cli: Cli, { id, path, session, once, untilMs }: GrantView): string {
  const who = session === undefined ? 'every session' : `session ${phrase(session)}`;
  const until = untilMs === undefined ? '' : ` until ${exactTime(untilMs)}`;
  const often = once === true ? ' once' : until;
  return `${who} may change ${shownPath(cli, path)}${often} without having read it\nlookfirst allow ${id} --revoke takes this back`;
}
