import { text } from '../../config/flags.ts';
import type { Claim } from '../../model/claim.ts';
import { Records } from '../../records/records.ts';
import { Scope } from '../../records/scope.ts';
import { claimViews } from '../../records/session-views.ts';
import { pathText } from '../../report/bounded.ts';
import { recordsPlaceOf } from '../../session/configured.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { SESSION_COLUMN, typeable } from '../entry-row.ts';
import { type Given, SCOPE_FLAGS, STATE_FLAGS } from '../flags.ts';
import { opening } from '../progress.ts';

const FLAGS = { ...STATE_FLAGS, ...SCOPE_FLAGS, session: text('ID', 'only this session') } as const;

type ClaimsFlags = Given<typeof FLAGS>;

/** `lookfirst claims`: lists which session works on which files. */
export const CLAIMS: CliCommand = defineCommand({
  about:
    'Lists which sessions work on which files, in this workspace and the other worktrees of its repository.',
  flags: FLAGS,
  notes: `
A change claims its file until the turn of its session ends, at most ten minutes. Other sessions get
one notice, or are refused with the policy claims: refuse.

Examples:
  lookfirst claims                      who works on what
  lookfirst claims --session agent-7`,
  run,
});

async function run(cli: Cli, flags: ClaimsFlags): Promise<ExitCode> {
  const scope = new Scope({ cwd: cli.cwd, root: flags.root, all: flags.all, family: true });
  const records = await opening(cli, Records.open(recordsPlaceOf(cli, flags)));
  try {
    const claims = await claimViews(records, { scope, session: flags.session, nowMs: cli.nowMs });
    return await list(cli, claims, flags);
  } finally {
    await records.close();
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
      ],
      claims.map((each) => [
        cli.times.shortAge(each.atMs),
        pathText(typeable(each.key, cli.cwd)),
        each.session,
        each.client ?? '',
        each.turn ?? '',
      ]),
    );
  return EXIT.done;
}

function claimData({ before: _, after: __, ...claim }: Claim): object {
  const at = new Date(claim.atMs).toISOString();
  return { ...claim, at, until: new Date(claim.untilMs).toISOString() };
}
