import { text, UsageError } from '../../config/flags.ts';
import { Fault } from '../../model/fault.ts';
import type { Refusal } from '../../model/verdict.ts';
import { canonicalPath } from '../../records/scope.ts';
import { type TakenBack, type UndoJob, undoJobs } from '../../records/undo-jobs.ts';
import { harmless } from '../../report/bounded.ts';
import { sessionVariable } from '../../session/configured.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { entryRequest, type Given, SCOPE_FLAGS, SINCE, STATE_FLAGS } from '../flags.ts';
import { type Reach, reachOf, refuseBeyond } from '../operator.ts';
import { namedChange, namedSession, tellNoSession } from '../refusal-text.ts';
import { refuseUndo, runUndoJob, UNDO_FLAGS, undoneText, withinReach } from '../undo-job.ts';
import { withRecords } from '../with-records.ts';

const FLAGS = {
  ...STATE_FLAGS,
  ...SCOPE_FLAGS,
  path: text('FILE', 'only what was done to this file'),
  session: text('ID', 'everything this session did'),
  since: SINCE,
  ...UNDO_FLAGS,
} as const;

type Flags = Given<typeof FLAGS>;

/** `lookfirst undo`: undoes recorded changes through the gate. */
export const UNDO: CliCommand = defineCommand({
  about: 'Undoes recorded changes, and nothing else. You can undo an undo, too.',
  args: {
    change: text(
      'CHANGE',
      "a change's id, from lookfirst log; default: the latest one here that is still in effect",
    ),
  },
  flags: FLAGS,
  notes: `
On a terminal it asks before undoing more than one change. If a file has changed since, it refuses,
shows the diff and exits with 2; --merge undoes the change and keeps later changes to other lines.
If some files can't be brought back, it changes nothing and names them; --partial brings back the
others. Without an id, it undoes the latest change here, or, if LOOKFIRST_SESSION is set, that
session's latest. An agent can undo only its own session's changes, and none from a command that
runs on a layer, because the state folder is hidden there.

Examples:
  lookfirst undo --dry-run               what would be undone
  lookfirst undo                         the latest change here
  lookfirst undo c0a1b2c3d4e             that change (if it is an undo: redo)
  lookfirst undo --path src/a.ts         that file's latest change
  lookfirst undo --session agent-7 --since 2h`,
  run: async (cli, { change, ...flags }) => {
    if (flags.path !== undefined && canonicalPath(cli.cwd, flags.path).kind === 'folder')
      throw new UsageError(`${flags.path} is a folder; name a file, a change, a session or a time`);
    return undo(cli, change, flags);
  },
});

async function undo(cli: Cli, change: string | undefined, flags: Flags): Promise<ExitCode> {
  const reach = await reachOf(cli, flags);
  const jobs = await jobsFor(cli, change, { flags, reach });
  if (jobs === 'beyond') return refuseBeyond(cli, 'undo', flags);
  if (jobs.length === 0) return refuseNothing(cli, change, flags);
  // Asks for confirmation only if several changes would be undone.
  const manner = { askFrom: 2, text: (taken: TakenBack) => undoneText(cli, taken) };
  let worst: ExitCode = EXIT.done;
  for (const each of jobs) {
    const job = withinReach(each, reach);
    const code = await runUndoJob(cli, job, { flags, manner }).catch((error: unknown) =>
      tellFault(cli, error),
    );
    if (code !== EXIT.done) worst = code;
  }
  return worst;
}

async function refuseNothing(cli: Cli, change: string | undefined, flags: Flags): Promise<ExitCode> {
  const isUnknown = await withRecords(cli, flags, async (records) =>
    records.lacksSession(await namedSession(records, flags.session)),
  );
  if (isUnknown) return tellNoSession(cli, flags);
  return refuseUndo(cli, nothingToUndo(change), { json: flags.json });
}

/**
 * Prints the fault of an undo in one workspace, such as a missing folder. The caller continues with
 * the other workspaces.
 */
function tellFault(cli: Cli, error: unknown): ExitCode {
  if (!(error instanceof Fault)) throw error;
  cli.terminal.tell(harmless(`lookfirst: ${error.message} [${error.code}]`));
  return EXIT.fault;
}

/**
 * The undo jobs for a request, or `beyond` if an agent started the command and the changes belong
 * to another session.
 */
async function jobsFor(
  cli: Cli,
  change: string | undefined,
  { flags, reach }: { readonly flags: Flags; readonly reach: Reach },
): Promise<UndoJob[] | 'beyond'> {
  const newestOf = reach.session ?? sessionVariable(cli);
  return withRecords(cli, flags, async (records) => {
    const typed = await namedSession(records, flags.session);
    const session = typed ?? (flags.since === undefined ? undefined : reach.session);
    const named = change === undefined ? undefined : await namedChange(records, change);
    if (change !== undefined && named === undefined) return [];
    if (!reach.includes(named?.session ?? session ?? newestOf ?? '')) return 'beyond';
    return undoJobs(records, { ...entryRequest(cli, flags), session, change: named?.change, newestOf });
  });
}

function nothingToUndo(change: string | undefined): Refusal {
  const [reason, next] =
    change === undefined
      ? (['there is no change here to undo', 'none'] as const)
      : ([`there is no change ${change}`, 'fix_argument'] as const);
  return { code: 'NOT_FOUND', action: 'undo', path: '', next, detail: { reason } };
}
