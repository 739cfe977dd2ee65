import { Argument, Command, InvalidArgumentError } from 'commander';
import type { Claim } from '../../model/claim.ts';
import { Records } from '../../records/records.ts';
import { Scope } from '../../records/scope.ts';
import { claimViews, releaseClaims } from '../../records/session-views.ts';
import { countOf } from '../../report/amounts.ts';
import { pathText, phrase } from '../../report/bounded.ts';
import {
  openWorkspace,
  policyOf,
  recordsPlaceOf,
  type StateFlags,
  sessionVariable,
} from '../../session/configured.ts';
import { type Cli, EXIT, type ExitCode } from '../cli.ts';
import { SESSION_COLUMN, typeable } from '../entry-row.ts';
import { addCommonFlags, addScopeFlags, parseDuration, type ScopeFlags } from '../flags.ts';
import { refuseAgent } from '../operator.ts';
import { opening } from '../progress.ts';
import { refuseReadOnly, tellMissing, tellRefusal } from '../refusal-text.ts';
import { EMPTY_PATH, missing } from '../words.ts';

/** The session name for paths that a user claims without naming a session. */
const USER = 'user';

interface ClaimsFlags extends ScopeFlags, StateFlags {
  readonly json?: boolean;
  readonly session?: string;
  readonly reason?: string;
  readonly for?: number;
}

type Action = 'list' | 'claim' | 'release';

/** `lookfirst claims`: lists which session works on which files; adds and releases claims. */
export function defineClaims(cli: Cli): Command {
  const command = new Command('lookfirst claims')
    .description(
      'Lists which sessions work on which files, in this workspace and the other worktrees of its repository. Claims a path ' +
        'or glob by hand, and releases claims.',
    )
    .addArgument(new Argument('[action]', 'what to do').choices(['list', 'claim', 'release']).default('list'))
    .argument(
      '[target]',
      'a file, a folder, or a glob inside the workspace; for release also the id of a claim',
    );
  return addCommonFlags(addScopeFlags(command))
    .option('--session <id>', 'only this session; with claim: the session that claims (LOOKFIRST_SESSION)')
    .option('--reason <text>', 'with claim: the reason, shown to other sessions')
    .option('--for <time>', 'with claim: how long it lasts, as in 30m, at most 24h (default: 1h)', duration)
    .addHelpText('after', EXAMPLES)
    .action(async (action: Action, target: string | undefined, flags: ClaimsFlags) => {
      if (action === 'claim' && target === undefined) command.error(missing('TARGET'));
      if (target === '') command.error(EMPTY_PATH);
      if (action === 'list' && target !== undefined) command.error(`error: unexpected argument '${target}'`);
      if (action === 'release' && target === undefined && flags.session === undefined)
        command.error(`${missing('TARGET')}: name a path, a glob or a claim, or give --session`);
      cli.end(await run(cli, { action, target: target ?? '', flags }));
    });
}

const EXAMPLES = `
A change claims its file until the turn of its session ends, at most ten minutes. Other sessions get
one notice, or are refused with the policy claims: refuse.

Examples:
  lookfirst claims                                          who works on what
  lookfirst claims claim 'src/api/**' --reason "renaming"   tell other agents
  lookfirst claims release 'src/api/**'
  lookfirst claims release --session agent-7                everything of that session`;

const MAX_MS = 24 * 60 * 60_000;

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Give a time such as 30m or 2h.');
  if (ms < 1 || ms > MAX_MS) throw new InvalidArgumentError('A claim lasts at most 24h, and not 0.');
  return ms;
}

interface ClaimsRequest {
  readonly action: Action;
  readonly target: string;
  readonly flags: ClaimsFlags;
}

async function run(cli: Cli, request: ClaimsRequest): Promise<ExitCode> {
  const { flags } = request;
  const readOnly = request.action === 'list' ? undefined : await refuseReadOnly(cli, flags);
  if (readOnly !== undefined) return readOnly;
  if (request.action === 'claim') return claim(cli, request);
  const { claimMs } = policyOf(cli, flags);
  const scope = new Scope({ cwd: cli.cwd, root: flags.root, all: flags.all, family: true });
  const which = { scope, session: flags.session, claimMs, nowMs: cli.nowMs };
  if (request.action === 'release') {
    const refused = await refuseAgent(cli, 'claims release', flags);
    if (refused !== undefined) return refused;
  }
  const records = await opening(cli, Records.open(recordsPlaceOf(cli, flags)));
  try {
    if (request.action === 'list') return await list(cli, await claimViews(records, which), flags);
    const target = request.target === '' ? undefined : request.target;
    const ended = await releaseClaims(records, { ...which, cwd: cli.cwd, target });
    return await released(cli, ended, { target, flags });
  } finally {
    await records.close();
  }
}

async function claim(cli: Cli, { target, flags }: ClaimsRequest): Promise<ExitCode> {
  const id = flags.session ?? sessionVariable(cli) ?? USER;
  const roots = flags.root === undefined || flags.root.length === 0 ? [cli.cwd] : flags.root;
  const sessions = await openWorkspace(cli, flags, roots);
  try {
    const session = await sessions.session(id);
    const outcome = await session.claim(target, { reason: flags.reason, forMs: flags.for });
    if (!outcome.ok) {
      await tellRefusal(cli, outcome.refusal, { json: flags.json });
      return EXIT.refused;
    }
    const { claim: made, others } = outcome;
    if (flags.json === true) await cli.terminal.printJson({ ok: true, claim: made, session: id, others });
    else {
      await cli.terminal.print(`session ${phrase(id)} claims ${pathText(target)} (${made})`);
      for (const other of others)
        cli.terminal.tell(`session ${phrase(other.session)} works on ${pathText(other.path)} already`);
    }
    return EXIT.done;
  } finally {
    // Suspends the session instead of closing it: closing would release its claims.
    await sessions.suspend();
  }
}

async function list(cli: Cli, claims: readonly Claim[], flags: ClaimsFlags): Promise<ExitCode> {
  if (flags.json === true) for (const each of claims) await cli.terminal.printJson(claimData(each));
  else if (claims.length === 0) cli.terminal.tell('no session works here now (--all shows every workspace)');
  else
    await cli.terminal.printTable(
      [
        { title: 'WHEN' },
        { title: 'PATH', cut: 'front' },
        SESSION_COLUMN,
        { title: 'CLIENT' },
        { title: 'TURN', cut: 'end' },
        { title: 'CLAIM' },
      ],
      claims.map((each) => [
        cli.times.shortAge(each.atMs),
        pathText(each.key === undefined ? each.path : typeable(each.key, cli.cwd)),
        each.session,
        each.client ?? '',
        each.turn ?? '',
        each.by === 'change' ? 'changed' : [each.id, each.reason].filter(Boolean).join(': '),
      ]),
    );
  return EXIT.done;
}

async function released(
  cli: Cli,
  ended: readonly Claim[],
  { target, flags }: { readonly target: string | undefined; readonly flags: ClaimsFlags },
): Promise<ExitCode> {
  if (ended.length === 0 && target !== undefined)
    return tellMissing(cli, `no session claims ${target}`, {
      json: flags.json,
      hint: 'lookfirst claims lists the claims.',
    });
  if (flags.json === true) for (const each of ended) await cli.terminal.printJson(claimData(each));
  else await cli.terminal.print(`released ${countOf(ended.length, 'claim')}`);
  return EXIT.done;
}

function claimData({ before: _, after: __, ...claim }: Claim): object {
  const at = new Date(claim.atMs).toISOString();
  return { ...claim, at, until: new Date(claim.untilMs).toISOString() };
}
